package machine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/message"
)

// decision is where each member takes its state from.
type decision struct {
	state   ergoflow.Mark
	sources []message.Source // by rank
	reason  string
	warning string // empty: none
}

// decide chooses the state of a generation from the reports of all its members
// and the latest checkpoint:
//
//  1. The state of the latest generation wins, among those the most advanced, a
//     worker's state before an equal checkpoint.
//  2. If states of that mark differ, which should not happen, the one that most members
//     hold wins, or else the one of the lowest rank.
//  3. Members with the winning state keep it; the others fetch it, each from one of
//     these in turn.
//  4. Without any state all members initialise from the seed. A run that begins from an
//     earlier state fails instead (assign).
func decide(members []message.Member, reports map[ergoflow.WorkerID]message.Report, hasCheckpoint bool, checkpoint ergoflow.Mark) decision {
	var best ergoflow.Mark
	held := false
	for _, r := range reports {
		if r.HasState && (!held || r.State.Compare(best) > 0) {
			best, held = r.State, true
		}
	}
	d := decision{sources: make([]message.Source, len(members))}
	if !held || hasCheckpoint && checkpoint.Compare(best) > 0 {
		source := message.Source{Kind: message.SourceFresh}
		d.reason = "there is no state: all start from the seed"
		if hasCheckpoint {
			source = message.Source{Kind: message.SourceCheckpoint, State: checkpoint}
			d.reason = fmt.Sprintf("all continue from the checkpoint at step %d", checkpoint.Step)
		}
		for rank := range d.sources {
			d.sources[rank] = source
		}
		d.state = source.State
		return d
	}
	d.state = best
	groups := groupByHash(members, reports, best)
	winner := groups[0].ranks
	if len(groups) > 1 {
		d.warning = disagreement(best, groups, members)
	}
	fetching := 0
	for rank := range members {
		if slices.Contains(winner, rank) {
			d.sources[rank] = message.Source{Kind: message.SourceOwn, State: best}
			continue
		}
		d.sources[rank] = message.Source{Kind: message.SourcePeer, State: best, Peer: members[winner[fetching%len(winner)]]}
		fetching++
	}
	d.reason = fmt.Sprintf("%d of %d members hold step %d, %d fetch it", len(winner), len(members), best.Step, fetching)
	return d
}

// group is the members with equal parameters, by ascending rank.
type group struct {
	hash  string
	ranks []int
}

// groupByHash groups the members that hold a state, the winner first.
func groupByHash(members []message.Member, reports map[ergoflow.WorkerID]message.Report, state ergoflow.Mark) []group {
	var groups []group
	for rank, member := range members {
		r := reports[member.ID]
		if !r.HasState || r.State != state {
			continue
		}
		i := slices.IndexFunc(groups, func(g group) bool { return g.hash == r.Hash })
		if i < 0 {
			i = len(groups)
			groups = append(groups, group{hash: r.Hash})
		}
		groups[i].ranks = append(groups[i].ranks, rank)
	}
	slices.SortStableFunc(groups, func(a, b group) int { return cmp.Compare(len(b.ranks), len(a.ranks)) })
	return groups
}

func disagreement(state ergoflow.Mark, groups []group, members []message.Member) string {
	var parts []string
	for _, g := range groups {
		var names []string
		for _, rank := range g.ranks {
			names = append(names, string(members[rank].ID))
		}
		parts = append(parts, fmt.Sprintf("%.12x of %s", g.hash, strings.Join(names, ", ")))
	}
	return fmt.Sprintf("parameters at %s differ: %s; the coordinator uses the first", state, strings.Join(parts, "; "))
}
