package coordinator

import (
	"context"
	"errors"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/internal/trust"
	"github.com/ergoflow/ergoflow/internal/trust/secure"
	"github.com/ergoflow/ergoflow/internal/trust/trusttest"
)

// Clients that connect and fall silent keep nobody from being served, end no session of a
// member, and are cut off.
func TestHalfOpenConnections(t *testing.T) {
	t.Parallel()
	s := startSecured(t)
	s.enrolledSession("member")
	open := make([]net.Conn, 1000)
	for i := range open {
		conn, err := net.Dial("tcp", s.Control)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if i%2 == 0 { // the beginning of a handshake
			if _, err := conn.Write([]byte{22, 3, 1, 2, 0, 1}); err != nil {
				t.Fatal(err)
			}
		}
		open[i] = conn
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	c := trusttest.Credentials(t, s.authority, trust.Viewer, "late")
	if _, err := wire.NewControlClient(s.dialWith(s.Control, secure.Dial(c, trust.Coordinator))).Status(ctx, &wire.StatusRequest{}); err != nil {
		t.Errorf("a client is not served: %v", err)
	}
	if st := s.status(); len(st.Workers) != 1 {
		t.Errorf("workers: %+v", st.Workers)
	}
	for _, conn := range open {
		conn.SetReadDeadline(time.Now().Add(patience))
		if _, err := conn.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("a silent connection stays: %v", err)
		}
	}
}

// A greeting that announces more than a handshake may have is refused before it is read.
func TestOversizedHandshake(t *testing.T) {
	t.Parallel()
	s := startSecured(t)
	for _, address := range []string{s.Control, s.Join} {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		// Records of 16 KiB: a ClientHello of 16 MiB.
		record := make([]byte, 5+1<<14)
		copy(record, []byte{22, 3, 1, 0x40, 0, 1, 0xff, 0xff, 0xff})
		written := 0
		conn.SetDeadline(time.Now().Add(patience))
		for err == nil && written < 16<<20 {
			var n int
			n, err = conn.Write(record)
			written += n
			copy(record[5:], make([]byte, 4))
		}
		if err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s took %d bytes: %v", address, written, err)
		}
	}
	s.await("the reason in the status", func(st Status) bool {
		return slices.ContainsFunc(st.Refused, func(r Refusal) bool {
			return strings.Contains(r.Reason, "handshake message of length 16777215 bytes exceeds maximum")
		})
	})
}

// A stranger who tries tokens keeps nobody from joining.
func TestWrongTokensDelayNobody(t *testing.T) {
	t.Parallel()
	s := startSecured(t)
	token, err := trust.ParseToken(s.token)
	if err != nil {
		t.Fatal(err)
	}
	joins := wire.NewJoinClient(s.dialWith(s.Join, secure.DialToJoin(token.Pin)))
	trying, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	for range 2 * refusalBurst { // the last would wait for ten seconds
		group.Go(func() { joins.Admit(trying, &wire.AdmitRequest{Token: s.token[:len(s.token)-4] + "0000"}) })
	}
	csr, _, err := trust.NewJoinRequest()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := joins.Admit(t.Context(), &wire.AdmitRequest{Token: s.token, Name: "gpu", Request: csr}); err != nil {
		t.Error(err)
	}
	stop()
	group.Wait()
}
