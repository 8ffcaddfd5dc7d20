// Package enroll has a process join a secured cluster: with a token it gets its certificate,
// and with the certificate it learns where the cluster is.
package enroll

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/ergoflow/ergoflow/coordinator/gossip/keys"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/internal/atomicfile"
	"github.com/ergoflow/ergoflow/internal/filelock"
	"github.com/ergoflow/ergoflow/internal/trust"
	"github.com/ergoflow/ergoflow/internal/trust/secure"
)

var (
	// ErrNoToken: the directory has no credentials, and there is no token to get them with.
	ErrNoToken = errors.New("there are no credentials, and no token to get them with")
	// ErrUnreachable: nothing answers at the address to join.
	ErrUnreachable = errors.New("no coordinator answers")
	// ErrDirectory: the directory for the credentials cannot be made or written.
	ErrDirectory = errors.New("the directory for the credentials cannot be written")
)

// answerTime bounds the wait for an answer.
const answerTime = 10 * time.Second

// Has reports whether a directory has credentials.
func Has(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "key.pem"))
	return err == nil
}

// Credentials opens the credentials in a directory. Where there are none it has the
// coordinator at address, host:port, admit the process by the token, and keeps what it gets.
// Of several processes that begin at once in one directory, one spends the token. The name is
// the wanted one; the certificate may have another.
func Credentials(ctx context.Context, dir, address, token, name string) (c *trust.Credentials, err error) {
	if err := atomicfile.MakeDirs(filepath.Dir(dir)); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDirectory, err)
	}
	lock, err := os.OpenFile(dir+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDirectory, err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }() // ends the lock
	if err := filelock.Wait(ctx, lock, syscall.LOCK_EX); err != nil {
		return nil, fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	c, err = trust.OpenCredentials(dir)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return c, err
	}
	if token == "" {
		return nil, fmt.Errorf("%w: %s", ErrNoToken, dir)
	}
	t, err := trust.ParseToken(token)
	if err != nil {
		return nil, err
	}
	pair, bundle, err := admit(ctx, address, t, name)
	if err != nil {
		return nil, fmt.Errorf("join at %s: %w", address, err)
	}
	if err := trust.SaveCredentials(dir, pair, bundle); err != nil {
		return nil, err
	}
	return trust.OpenCredentials(dir)
}

// admit has a certificate signed. The token's secret is sent to a coordinator of the pinned
// authority alone.
func admit(ctx context.Context, address string, t trust.Token, name string) (pair trust.KeyPair, bundle []*x509.Certificate, err error) {
	csr, key, err := trust.NewJoinRequest()
	if err != nil {
		return pair, nil, err
	}
	var reply *wire.Certificates
	err = call(ctx, address, secure.DialToJoin(t.Pin), func(ctx context.Context, conn *grpc.ClientConn) (err error) {
		reply, err = wire.NewJoinClient(conn).Admit(ctx, &wire.AdmitRequest{Token: t.Text(), Name: name, Request: csr})
		return err
	})
	if err != nil {
		return pair, nil, err
	}
	pair.Key = key
	pair.Certificate, bundle, err = read(reply)
	return pair, bundle, err
}

// read reads what the coordinator has signed.
func read(r *wire.Certificates) (*x509.Certificate, []*x509.Certificate, error) {
	cert, err := trust.ParseCertificate(r.GetCertificate())
	if err != nil {
		return nil, nil, err
	}
	bundle, err := trust.ParseBundle(r.GetBundle())
	return cert, bundle, err
}

// Introduction says where a cluster is.
type Introduction struct {
	Control string   // host:port of the control service
	Gossip  string   // host:port to join
	Keys    keys.Set // of the gossip
}

// Introduce asks the coordinator at address, host:port, where the cluster is.
func Introduce(ctx context.Context, c *trust.Credentials, address string) (Introduction, error) {
	var reply *wire.IntroduceReply
	err := call(ctx, address, secure.Dial(c, trust.Coordinator), func(ctx context.Context, conn *grpc.ClientConn) (err error) {
		reply, err = wire.NewJoinClient(conn).Introduce(ctx, &wire.IntroduceRequest{})
		return err
	})
	if err != nil {
		return Introduction{}, fmt.Errorf("join at %s: %w", address, err)
	}
	set, err := Keys(reply.GetKeys())
	if err != nil {
		return Introduction{}, fmt.Errorf("join at %s: %w", address, err)
	}
	return Introduction{reply.GetControl(), reply.GetGossip(), set}, nil
}

// maxKeys bounds the keys of a gossip that are taken: a rotation has two.
const maxKeys = 2

// Keys are the gossip's keys as the coordinator sends them.
func Keys(r *wire.GossipKeysReply) (keys.Set, error) {
	set := keys.Set{Version: r.GetVersion()}
	if n := len(r.GetKeys()); n < 1 || n > maxKeys {
		return set, fmt.Errorf("%w: %d keys", keys.ErrKey, n)
	}
	for _, b := range r.GetKeys() {
		k, err := keys.Of(b)
		if err != nil {
			return set, err
		}
		set.Keys = append(set.Keys, k)
	}
	return set, nil
}

// call makes a connection for one call.
func call(ctx context.Context, address string, transport credentials.TransportCredentials, ask func(context.Context, *grpc.ClientConn) error) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	conn, err := secure.Client(address, transport)
	if err != nil {
		return err
	}
	defer conn.Close()
	err = ask(ctx, conn)
	untrusted := secure.Failure(err)
	switch st := status.Convert(err); {
	case err == nil:
		return nil
	case untrusted != nil:
		return untrusted
	case st.Code() == codes.Unavailable, st.Code() == codes.DeadlineExceeded:
		return fmt.Errorf("%w: %s", ErrUnreachable, st.Message())
	default:
		return errors.New(st.Message())
	}
}

// KeepCurrent renews the certificate if it is due, or if the cluster trusts other CAs by now:
// by renewing a process says that it trusts them too.
func KeepCurrent(ctx context.Context, c *trust.Credentials, dir string, control wire.ControlClient) error {
	due := c.Due(time.Now())
	if !due {
		ctx, cancel := context.WithTimeout(ctx, answerTime)
		defer cancel()
		reply, err := control.Authorities(ctx, &wire.AuthoritiesRequest{})
		if err != nil {
			return fmt.Errorf("ask for the authorities: %w", err)
		}
		bundle, err := trust.ParseBundle(reply.GetBundle())
		if err != nil {
			return fmt.Errorf("the authorities that the coordinator names: %w", err)
		}
		due = !c.Trusts(bundle)
	}
	if !due {
		return nil
	}
	return Renew(ctx, c, dir, control)
}

// Renew has the coordinator sign a new certificate, and keeps it in the directory. The
// credentials change in place.
func Renew(ctx context.Context, c *trust.Credentials, dir string, control wire.ControlClient) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	csr, key, err := trust.NewRequest(c.Identity())
	if err != nil {
		return err
	}
	reply, err := control.Renew(ctx, &wire.RenewRequest{Request: csr})
	if err != nil {
		return errors.New(status.Convert(err).Message())
	}
	cert, bundle, err := read(reply)
	if err != nil {
		return err
	}
	if err := trust.SaveCredentials(dir, trust.KeyPair{Certificate: cert, Key: key}, bundle); err != nil {
		return err
	}
	_, err = c.Reload()
	return err
}
