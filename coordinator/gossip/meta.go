package gossip

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hashicorp/memberlist"

	"github.com/ergoflow/ergoflow/internal/hostport"
)

// decodeMeta decodes a member's metadata. Any process that reaches the gossip may send
// anything: every field is checked.
func decodeMeta(b []byte) (Meta, error) {
	var m Meta
	if len(b) > memberlist.MetaMaxSize {
		return m, fmt.Errorf("%d bytes, more than %d", len(b), memberlist.MetaMaxSize)
	}
	if !utf8.Valid(b) {
		return m, fmt.Errorf("it is not UTF-8")
	}
	if err := json.Unmarshal(b, &m); err != nil {
		return m, err
	}
	return m, m.check()
}

func (m Meta) check() error {
	if m.Role != RoleCoordinator && m.Role != RoleWorker {
		return fmt.Errorf("unknown role %q", m.Role)
	}
	if m.Role == RoleCoordinator && m.ControlAddress == "" {
		return fmt.Errorf("a coordinator without a control address")
	}
	for _, address := range []string{m.ControlAddress, m.DataAddress} {
		if address == "" {
			continue
		}
		if err := hostport.Check(address); err != nil {
			return err
		}
	}
	for name, text := range map[string]string{"device": m.Device, "version": m.Version} {
		if !isPrintable(text) {
			return fmt.Errorf("%s %q is not printable", name, text)
		}
	}
	return nil
}

// maxName bounds a member's name, in bytes.
const maxName = 256

// checkName also binds the name of a coordinator to its control address, so that a forged
// message under a coordinator's name cannot send the workers elsewhere.
func checkName(name string, m Meta) error {
	switch {
	case name == "" || len(name) > maxName:
		return fmt.Errorf("the name has %d bytes, not 1 to %d", len(name), maxName)
	case !isPrintable(name):
		return fmt.Errorf("name %q is not printable", name)
	case m.Role == RoleCoordinator && controlIn(name) != m.ControlAddress:
		return fmt.Errorf("the name %q of a coordinator does not have its control address %s", name, m.ControlAddress)
	}
	return nil
}

// CoordinatorName is the name of a coordinator's process.
func CoordinatorName(control string, pid int) string {
	return fmt.Sprintf("coordinator-%s-%d", control, pid)
}

// controlIn is the control address in a coordinator's name: what stands between the first
// hyphen and the last. A part of it could be the address of another host.
func controlIn(name string) string {
	_, rest, _ := strings.Cut(name, "-")
	return rest[:max(0, strings.LastIndexByte(rest, '-'))]
}

func isPrintable(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}
