package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/allreduce"
)

// Rank takes part in a measurement: it serves on the listener, which the others
// reach at peers[rank], and joins them. See [Measure].
func Rank(ctx context.Context, l net.Listener, rank int, peers []string, opts allreduce.Options, sizes []int, rounds int) ([]Result, error) {
	server := allreduce.NewServer(nil)
	g := grpc.NewServer(server.Options()...)
	server.Register(g)
	served := make(chan error, 1)
	go func() { served <- server.Serve(g, l, peers[rank]) }()
	results, err := func() ([]Result, error) {
		join := func(g ergoflow.Generation) (*allreduce.Ring, error) {
			return server.Join(ctx, allreduce.Identity{Generation: g, Rank: rank, World: len(peers)}, peers, opts)
		}
		// As workers do, all serve before they join the ring that counts. A rank that dials
		// another one before that finds its listener, which is inherited, but no local socket.
		early, err := join(1)
		if err != nil {
			return nil, err
		}
		if err := early.Close(); err != nil {
			return nil, err
		}
		ring, err := join(2)
		if err != nil {
			return nil, err
		}
		results, err := Measure(ctx, ring, sizes, rounds)
		return results, errors.Join(err, ring.Close())
	}()
	g.Stop()
	return results, errors.Join(err, <-served)
}

// Local measures between processes of this machine. command is rank's: it calls
// [Rank] with the listener that is its file descriptor 3, writes the results to
// standard output as JSON, and leaves when its standard input closes. The
// results are rank 0's.
func Local(ctx context.Context, world int, command func(rank int, peers []string) *exec.Cmd) ([]Result, error) {
	files, peers := make([]*os.File, world), make([]string, world)
	defer func() {
		for _, f := range files {
			f.Close()
		}
	}()
	for rank := range world {
		var err error
		if files[rank], peers[rank], err = listen(); err != nil {
			return nil, err
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	var first bytes.Buffer
	for rank := range world {
		cmd := command(rank, peers)
		var complaint bytes.Buffer
		cmd.ExtraFiles, cmd.Stderr = []*os.File{files[rank]}, &complaint
		if rank == 0 {
			cmd.Stdout = &first
		}
		life, err := cmd.StdinPipe() // the kernel closes it for us, however we end
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			err = fmt.Errorf("start rank %d: %w", rank, err)
			group.Go(func() error { return err })
			break
		}
		group.Go(func() error {
			defer context.AfterFunc(ctx, func() { cmd.Process.Kill() })()
			defer life.Close()
			err := cmd.Wait()
			if err != nil && ctx.Err() == nil {
				line, _, _ := strings.Cut(strings.TrimPrefix(complaint.String(), "ergoflow: "), "\n")
				err = fmt.Errorf("rank %d: %w: %s", rank, err, line)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var results []Result
	if err := json.Unmarshal(first.Bytes(), &results); err != nil {
		return nil, fmt.Errorf("results of rank 0: %w", err)
	}
	return results, nil
}

// listen returns a listening socket on loopback, to be inherited.
func listen() (*os.File, string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", err
	}
	defer l.Close() // the file is a descriptor of its own
	f, err := l.(*net.TCPListener).File()
	return f, l.Addr().String(), err
}
