package conduct

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/internal/atomicfile"
	"github.com/ergoflow/ergoflow/internal/trust"
	"github.com/ergoflow/ergoflow/worker/enroll"
)

// Endpoint is a coordinator's control service, and what a command shows it.
type Endpoint struct {
	Addr        string
	Credentials *trust.Credentials // nil: plain text
	dir         string             // of the credentials, if this process renews them
}

// contextFile says which cluster the credentials beside it are for.
const contextFile = "context.json"

// saved is the content of contextFile.
type saved struct {
	Control string `json:"control"` // host:port
}

// ErrNoAddress: a directory of credentials does not say where the coordinator is.
var ErrNoAddress = errors.New("the credentials come without an address")

// EndpointOf is the endpoint of a context, a directory of credentials, at an address. An empty
// address is the one in the context; an empty context stands for plain text.
func EndpointOf(dir, addr string) (Endpoint, error) {
	if dir == "" {
		return Endpoint{Addr: addr}, nil
	}
	c, err := trust.OpenCredentials(dir)
	if err != nil {
		return Endpoint{}, fmt.Errorf("credentials in %s: %w", dir, err)
	}
	if addr == "" {
		text, err := os.ReadFile(filepath.Join(dir, contextFile))
		if errors.Is(err, fs.ErrNotExist) {
			return Endpoint{}, fmt.Errorf("%w: %s has no %s", ErrNoAddress, dir, contextFile)
		}
		var known saved
		if err == nil {
			err = json.Unmarshal(text, &known)
		}
		if err != nil {
			return Endpoint{}, fmt.Errorf("%s: %w", filepath.Join(dir, contextFile), err)
		}
		addr = known.Control
	}
	return Endpoint{addr, c, dir}, nil
}

// KeepCurrent renews the credentials of a person's context, as workers renew theirs. Those in
// a coordinator's directory are that process's to renew.
func (e Endpoint) KeepCurrent(ctx context.Context) error {
	if e.dir == "" {
		return nil
	}
	c, err := Dial(e)
	if err != nil {
		return err
	}
	defer c.Close()
	return enroll.KeepCurrent(ctx, e.Credentials, e.dir, c.Control)
}

// SaveContext writes beside credentials where the coordinator is.
func SaveContext(dir, addr string) error {
	text, err := json.Marshal(saved{addr})
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(dir, contextFile), append(text, '\n'))
}

// EndpointIn is the endpoint of the coordinator that runs on a directory of this machine. A
// context other than its own may be given.
func EndpointIn(dir, with string) (Endpoint, error) {
	a, err := coordinator.ReadAddresses(dir)
	if err != nil {
		return Endpoint{}, err
	}
	own := ""
	if a.Join != "" {
		own = coordinator.OperatorDir(dir)
	}
	at, err := EndpointOf(cmp.Or(with, own), a.Control)
	if with == "" {
		at.dir = ""
	}
	return at, err
}
