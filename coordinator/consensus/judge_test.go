package consensus

import (
	"errors"
	"strings"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/ergoflow/ergoflow/coordinator/wire"
)

func reloaded(m *member) raft.ReloadableConfig {
	c := m.raft.ReloadableConfig()
	c.TrailingLogs = 0
	return c
}

func TestJudge(t *testing.T) {
	peers := []string{"a:1", "b:1", "c:1"}
	fresh := func(id string) *wire.Coordinator { return &wire.Coordinator{Id: id, Peers: peers} }
	old := func(id string) *wire.Coordinator {
		c := fresh(id)
		c.HasLedger = true
		return c
	}
	begun := func(members ...*wire.CoordinatorMember) *wire.Coordinator {
		return &wire.Coordinator{Id: "A", Begun: true, Members: members}
	}
	named := func(id, address string) *wire.CoordinatorMember {
		return &wire.CoordinatorMember{Id: id, Address: address}
	}
	for name, c := range map[string]struct {
		answers map[string]*wire.Coordinator
		id      string
		begins  int // with so many members; 0: it does not
		wait    string
		err     error
	}{
		"the first begins":           {map[string]*wire.Coordinator{"a:1": fresh("A"), "b:1": fresh("B"), "c:1": fresh("C")}, "A", 3, "", nil},
		"others wait for it":         {map[string]*wire.Coordinator{"a:1": fresh("A"), "b:1": fresh("B"), "c:1": fresh("C")}, "B", 0, "a:1 begins", nil},
		"one is missing":             {map[string]*wire.Coordinator{"a:1": fresh("A"), "b:1": fresh("B")}, "A", 0, "do not: c:1", nil},
		"the one with a ledger":      {map[string]*wire.Coordinator{"a:1": fresh("A"), "b:1": old("B"), "c:1": fresh("C")}, "B", 1, "", nil},
		"a ledger elsewhere":         {map[string]*wire.Coordinator{"a:1": fresh("A"), "b:1": old("B"), "c:1": fresh("C")}, "A", 0, "b:1 begins", nil},
		"two ledgers":                {map[string]*wire.Coordinator{"a:1": old("A"), "b:1": old("B"), "c:1": fresh("C")}, "A", 0, "", ErrPeers},
		"another list":               {map[string]*wire.Coordinator{"a:1": fresh("A"), "b:1": {Id: "B", Peers: peers[:2]}, "c:1": fresh("C")}, "A", 0, "", ErrPeers},
		"one under two names":        {map[string]*wire.Coordinator{"a:1": fresh("A"), "b:1": fresh("A"), "c:1": fresh("C")}, "A", 0, "", ErrPeers},
		"not among the addresses":    {map[string]*wire.Coordinator{"a:1": fresh("A"), "b:1": fresh("B"), "c:1": fresh("C")}, "D", 0, "", ErrPeers},
		"it has begun with this one": {map[string]*wire.Coordinator{"a:1": begun(named("A", "a:1"), named("B", "b:1")), "b:1": fresh("B")}, "B", 0, "", nil},
		"it has begun without":       {map[string]*wire.Coordinator{"a:1": begun(named("A", "a:1")), "b:1": fresh("B")}, "B", 0, "add b:1", nil},
		"its directory is another":   {map[string]*wire.Coordinator{"a:1": begun(named("A", "a:1"), named("B", "b:1")), "b:1": fresh("B2")}, "B2", 0, "", ErrReplaced},
	} {
		t.Run(name, func(t *testing.T) {
			begin, wait, err := judge(c.id, peers, c.answers)
			members := 0
			if begin != nil {
				members = len(begin.Servers)
			}
			if members != c.begins || !errors.Is(err, c.err) || (c.wait == "") != (wait == "") || !strings.Contains(wait, c.wait) {
				t.Errorf("begin %v, wait %q, error %v", begin, wait, err)
			}
		})
	}
}
