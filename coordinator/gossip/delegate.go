package gossip

import (
	"context"
	"log/slog"
	"strings"

	"github.com/hashicorp/memberlist"
)

// delegate is called by memberlist for the metadata and at every change. There are no
// user messages in the gossip.
type delegate struct{ g *Gossip }

func (d delegate) NodeMeta(int) []byte             { return d.g.meta }
func (d delegate) NotifyMsg([]byte)                {}
func (d delegate) GetBroadcasts(int, int) [][]byte { return nil }
func (d delegate) LocalState(bool) []byte          { return nil }
func (d delegate) MergeRemoteState([]byte, bool)   {}

// Nodes may be read here alone, where memberlist holds its lock: it keeps writing to
// those that its Members returns.
func (d delegate) NotifyJoin(n *memberlist.Node)   { d.g.seen(n) }
func (d delegate) NotifyLeave(n *memberlist.Node)  { d.g.gone(n) }
func (d delegate) NotifyUpdate(n *memberlist.Node) { d.g.seen(n) }

// quiet logs memberlist's messages at debug level: its errors, such as a failed probe,
// are hints here.
type quiet struct{ slog.Handler }

func (q quiet) Handle(ctx context.Context, r slog.Record) error {
	r.Message = "gossip: " + strings.TrimPrefix(strings.TrimSpace(r.Message), "memberlist: ")
	return q.Handler.Handle(ctx, r)
}
