// Package gossip lets the processes of a cluster find one another: every process joins a
// memberlist, whose metadata has its role and its addresses.
//
// Gossip is a hint only. A listed member answered recently; sessions with the
// coordinator decide which workers train.
package gossip

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/ergoflow/ergoflow/coordinator/gossip/keys"
)

// Roles of a member.
const (
	RoleCoordinator = "coordinator"
	RoleWorker      = "worker"
)

var (
	// ErrNoSeed: none of the seeds answered.
	ErrNoSeed = errors.New("no gossip seed answered")
	// ErrIncompatible: a seed answered, and lists members that speak another version.
	ErrIncompatible = errors.New("the gossip has members of another version")
	// ErrNoCoordinator: no member has the coordinator's role.
	ErrNoCoordinator = errors.New("no coordinator in the gossip")
)

// Meta describes a member. Encoded as JSON it has at most memberlist.MetaMaxSize (512)
// bytes.
type Meta struct {
	Role           string `json:"role"`
	ControlAddress string `json:"control,omitempty"` // host:port of the control service
	DataAddress    string `json:"data,omitempty"`    // host:port of the ring and peer service
	Device         string `json:"device,omitempty"`
	Version        string `json:"version,omitempty"`
	Started        int64  `json:"started,omitempty"` // Unix nanoseconds; set by Join
	Term           uint64 `json:"term,omitempty"`    // in which it leads, of several coordinators; 0: it does not
}

// Config of one member.
type Config struct {
	Name  string        // unique in the cluster; a coordinator's is its CoordinatorName
	Bind  string        // host:port to gossip on; port 0 chooses one
	Seeds []string      // host:port of any members; none: this is the first
	Wait  time.Duration // for a seed to answer; zero means 5 s
	// Seek finds more seeds, while no member is a coordinator: one that comes back may have
	// another address. Nil: there are no others.
	Seek func(context.Context) []string
	Meta Meta
	// Keys encrypt the gossip: the first encrypts, all decrypt. There may be two. None: plain
	// text.
	Keys []keys.Key
	// Sparing has this member send a packet a second instead of fifteen, and a probe in 20 s. Changes
	// reach the others later. It is for benchmarks, where members share the processors that each would have to itself.
	Sparing bool
	// Lists says by its name whether this member lists another one; nil: it lists all. It is for
	// benchmarks, where the lists of ten thousand members would not fit into one machine.
	Lists func(name string) bool
}

// Member is one live process.
type Member struct {
	Name    string
	Address string // of its gossip
	Meta    Meta
}

// known is a member with its metadata as it came. A member hears of each of the others many
// times, and decodes only what is new.
type known struct {
	Member
	encoded []byte
}

// Gossip is this process's membership.
type Gossip struct {
	list     *memberlist.Memberlist
	versions []uint8 // of this process, as memberlist orders them
	lists    func(name string) bool
	address  string

	ring     *memberlist.Keyring // nil: plain text
	changing sync.Mutex          // the ring

	// mu is never held in a call of memberlist, which holds its own lock when it calls delegate.
	mu           sync.Mutex
	meta         []byte
	own          Meta                       // that meta encodes
	members      map[string]known           // the live ones, by name
	coordinators map[string]Member          // those of them that are coordinators
	probes       map[string][]time.Duration // of live members, by name; latency.go
	changed      chan struct{}              // closed and replaced at every change
	closed       bool

	missing chan struct{} // asks heal to look for a coordinator; one request is kept
	stop    context.CancelFunc
	healer  sync.WaitGroup
}

// Join starts to gossip and contacts the seeds until one answers. If none answers within
// c.Wait it fails with ErrNoSeed and their addresses, and if ctx ends before, with its
// cause. A seed that answers and does not understand is ErrIncompatible, ErrEncrypted,
// ErrPlaintext or ErrWrongKey.
func Join(ctx context.Context, c Config) (*Gossip, error) {
	host, port, err := resolve(c.Bind)
	if err != nil {
		return nil, err
	}
	if c.Wait == 0 {
		c.Wait = 5 * time.Second
	}
	c.Meta.Started = time.Now().UnixNano()
	meta, err := json.Marshal(c.Meta)
	if err != nil {
		return nil, fmt.Errorf("encode gossip metadata: %w", err)
	}
	if len(meta) > memberlist.MetaMaxSize {
		return nil, fmt.Errorf("gossip metadata has %d bytes, more than %d", len(meta), memberlist.MetaMaxSize)
	}
	if err := errors.Join(c.Meta.check(), checkName(c.Name, c.Meta)); err != nil { // others would refuse it
		return nil, fmt.Errorf("gossip on %s: %w", c.Bind, err)
	}
	g := &Gossip{meta: meta, own: c.Meta, lists: c.Lists, members: make(map[string]known), coordinators: make(map[string]Member),
		changed: make(chan struct{}), missing: make(chan struct{}, 1)}
	profile := g.profile(c, host, port)
	if err := encrypt(profile, c.Keys); err != nil {
		return nil, fmt.Errorf("gossip on %s: %w", c.Bind, err)
	}
	g.ring = profile.Keyring
	g.versions = profile.BuildVsnArray()
	g.list, err = memberlist.Create(profile)
	if err != nil {
		return nil, fmt.Errorf("gossip on %s: %w", c.Bind, bindError(err))
	}
	g.address = g.list.LocalNode().Address()
	if len(c.Seeds) > 0 {
		if err := g.contact(ctx, c.Seeds, c.Wait); err != nil {
			return nil, errors.Join(err, g.list.Shutdown())
		}
	}
	healing, stop := context.WithCancel(context.Background())
	g.stop = stop
	g.healer.Go(func() { g.heal(healing, c.Seeds, c.Seek) })
	return g, nil
}

// bindError turns memberlist's error, which is only a text, into one that callers can
// compare with.
func bindError(err error) error {
	if strings.Contains(err.Error(), syscall.EADDRINUSE.Error()) {
		return syscall.EADDRINUSE
	}
	return err
}

// dialTimeout bounds the wait for a member that does not answer. memberlist's Join asks
// the seeds one after the other and takes no context: its default of 10 s per dead seed
// would delay the search for a coordinator and the end of the process.
const dialTimeout = 2 * time.Second

// forgetting is how long the dead stay listed. A forged message can make a member dead under
// a number that its own messages cannot exceed; it comes back once it is forgotten.
const forgetting = 5 * time.Second

// On loopback all members share the processors of one machine, where a process may have to wait for
// seconds. A member that is late is then not dead, and to say so to all, and to be contradicted,
// costs more than to keep one that is dead on the list. Fewer, larger packets cost less than many.
const (
	loopbackProbes = 5 * time.Second // between two probes of a member
	loopbackAnswer = 3 * time.Second // until others are asked to probe the same one
	loopbackGossip = 200 * time.Millisecond
)

// A member that is sparing gossips once a second, and has time to answer: with ten thousand on two
// processors each waits for seconds.
const (
	sparingGossip = time.Second
	sparingProbes = 20 * time.Second // between two probes of a member
	sparingAnswer = 10 * time.Second // until others are asked to probe the same one
	// sparingLists is the time between two exchanges of whole lists, of which a member has 300 KB
	// where there are a thousand. memberlist makes it longer with their number.
	sparingLists = time.Minute
)

// profile is memberlist's LAN timing, and on loopback its local timing with slower probes.
func (g *Gossip) profile(c Config, host string, port int) *memberlist.Config {
	conf := memberlist.DefaultLANConfig()
	if ip := net.ParseIP(host); ip != nil && ip.IsLoopback() {
		conf = memberlist.DefaultLocalConfig()
		conf.ProbeInterval, conf.ProbeTimeout, conf.GossipInterval = loopbackProbes, loopbackAnswer, loopbackGossip
	}
	if c.Sparing {
		conf.GossipInterval, conf.GossipNodes, conf.PushPullInterval = sparingGossip, 1, sparingLists
		conf.ProbeInterval, conf.ProbeTimeout = sparingProbes, sparingAnswer
	}
	conf.TCPTimeout = min(conf.TCPTimeout, dialTimeout)
	conf.Name = c.Name
	conf.BindAddr, conf.BindPort = host, port
	conf.AdvertisePort = port
	conf.Delegate = delegate{g}
	conf.Events = delegate{g}
	conf.Alive = delegate{g}
	conf.Ping = delegate{g}
	conf.GossipToTheDeadTime = forgetting
	conf.EnableCompression = false // a packet has 1,400 bytes at most, and memberlist allocates 64 KiB to compress each
	conf.Logger = slog.NewLogLogger(newQuiet(slog.Default().Handler()), slog.LevelDebug)
	return conf
}

// contact asks the seeds in turn, and again a quarter second later, until the wait ends. It
// does that in a goroutine: memberlist's Join takes no context.
func (g *Gossip) contact(ctx context.Context, seeds []string, wait time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	var last error
	for {
		result := make(chan error, 1)
		go func() {
			n, err := g.list.Join(seeds)
			if n > 0 {
				err = nil
			}
			result <- err
		}()
		select {
		case last = <-result:
			if last == nil {
				return nil
			}
		case <-ctx.Done():
		}
		select {
		case <-ctx.Done():
			if cause := context.Cause(ctx); !errors.Is(cause, context.DeadlineExceeded) {
				return cause
			}
			err := fmt.Errorf("%w within %v: %s", ErrNoSeed, wait, strings.Join(seeds, ", "))
			if last != nil && strings.Contains(last.Error(), "incompatible") { // memberlist's error is only a text
				err = fmt.Errorf("%w: asked %s", ErrIncompatible, strings.Join(seeds, ", "))
			}
			if last != nil {
				if trouble := keyTrouble(last.Error()); trouble != nil {
					err = fmt.Errorf("%w: asked %s", trouble, strings.Join(seeds, ", "))
				}
				err = fmt.Errorf("%w (%s)", err, flat(last))
			}
			return err
		case <-time.After(250 * time.Millisecond):
		}
	}
}

// flat puts memberlist's list of errors on one line.
func flat(err error) string {
	return strings.Join(strings.Fields(err.Error()), " ")
}

// encodedMeta is the metadata of this member.
func (g *Gossip) encodedMeta() []byte {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.meta
}

// updateTimeout bounds the wait until a change of the metadata is on its way.
const updateTimeout = 500 * time.Millisecond

// SetTerm tells the others in which term this coordinator leads; 0: it does not.
func (g *Gossip) SetTerm(term uint64) {
	g.mu.Lock()
	next := g.own
	next.Term = term
	meta, err := json.Marshal(next)
	if err == nil && len(meta) <= memberlist.MetaMaxSize {
		g.own, g.meta = next, meta
	}
	if !g.closed {
		g.healer.Go(func() { // it waits until the change is on its way
			if err == nil {
				err = g.list.UpdateNode(updateTimeout)
			}
			if err != nil { // it is a hint: workers ask another coordinator, which says who leads
				slog.Debug("gossip: tell who leads", "error", err)
			}
		})
	}
	g.mu.Unlock()
}

// Address is where this member gossips.
func (g *Gossip) Address() string {
	return g.address
}

// Members lists the live members, this one included, by name. Members whose
// metadata cannot be read are left out.
func (g *Gossip) Members() []Member {
	g.mu.Lock()
	defer g.mu.Unlock()
	list := make([]Member, 0, len(g.members))
	for _, m := range g.members {
		list = append(list, m.Member)
	}
	slices.SortFunc(list, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// seen notes a node and its metadata.
func (g *Gossip) seen(n *memberlist.Node) {
	meta, err := decodeMeta(n.Meta)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.forget(n.Name)
	if err == nil {
		m := Member{n.Name, n.Address(), meta}
		g.members[n.Name] = known{m, slices.Clone(n.Meta)}
		if meta.Role == RoleCoordinator {
			g.coordinators[n.Name] = m
		}
	}
	g.notify()
}

// gone removes a node.
func (g *Gossip) gone(n *memberlist.Node) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.forget(n.Name)
	delete(g.probes, n.Name)
	g.notify()
}

// forget takes a member off the lists; mu is held.
func (g *Gossip) forget(name string) {
	delete(g.members, name)
	delete(g.coordinators, name)
}

// Coordinator waits for a member with the coordinator's role and returns its control
// address. Where a restarted coordinator and its predecessor are both listed, it takes the
// one that was started last. It takes the one at the address avoid, which did not answer,
// only where there is no other, and then asks outside this list as well: the one that did not
// answer may be dead, or one that somebody made up.
func (g *Gossip) Coordinator(ctx context.Context, avoid string) (string, error) {
	for {
		changed := g.Changed()
		found, ok := g.coordinator(avoid)
		if !ok {
			select {
			case g.missing <- struct{}{}:
			default: // it was asked
			}
			found, ok = g.coordinator("")
		}
		if ok {
			return found.Meta.ControlAddress, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return "", fmt.Errorf("%w of %d members: %w", ErrNoCoordinator, g.list.NumMembers(), ctx.Err())
		}
	}
}

// coordinator is the one that leads in the latest term, and otherwise the one that was started
// last, except those at the address avoid.
func (g *Gossip) coordinator(avoid string) (found Member, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, m := range g.coordinators {
		if m.Meta.ControlAddress == avoid {
			continue
		}
		if !ok || cmp.Or(cmp.Compare(m.Meta.Term, found.Meta.Term), cmp.Compare(m.Meta.Started, found.Meta.Started),
			strings.Compare(found.Name, m.Name)) > 0 {
			found, ok = m, true
		}
	}
	return found, ok
}

// Term is the latest in which a coordinator of this list leads, of several; 0: none.
func (g *Gossip) Term() uint64 {
	leader, _ := g.coordinator("")
	return leader.Meta.Term
}

// Changed returns a channel that is closed when a member next joins, leaves or changes
// its metadata.
func (g *Gossip) Changed() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.changed
}

// notify wakes those that wait for a change; mu is held.
func (g *Gossip) notify() {
	close(g.changed)
	g.changed = make(chan struct{})
}

// Close tells the other members, waits up to half a second until that has spread, and
// stops gossiping. It may be called again.
func (g *Gossip) Close() error {
	g.mu.Lock()
	closed := g.closed
	g.closed = true
	g.mu.Unlock()
	if closed {
		return nil
	}
	g.stop()
	g.healer.Wait()
	// A farewell that is lost is no failure: the others detect the end by probing.
	if err := g.list.Leave(500 * time.Millisecond); err != nil {
		slog.Debug("gossip: leave", "error", err)
	}
	return g.list.Shutdown()
}

// resolve returns the IP and the port of an address to listen on: memberlist would listen
// on all interfaces for a host that is no IP.
func resolve(bind string) (host string, port int, err error) {
	if host, _, err = net.SplitHostPort(bind); err != nil {
		return "", 0, fmt.Errorf("gossip on %q: %w", bind, err)
	}
	if host == "" {
		bind = "0.0.0.0" + bind
	}
	address, err := net.ResolveTCPAddr("tcp", bind)
	if err != nil {
		return "", 0, fmt.Errorf("gossip on %s: %w", bind, err)
	}
	return address.IP.String(), address.Port, nil
}
