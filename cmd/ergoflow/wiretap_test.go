package main

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ergoflow/ergoflow/cmd/ergoflow/internal/hosts"
	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/coordinator/gossip"
	"github.com/ergoflow/ergoflow/internal/trust"
)

// TestWiretap records all that passes between the hosts of a cluster. In plain text it finds
// names of runs, jobs and members. Secured it finds nothing of them,
// while the gossip's key is replaced and a worker is revoked, and training goes on.
func TestWiretap(t *testing.T) {
	needE2E(t)
	hosts.Isolated(t, wiretap)
}

func wiretap(t *testing.T) {
	e := tiny(t, 1500, false)
	plan, err := e.Plan()
	if err != nil {
		t.Fatal(err)
	}
	// Of a run and its configuration, of jobs, of a ring's greeting, of gossip. Names of
	// methods are compressed.
	words := []string{plan.Run, "vn1d", "burn_in", "ERGOFLOW_JOBS", "EFAR", `"role":"worker"`}
	network := hosts.New(t)
	for _, secured := range []bool{false, true} {
		suffix := map[bool]string{false: "p", true: "s"}[secured]
		a := network.Host("a" + suffix)
		b, toB := network.Poor("b"+suffix, 1)
		c, toC := network.Poor("c"+suffix, 2)
		var heard, heardC bytes.Buffer // each has its cable's lock
		toB.Record(&heard)
		toC.Record(&heardC)
		dir := t.TempDir()
		start := startPlain
		if secured {
			start = startHosts
		}
		cluster := start(t, []*hosts.Host{a, b, c}, dir, filepath.Join(dir, "shards"))
		cluster.until("three workers are there", func(st coordinator.Status) bool { return len(st.Workers) == 3 })
		if secured {
			refuseWithoutCertificate(t, cluster)
		}
		cluster.submit(e)
		cluster.until("three train", training(3, 20))
		if secured {
			if said, err := a.Command(t.Context(), cluster.program, "gossip", "rotate", "--dir", dir).CombinedOutput(); err != nil {
				t.Errorf("rotate the gossip's key: %v\n%s", err, said)
			}
			began := time.Now()
			if said, err := a.Command(t.Context(), cluster.program, "certs", "revoke", "worker/"+revokedName(t, cluster), "--ca", filepath.Join(dir, "ca")).CombinedOutput(); err != nil {
				t.Fatalf("revoke: %v\n%s", err, said)
			}
			st := cluster.until("two go on without the revoked one", training(2, 0))
			t.Logf("two train %.1f s after the revocation", time.Since(began).Seconds())
			cluster.until("they make 20 steps", training(2, int(st.Step)+20))
		}
		cluster.until("the end", done)
		cluster.end()
		toB.Record(nil)
		toC.Record(nil)
		all := append(heard.Bytes(), heardC.Bytes()...)
		t.Logf("secured %t: %d bytes between the hosts", secured, len(all))
		found := 0
		for _, word := range words {
			if bytes.Contains(all, []byte(word)) {
				found++
				if secured {
					t.Errorf("%q passes in plain text", word)
				}
			}
		}
		if !secured && found < len(words) {
			t.Errorf("the record of a cluster in plain text has %d of %d words: it would not show them", found, len(words))
		}
		if n := encodedZeros(all); secured && n > 0 {
			t.Errorf("%d runs of 64 zero bytes: something is not encrypted", n)
		}
		if secured {
			cluster.checkSecrets()
		}
	}
}

// encodedZeros counts runs of 64 zero bytes, which encrypted bytes do not have.
func encodedZeros(b []byte) int { return bytes.Count(b, make([]byte, 64)) }

// revokedName is the name in the certificate of the last worker.
func revokedName(t *testing.T, c *hostCluster) string {
	t.Helper()
	own, err := trust.OpenCredentials(filepath.Join(filepath.Dir(c.program), "credentials-"+c.hosts[len(c.hosts)-1].Name))
	if err != nil {
		t.Fatal(err)
	}
	return own.Identity().Name
}

// refuseWithoutCertificate connects by TLS, without a certificate, to every port of a cluster.
// The one that lets processes join speaks with it. All others end the handshake.
func refuseWithoutCertificate(t *testing.T, c *hostCluster) {
	t.Helper()
	at, err := coordinator.ReadAddresses(c.dir)
	if err != nil {
		t.Fatal(err)
	}
	st, ok := c.status()
	if !ok {
		t.Fatal("no status")
	}
	jobs, err := url.Parse(at.NATS)
	if err != nil {
		t.Fatal(err)
	}
	ports := map[string]string{"control": at.Control, "join": at.Join, "jobs": jobs.Host}
	for _, w := range st.Workers {
		ports["data port of "+string(w.ID)] = w.Addr
	}
	for name, address := range ports {
		conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
		if err == nil { // in TLS 1.3 the client is done before the server has looked for a certificate
			conn.SetReadDeadline(time.Now().Add(5 * time.Second))
			_, err = conn.Read(make([]byte, 1))
			conn.Close()
		}
		required := err != nil && (strings.Contains(err.Error(), "certificate required") || errors.Is(err, io.EOF))
		if open := name == "join"; open == required {
			t.Errorf("%s at %s, without a certificate: %v", name, address, err)
		}
		old, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12})
		if err == nil {
			t.Errorf("%s at %s speaks TLS 1.2", name, address)
			old.Close()
		}
	}
	if gossip.IsLoopback(at.Control) {
		t.Errorf("the control service is at %s", at.Control)
	}
}
