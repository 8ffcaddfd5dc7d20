package simulation

import (
	"github.com/ergoflow/ergoflow/coordinator/message"
	"github.com/ergoflow/ergoflow/worker/protocol"
)

// follow takes a member's state, if the member can be reached and is ahead, and its
// updates from then on.
func (p *process) follow(m message.Member) {
	p.leader = nil
	peer := p.w.process(m.ID)
	if peer == nil || peer.address() != m.DataAddress || peer.node == nil ||
		p.w.open(p.id, peer.id) > 0 || p.w.open(peer.id, p.id) > 0 {
		return
	}
	if peer.run != p.run {
		return
	}
	if p.node == nil || peer.node.mark.Compare(p.node.mark) > 0 {
		p.leader = peer
		p.hold(peer.node)
		p.w.happened["worker follows"]++
	}
}

func (p *process) hold(n *node) {
	p.node = n
	p.post(protocol.Followed{Run: n.run.plan.Run, Mark: n.mark})
}

// tell sends followers the update from the state before to the present one. A follower
// that misses an update stays at its state.
func (p *process) tell(before *node) {
	n := p.node
	for _, q := range p.w.alive() {
		if q.leader != p {
			continue
		}
		if p.w.open(p.id, q.id) > 0 || !p.w.calm && p.w.oneIn(20) {
			if !p.w.sabotage.followGaps {
				q.leader = nil
			}
			continue
		}
		q.at(p.w.delay(), func() {
			switch {
			case q.leader != p:
			case q.node == before:
				q.hold(n)
				p.w.happened["worker makes an update that it was sent"]++
			case p.w.sabotage.followGaps:
				q.hold(p.w.forge(q.node, n.mark))
			default:
				q.leader = nil
			}
		})
	}
}
