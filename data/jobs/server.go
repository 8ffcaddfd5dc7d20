package jobs

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"golang.org/x/time/rate"

	"github.com/ergoflow/ergoflow/internal/trust"
)

// Server is an embedded NATS server with JetStream.
type Server struct {
	nats  *server.Server
	guard *guard // nil: it serves everyone, in plain text
}

const (
	startTimeout  = 10 * time.Second
	jetStreamRAM  = 4 << 30 // bytes of streams in memory: jobs and results of 65,536 shards, each with a family's formulas
	jetStreamDisk = 4 << 30 // bytes of streams on disk: jobs and results are small
)

// Serve starts a server that keeps its streams under dir and listens on addr,
// host:port with port 0 for a free one; an empty addr is a free loopback port.
// A server on the same dir continues with the last one's streams. Close ends it.
//
// With credentials it speaks TLS 1.3 from the first byte and serves the coordinators and
// workers of the cluster, each within the limits of its role. Without, it serves everyone in
// plain text.
//
// Where it keeps objects, too, workers may use the subjects of these. Then it acknowledges what
// the disk has, and its streams may take three quarters of the disk that is free.
func Serve(dir, addr string, credentials *trust.Credentials, objects ...string) (*Server, error) {
	return serve(dir, addr, credentials, false, objects)
}

// ServeBoth is Serve with credentials, and beside that in plain text: who speaks that may do
// what a worker may.
func ServeBoth(dir, addr string, credentials *trust.Credentials, objects ...string) (*Server, error) {
	return serve(dir, addr, credentials, true, objects)
}

func serve(dir, addr string, credentials *trust.Credentials, plain bool, objects []string) (*Server, error) {
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	host, service, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("job queue address %q: %w", addr, err)
	}
	port, err := strconv.ParseUint(service, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("job queue address %q: port: %w", addr, err)
	}
	options := &server.Options{
		ServerName:             "ergoflow",
		Host:                   host,
		Port:                   int(port),
		JetStream:              true,
		StoreDir:               dir,
		JetStreamMaxMemory:     jetStreamRAM,
		JetStreamMaxStore:      jetStreamDisk,
		DisableJetStreamBanner: true,
		NoSigs:                 true, // the program handles signals
	}
	if port == 0 {
		options.Port = server.RANDOM_PORT
	}
	if len(objects) > 0 {
		options.SyncAlways = true
		options.JetStreamMaxStore = 0 // the server's default
	}
	s := &Server{}
	if credentials != nil {
		s.guard = newGuard(credentials, plain, objects)
		s.guard.protect(options)
	}
	nats, err := server.NewServer(options)
	if err != nil {
		return nil, fmt.Errorf("job queue: %w", err)
	}
	s.nats = nats
	if s.guard != nil {
		s.guard.nats = nats
	}
	log := &natsLog{slog: slog.Default().With("part", "nats"), clients: rate.Sometimes{First: 10, Interval: time.Minute}}
	nats.SetLoggerV2(log, false, false, false)
	nats.Start()
	if err := log.failure(); err != nil {
		s.Close()
		return nil, fmt.Errorf("job queue on %s with files in %s: %w", addr, dir, err)
	}
	if !nats.ReadyForConnections(startTimeout) {
		s.Close()
		return nil, fmt.Errorf("job queue on %s: not ready after %v", addr, startTimeout)
	}
	if s.guard != nil {
		if err := s.guard.start(); err != nil {
			s.Close()
			return nil, fmt.Errorf("job queue on %s: account of the workers: %w", addr, err)
		}
	}
	return s, nil
}

// URL is where clients connect: nats://HOST:PORT, with credentials and without.
func (s *Server) URL() string {
	_, address, _ := strings.Cut(s.nats.ClientURL(), "://")
	return "nats://" + address
}

// Stored is the number of bytes that the server's streams have in files.
func (s *Server) Stored() uint64 { return s.nats.GlobalAccount().JetStreamUsage().Store }

// Recheck ends the connections of all whose certificates no longer count, and returns their
// number. Call it after a revocation, and after a CA has gone.
func (s *Server) Recheck() int {
	if s.guard == nil {
		return 0
	}
	return s.guard.recheck()
}

// Close ends the server and waits for it. Jobs stay in its directory.
func (s *Server) Close() {
	s.nats.Shutdown()
	s.nats.WaitForShutdown()
}

// natsLog passes the server's log on to slog and keeps the first fatal error, after
// which the server does not start.
type natsLog struct {
	slog    *slog.Logger
	clients rate.Sometimes // for errors that clients cause: anyone can connect and fail

	mu    sync.Mutex
	fatal error
}

func (l *natsLog) failure() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fatal
}

func (l *natsLog) Fatalf(format string, v ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fatal == nil {
		l.fatal = fmt.Errorf(format, v...)
	}
}

func (l *natsLog) log(level slog.Level, format string, v ...any) {
	if ctx := context.Background(); l.slog.Enabled(ctx, level) {
		l.slog.Log(ctx, level, fmt.Sprintf(format, v...))
	}
}

func (l *natsLog) Errorf(format string, v ...any) {
	if strings.Contains(format, " - cid:") { // it begins with a client's address and number
		l.clients.Do(func() { l.log(slog.LevelWarn, format, v...) })
		return
	}
	l.log(slog.LevelError, format, v...)
}

func (l *natsLog) Warnf(format string, v ...any) {
	if strings.HasPrefix(format, `Clients that are not using "TLS Handshake First"`) {
		return // that is what is wanted
	}
	l.log(slog.LevelWarn, format, v...)
}

func (l *natsLog) Noticef(format string, v ...any) { l.log(slog.LevelDebug, format, v...) }
func (l *natsLog) Debugf(format string, v ...any)  { l.log(slog.LevelDebug, format, v...) }
func (l *natsLog) Tracef(format string, v ...any)  { l.log(slog.LevelDebug, format, v...) }
