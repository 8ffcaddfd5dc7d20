package secure

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	"google.golang.org/grpc/status"
)

var (
	// ErrUntrusted: the two sides of a connection do not trust one another.
	ErrUntrusted = errors.New("no trusted connection")
	// ErrPlain: the other side speaks plain text.
	ErrPlain = errors.New("the other side speaks plain text, and this one TLS alone")
	// ErrEnded: the other side ended the connection before its first answer. It does not trust
	// this side, or it has just ended itself.
	ErrEnded = errors.New("the other side ended the connection before it answered")
)

// explain says what a failed handshake means.
func explain(err error) error {
	var header tls.RecordHeaderError
	switch {
	case errors.As(err, &header):
		return ErrPlain
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		return ErrEnded
	}
	return err
}

// Failure is the ErrUntrusted that the error of a call stands for, and nil for other errors.
// gRPC keeps only the text of a failed handshake. A server refuses a certificate after the
// client's side of the handshake is done, so that refusal comes with the first bytes.
func Failure(err error) error {
	said := status.Convert(err).Message()
	if _, reason, ok := strings.Cut(said, "authentication handshake failed: "); ok {
		reason = strings.TrimSuffix(reason, `"`)
		if reason == ErrEnded.Error() {
			return fmt.Errorf("%w: %w", ErrUntrusted, ErrEnded)
		}
		return fmt.Errorf("%w: %s", ErrUntrusted, reason)
	}
	if _, reason, ok := strings.Cut(said, "remote error: tls: "); ok {
		return fmt.Errorf("%w: the other side refuses this side's certificate (%s)", ErrUntrusted, strings.TrimSuffix(reason, `"`))
	}
	if strings.Contains(said, "error reading server preface") {
		return fmt.Errorf("%w: %w: it may speak TLS, and this one plain text", ErrUntrusted, ErrEnded)
	}
	return nil
}
