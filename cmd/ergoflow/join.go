package main

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow/cmd/ergoflow/internal/conduct"
	"github.com/ergoflow/ergoflow/internal/trust"
	"github.com/ergoflow/ergoflow/worker"
	"github.com/ergoflow/ergoflow/worker/enroll"
)

// joinCommand is what to run on a machine that joins by a token.
func joinCommand(role trust.Role, join, token string) string {
	command := "ergoflow join " + join
	if role == trust.Worker {
		command = "ergoflow worker --join " + join
	}
	return command + " --token " + token
}

// enrolled gives a worker its credentials, if its cluster is secured: it has a token, or
// credentials from an earlier start.
func enrolled(ctx context.Context, c *worker.Config, token string) (err error) {
	given := token != "" || c.CredentialsDir != ""
	if c.Insecure {
		if given {
			return usagef("--insecure excludes --token and --credentials")
		}
		return nil
	}
	dir, noDir := credentialsDir(c.CredentialsDir, c.Join[0])
	c.CredentialsDir = dir
	switch before := noDir == nil && enroll.Has(dir); {
	case !given && !before:
		return nil // plain text, also for a user without a home
	case noDir != nil:
		return noDir
	}
	c.Credentials, err = enrol(ctx, c.CredentialsDir, c.Join[0], token, worker.HostName())
	return err
}

// enrol opens credentials, or gets them by a token, which may be @FILE.
func enrol(ctx context.Context, dir, address, token, name string) (*trust.Credentials, error) {
	if path, isFile := strings.CutPrefix(token, "@"); isFile {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("token: %w", err)
		}
		token = strings.TrimSpace(string(text))
	}
	return enroll.Credentials(ctx, dir, address, token, name)
}

// credentialsDir is where credentials are kept for the cluster that is joined at an address.
func credentialsDir(given, address string) (string, error) {
	if given != "" {
		return given, nil
	}
	base, err := os.UserConfigDir()
	if err != nil {
		return "", withHint(err, "give --credentials a directory")
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", usagef("--join %q: %w", address, err)
	}
	return filepath.Join(base, "ergoflow", strings.ReplaceAll(host, ":", "_")+"_"+port), nil
}

func joinClusterCommand() *cobra.Command {
	var token, dir, name string
	cmd := &cobra.Command{
		Use:   "join HOST:PORT --token TOKEN",
		Short: "Get credentials for a secured cluster, by a token",
		Long: `Makes a key, has the coordinator at HOST:PORT sign a certificate for it, and
keeps both in a directory, with the coordinator's address. Commands take that
directory as --context. The token says for which role the certificate is: an
operator may change the cluster, a viewer may look at it.`,
		Example: "  ergoflow join 10.0.0.1:7071 --token ERGO1… --context ~/.config/ergoflow/lab",
		Args:    exactly(1, "an address, HOST:PORT"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if dir, err = credentialsDir(dir, args[0]); err != nil {
				return err
			}
			c, err := enrol(cmd.Context(), dir, args[0], token, cmp.Or(name, worker.HostName()))
			if err != nil {
				return err
			}
			at, err := enroll.Introduce(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			if err := conduct.SaveContext(dir, at.Control); err != nil {
				return err
			}
			fmt.Fprintf(stdout, "%v, until %s\ncredentials in %s: `ergoflow status --context %s` uses them\n",
				c.Identity(), c.Certificate().NotAfter.UTC().Format("2006-01-02 15:04 UTC"), dir, dir)
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&token, "token", "", "token of the cluster, as tokens create prints it; @FILE reads it from a file")
	f.StringVar(&dir, "context", "", "directory for the credentials (default: one for HOST:PORT in the user's configuration)")
	f.StringVar(&name, "name", "", "name in the certificate (default: that of this machine)")
	return cmd
}
