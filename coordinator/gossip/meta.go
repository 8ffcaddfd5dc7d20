package gossip

import (
	"encoding/json"
	"fmt"
	"net"

	"github.com/hashicorp/memberlist"
)

// decodeMeta decodes a member's metadata. Any process that reaches the gossip may send
// anything, so addresses must at least have the form host:port.
func decodeMeta(b []byte) (Meta, error) {
	var m Meta
	if len(b) > memberlist.MetaMaxSize {
		return m, fmt.Errorf("%d bytes, more than %d", len(b), memberlist.MetaMaxSize)
	}
	if err := json.Unmarshal(b, &m); err != nil {
		return m, err
	}
	if m.Role != RoleCoordinator && m.Role != RoleWorker {
		return m, fmt.Errorf("unknown role %q", m.Role)
	}
	for _, address := range []string{m.ControlAddress, m.DataAddress} {
		if address == "" {
			continue
		}
		if _, _, err := net.SplitHostPort(address); err != nil {
			return m, err
		}
	}
	return m, nil
}
