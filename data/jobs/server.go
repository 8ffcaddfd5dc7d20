package jobs

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Server is an embedded NATS server with JetStream.
type Server struct{ nats *server.Server }

const (
	startTimeout  = 10 * time.Second
	jetStreamRAM  = 4 << 30 // bytes of streams in memory: jobs and results of 65,536 shards, each with a family's formulas
	jetStreamDisk = 4 << 30 // bytes of streams on disk: jobs and results are small
)

// Serve starts a server that keeps its streams under dir and listens on addr,
// host:port with port 0 for a free one; an empty addr is a free loopback port.
// A server on the same dir continues with the last one's streams. Close ends it.
func Serve(dir, addr string) (*Server, error) {
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
	nats, err := server.NewServer(options)
	if err != nil {
		return nil, fmt.Errorf("job queue: %w", err)
	}
	log := &natsLog{slog: slog.Default().With("part", "nats")}
	nats.SetLoggerV2(log, false, false, false)
	s := &Server{nats}
	nats.Start()
	if err := log.failure(); err != nil {
		s.Close()
		return nil, fmt.Errorf("job queue on %s with files in %s: %w", addr, dir, err)
	}
	if !nats.ReadyForConnections(startTimeout) {
		s.Close()
		return nil, fmt.Errorf("job queue on %s: not ready after %v", addr, startTimeout)
	}
	return s, nil
}

// URL is where clients connect.
func (s *Server) URL() string { return s.nats.ClientURL() }

// Close ends the server and waits for it. Jobs stay in its directory.
func (s *Server) Close() {
	s.nats.Shutdown()
	s.nats.WaitForShutdown()
}

// natsLog passes the server's log on to slog and keeps the first fatal error, after
// which the server does not start.
type natsLog struct {
	slog *slog.Logger

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

func (l *natsLog) Errorf(format string, v ...any)  { l.log(slog.LevelError, format, v...) }
func (l *natsLog) Warnf(format string, v ...any)   { l.log(slog.LevelWarn, format, v...) }
func (l *natsLog) Noticef(format string, v ...any) { l.log(slog.LevelDebug, format, v...) }
func (l *natsLog) Debugf(format string, v ...any)  { l.log(slog.LevelDebug, format, v...) }
func (l *natsLog) Tracef(format string, v ...any)  { l.log(slog.LevelDebug, format, v...) }
