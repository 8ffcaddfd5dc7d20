package gossip

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/memberlist"
	"golang.org/x/time/rate"
)

// delegate is called by memberlist for the metadata and at every change. There are no
// user messages in the gossip.
type delegate struct{ g *Gossip }

func (d delegate) NodeMeta(int) []byte             { return d.g.encodedMeta() }
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
// are hints here. Only that a process has other keys is for people, once a minute.
type quiet struct {
	slog.Handler
	keys *[3]rate.Sometimes // of keyProblems
}

// keyProblems are what a process is warned of. Anyone who reaches it can cause them.
var keyProblems = [3]error{ErrEncrypted, ErrPlaintext, ErrWrongKey}

func newQuiet(h slog.Handler) quiet {
	q := quiet{h, new([3]rate.Sometimes)}
	for i := range q.keys {
		q.keys[i] = rate.Sometimes{First: 1, Interval: time.Minute}
	}
	return q
}

// Enabled has Handle see all messages.
func (q quiet) Enabled(context.Context, slog.Level) bool { return true }

func (q quiet) Handle(ctx context.Context, r slog.Record) error {
	r.Message = strings.TrimSpace(r.Message)
	if _, rest, ok := strings.Cut(r.Message, "memberlist: "); ok { // behind memberlist's own level
		r.Message = rest
	}
	if i := slices.Index(keyProblems[:], keyTrouble(r.Message)); i >= 0 && q.Handler.Enabled(ctx, slog.LevelWarn) {
		var err error
		q.keys[i].Do(func() {
			warning := slog.NewRecord(r.Time, slog.LevelWarn, "gossip: not understood; further cases are logged once a minute", 0)
			warning.AddAttrs(slog.Any("error", keyProblems[i]), slog.String("case", r.Message))
			err = q.Handler.Handle(ctx, warning)
		})
		if err != nil {
			return err
		}
	}
	if !q.Handler.Enabled(ctx, r.Level) {
		return nil
	}
	r.Message = "gossip: " + r.Message
	return q.Handler.Handle(ctx, r)
}
