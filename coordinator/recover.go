package coordinator

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"

	"google.golang.org/grpc"

	"github.com/ergoflow/ergoflow/coordinator/consensus"
	"github.com/ergoflow/ergoflow/internal/trust"
	"github.com/ergoflow/ergoflow/internal/trust/secure"
)

// Recover makes the coordinator of a directory, which must not run, the only one of its cluster,
// where the others, with these control addresses, are lost. It returns the index of the last
// entry of the ledger that it keeps.
func Recover(ctx context.Context, dir string, lost []string, log *slog.Logger) (applied uint64, err error) {
	ledger, err := openLedger(dir)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, ledger.close()) }()
	own, err := trust.OpenCredentials(filepath.Join(dir, credentialsDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	dial := func(address string) (*grpc.ClientConn, error) {
		return secure.Client(address, secure.Dial(own, trust.Coordinator))
	}
	if err := consensus.Recover(ctx, dir, lost, dial, ledger, log); err != nil {
		return 0, err
	}
	return ledger.Applied()
}
