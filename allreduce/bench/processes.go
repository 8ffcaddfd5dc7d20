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
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/allreduce"
	"github.com/ergoflow/ergoflow/internal/trust"
)

// Part is one rank's part in a measurement.
type Part struct {
	Rank        int
	Peers       []string           // addresses by rank
	TCP         bool               // without local sockets
	Credentials *trust.Credentials // nil: plain text
	Options     allreduce.Options
	Sizes       []int // of vectors in bytes; see [Measure]
	Rounds      int   // likewise
}

// Run serves on the listener, which the others reach at Peers[Rank], joins them and
// measures.
func (p Part) Run(ctx context.Context, l net.Listener) ([]Result, error) {
	server := allreduce.NewServer(p.Credentials)
	g := grpc.NewServer(server.Options()...)
	server.Register(g)
	served := make(chan error, 1)
	address := p.Peers[p.Rank]
	if p.TCP {
		address = ""
	}
	go func() { served <- server.Serve(g, l, address) }()
	results, err := func() ([]Result, error) {
		id := allreduce.Identity{Generation: 1, Rank: p.Rank, World: len(p.Peers)}
		for _, rank := range append(allreduce.Dials(id, p.Peers, p.Options), p.Rank) {
			if err := await(ctx, server, p.Peers[rank]); err != nil {
				return nil, err
			}
		}
		join := func(g ergoflow.Generation) (*allreduce.Ring, error) {
			id.Generation = g
			return server.Join(ctx, id, p.Peers, p.Options)
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
		results, err := Measure(ctx, ring, p.Sizes, p.Rounds)
		return results, errors.Join(err, ring.Close())
	}()
	g.Stop()
	return results, errors.Join(err, <-served)
}

// peerWait is how long a rank waits for the others to listen.
const peerWait = time.Minute

// await waits until a process serves at the address.
func await(ctx context.Context, server *allreduce.Server, address string) error {
	ctx, cancel := context.WithTimeout(ctx, peerWait)
	defer cancel()
	for {
		err := server.Reach(ctx, address, "")
		if err == nil || errors.Is(err, allreduce.ErrRefused) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", address, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Certify writes credentials of an authority that nobody keeps, into a directory for each
// rank, and returns those.
func Certify(ctx context.Context, dir string, world int) (dirs []string, err error) {
	now := time.Now()
	authority, err := trust.CreateAuthority(ctx, filepath.Join(dir, "authority"), "bench", now)
	if err != nil {
		return nil, err
	}
	bundle, err := authority.Bundle(ctx)
	if err != nil {
		return nil, err
	}
	for rank := range world {
		name := fmt.Sprintf("rank-%d", rank)
		pair, err := authority.Issue(ctx, trust.Request{Role: trust.Worker, Name: name}, now)
		if err != nil {
			return nil, err
		}
		dirs = append(dirs, filepath.Join(dir, name))
		if err := trust.SaveCredentials(dirs[rank], pair, bundle); err != nil {
			return nil, err
		}
	}
	return dirs, nil
}

// Local measures between processes of this machine, each on a host of its own: on Linux
// 127.0.0.1, 127.0.0.2 and so on are loopback. If apart is false, all are on 127.0.0.1.
// command is rank's: it runs its [Part] on the listener that is its file descriptor 3,
// writes the results to standard output as JSON, and leaves when its standard input
// closes. The results are rank 0's.
func Local(ctx context.Context, world int, apart bool, command func(rank int, peers []string) *exec.Cmd) ([]Result, error) {
	files, peers := make([]*os.File, world), make([]string, world)
	defer func() {
		for _, f := range files {
			f.Close()
		}
	}()
	for rank := range world {
		var err error
		host := "127.0.0.1"
		if apart {
			host = fmt.Sprintf("127.0.0.%d", rank+1)
		}
		if files[rank], peers[rank], err = listen(host); err != nil {
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
func listen(host string) (*os.File, string, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return nil, "", err
	}
	defer l.Close() // the file is a descriptor of its own
	f, err := l.(*net.TCPListener).File()
	return f, l.Addr().String(), err
}
