package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/internal/hostport"
	"github.com/ergoflow/ergoflow/internal/systemd"
	"github.com/ergoflow/ergoflow/internal/trust"
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/registry"
	"github.com/ergoflow/ergoflow/model/serve"
)

// serveFlags are the flags of serve.
type serveFlags struct {
	checkpoint, models string
	listen             string
	tokenFile          string
	certificate, key   string
	authority          string // directory with the CA of clients
	insecure           bool
	backend            string
	timeout            time.Duration
	traces             string // collector
}

func serveCommand() *cobra.Command {
	var flags serveFlags
	cmd := &cobra.Command{
		Use:   "serve --checkpoint C | --models REGISTRY",
		Short: "Answer requests for samples over HTTP and on a page",
		Long: `Serves a trained model, or the champions of all models of a registry, until
SIGTERM or Ctrl-C: it then takes no more requests and ends those under way. When
a registry promotes another champion, the server loads it and makes it ready
beside the old one, which stays if that fails.

The page is at the server's address, the description of the protocol at
/openapi.json. docs/serve.md has examples for curl and Python.

Beyond loopback the server needs a token, which requests bring, and a
certificate for TLS; --insecure does without. With --client-authority clients
may show a certificate of a cluster's operator or viewer instead of the token.`,
		Example: `  ergoflow serve --checkpoint ergoflow-runs/vn1d-demo
  ergoflow serve --models /var/lib/ergoflow/models --listen 10.0.0.1:8080 --token-file token --tls-certificate cert.pem --tls-key key.pem
  curl -s localhost:8080/v1/sample -d '{"drift": "-x", "diffusion": "1", "n": 1000}'`,
		Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			outliveReaders()
			if err := checkAddresses(cmd, "listen"); err != nil {
				return err
			}
			return flags.run(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.StringVar(&flags.checkpoint, "checkpoint", "", checkpointUsage)
	f.StringVar(&flags.models, "models", "", "directory of a registry, or s3://BUCKET/PREFIX?endpoint=URL, whose champions are served")
	f.StringVar(&flags.listen, "listen", "127.0.0.1:8080", "address to listen on; port 0 picks a free one")
	f.StringVar(&flags.tokenFile, "token-file", "", "file with the token that requests must bring (Authorization: Bearer TOKEN)")
	f.StringVar(&flags.certificate, "tls-certificate", "", "file of the certificate for TLS, PEM")
	f.StringVar(&flags.key, "tls-key", "", "file of its key, PEM")
	f.StringVar(&flags.authority, "client-authority", "", "directory with ca.pem and revoked.json of a cluster's authority: certificates of its operators and viewers count as the token")
	f.BoolVar(&flags.insecure, "insecure", false, "listen beyond loopback without TLS or without a token")
	f.StringVar(&flags.backend, "backend", backend.Auto, "compute backend of models in the plane and of particles: auto, xla:cuda, xla:cpu or go")
	f.DurationVar(&flags.timeout, "timeout", 30*time.Second, "longest time for an answer")
	addTraces(cmd, &flags.traces)
	cmd.MarkFlagsOneRequired("checkpoint", "models")
	cmd.MarkFlagsMutuallyExclusive("checkpoint", "models")
	cmd.MarkFlagsRequiredTogether("tls-certificate", "tls-key")
	return cmd
}

// maxRequest bounds the body of a request.
const maxRequest = 1 << 20

func (f *serveFlags) run(ctx context.Context) error {
	if f.timeout <= 0 {
		return usagef("--timeout is %v, not positive", f.timeout)
	}
	config := serve.Config{Backend: f.backend, Timeout: f.timeout, MaxBody: maxRequest, Build: ergoflow.Build(), Log: logger()}
	var err error
	if config.Token, err = readToken(f.tokenFile); err != nil {
		return err
	}
	if f.authority != "" {
		if f.certificate == "" {
			return withHint(usagef("--client-authority needs TLS: clients show their certificates there"), "give --tls-certificate and --tls-key")
		}
		if config.Clients, err = trust.OpenClients(f.authority); err != nil {
			return withHint(fmt.Errorf("--client-authority: %w", err), "name the directory of `ergoflow certs init --ca`, or one with copies of its ca.pem and revoked.json")
		}
	}
	if !hostport.IsLoopback(f.listen) && !f.insecure && (config.Token == "" && config.Clients == nil || f.certificate == "") {
		return withHint(usagef("--listen %s is beyond loopback: the server needs --token-file, --tls-certificate and --tls-key there", f.listen),
			"give the three, listen on 127.0.0.1 behind a proxy, or give --insecure")
	}
	if config.Models, err = f.source(ctx); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", f.listen)
	if err != nil {
		return withHint(err, "choose another --listen, or port 0 for a free one")
	}
	defer listener.Close()
	scheme := "http"
	if f.certificate != "" {
		pair, err := tls.LoadX509KeyPair(f.certificate, f.key)
		if err != nil {
			return fmt.Errorf("read the certificate of the server: %w", err)
		}
		scheme = "https"
		config.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS13, NextProtos: []string{"h2", "http/1.1"}}
	}
	config.Beat = systemd.NewWatchdog().Beat
	config.Ready = func() {
		fmt.Fprintf(os.Stderr, "server ready: %s://%s\n", scheme, listener.Addr())
		systemd.Ready("serving " + listener.Addr().String())
	}
	defer context.AfterFunc(ctx, systemd.Stopping)()
	var stop func()
	if config.Tracer, stop, err = openTraces(ctx, f.traces, "ergoflow-server", config.Log); err != nil {
		return err
	}
	defer stop()
	return serve.New(config).Serve(ctx, listener)
}

// source says where the models come from.
func (f *serveFlags) source(ctx context.Context) (func(context.Context, *serve.Server) error, error) {
	if f.models != "" {
		if !registry.Exists(f.models) {
			return nil, withHint(fmt.Errorf("there is no registry in %s", f.models), "`ergoflow models` shows how to make one")
		}
		r, err := registry.Open(f.models)
		if err != nil {
			return nil, err
		}
		return serve.Champions(r), nil
	}
	encoded, _, err := readEncoded(ctx, f.checkpoint)
	if err != nil {
		return nil, err
	}
	e, st, err := decodeState(f.checkpoint, encoded)
	if err != nil {
		return nil, err
	}
	return serve.One(serve.Source{
		Name: e.Name, Version: fmt.Sprintf("step-%d", st.Step), Encoded: encoded, Tables: tablesBeside(f.checkpoint),
	}), nil
}

// readToken reads a token of printable characters from a file; "" is no token.
func readToken(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	content, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(content))
	if len(token) < 16 || len(token) > 4096 || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", withHint(errors.New(path+" holds no token: it needs 16 to 4096 printable characters without spaces"), "make one with `openssl rand -hex 32`")
	}
	return token, nil
}
