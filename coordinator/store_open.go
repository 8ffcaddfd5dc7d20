package coordinator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/ergoflow/ergoflow/data/jobs"
	"github.com/ergoflow/ergoflow/data/store"
	"github.com/ergoflow/ergoflow/internal/trust"
)

// ErrNoServer: a bucket of NATS is named, and no server.
var ErrNoServer = errors.New("the location names no server of NATS")

// OpenStore opens the objects of a location, as a coordinator does, for a command on its
// machine. For NATS it shows the credentials in the coordinator's directory, and where the
// location names no server it takes that of the coordinator that runs there. An empty directory
// stands for none: of no coordinator. natsFiles is as in jobs.Access.
func OpenStore(ctx context.Context, dir string, l store.Location, natsFiles string) (store.Store, error) {
	access := jobs.Access{Files: natsFiles}
	if l.Scheme == store.NATS {
		if l.Server == "" && dir == "" {
			return nil, fmt.Errorf("store %s: %w", l.Public(), ErrNoServer)
		}
		if l.Server == "" {
			a, err := ReadAddresses(dir)
			if err != nil {
				return nil, fmt.Errorf("store %s: %w", l.Public(), err)
			}
			l.Server, l.Domain = a.NATS, cmp.Or(l.Domain, a.NATSDomain)
		}
		if dir != "" {
			own, err := trust.OpenCredentials(filepath.Join(dir, credentialsDir))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, fmt.Errorf("the coordinator's credentials: %w", err)
			}
			if err == nil {
				access.Credentials = own
			}
		}
	}
	s, err := store.Open(ctx, l, store.Options{Access: access})
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	return s, nil
}
