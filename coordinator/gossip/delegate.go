package gossip

import (
	"context"
	"log/slog"
	"strings"

	"github.com/hashicorp/memberlist"
)

// delegate is what memberlist calls: for the metadata, and at every change.
// No user messages travel in the gossip.
type delegate struct{ g *Gossip }

func (d delegate) NodeMeta(int) []byte             { return d.g.meta }
func (d delegate) NotifyMsg([]byte)                {}
func (d delegate) GetBroadcasts(int, int) [][]byte { return nil }
func (d delegate) LocalState(bool) []byte          { return nil }
func (d delegate) MergeRemoteState([]byte, bool)   {}

// Nodes are read while memberlist holds its lock, which it does here and nowhere
// else: those that its Members returns it goes on writing to.
func (d delegate) NotifyJoin(n *memberlist.Node)   { d.g.seen(n) }
func (d delegate) NotifyLeave(n *memberlist.Node)  { d.g.gone(n) }
func (d delegate) NotifyUpdate(n *memberlist.Node) { d.g.seen(n) }

// quiet turns memberlist's chatter into debug records: what it calls an error,
// a probe that failed say, is a suggestion here.
type quiet struct{ slog.Handler }

func (q quiet) Handle(ctx context.Context, r slog.Record) error {
	r.Message = "gossip: " + strings.TrimPrefix(strings.TrimSpace(r.Message), "memberlist: ")
	return q.Handler.Handle(ctx, r)
}
