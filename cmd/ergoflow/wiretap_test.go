package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ergoflow/ergoflow/cmd/ergoflow/internal/hosts"
	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/coordinator/checkpoint"
	"github.com/ergoflow/ergoflow/internal/hostport"
	"github.com/ergoflow/ergoflow/internal/trust"
)

// TestWiretap records all that passes between the hosts of a cluster. In plain text it finds
// names of runs, jobs and members, and parameters of the network. Secured it finds nothing of
// them, while keys of all kinds are replaced, workers are killed and revoked, and training
// goes on.
func TestWiretap(t *testing.T) {
	needE2E(t)
	hosts.Isolated(t, wiretap)
}

// greeting begins what a rank sends first: name, version and number format, as allreduce's
// documentation has them.
const greeting = "EFAR\x07\x00\x00"

func wiretap(t *testing.T) {
	network := hosts.New(t)
	for _, secured := range []bool{false, true} {
		steps := 400
		if secured {
			steps = 4000 // long enough for what happens meanwhile
		}
		e := tiny(t, steps, false)
		plan, err := e.Plan()
		if err != nil {
			t.Fatal(err)
		}
		// Of a run and its configuration, of jobs, of a ring's greeting. Names of methods and
		// most gossip are compressed; gossip has its own test. Each has 7 bytes or more: among
		// so many random bytes are all words of 4.
		words := []string{plan.Run, plan.Experiment, "burn_in", "ERGOFLOW_JOBS", greeting}
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
		cluster := start(t, []*hosts.Host{a, b, c}, dir, filepath.Join(dir, "shards"), "--certificate-life", certificateLife.String())
		cluster.until("three workers are there", func(st coordinator.Status) bool { return len(st.Workers) == 3 })
		if secured {
			refuseWithoutCertificate(t, cluster)
			verifyWithOpenSSL(t, cluster)
		}
		warned := !secured
		if said, _ := a.Command(t.Context(), cluster.program, "doctor", "--dir", dir).CombinedOutput(); bytes.Contains(said, []byte("--insecure")) != warned {
			t.Errorf("secured %t: the doctor says\n%s", secured, said)
		}
		cluster.submit(e)
		cluster.until("three train", training(3, 20))
		if secured {
			flood(t, cluster)
			replaceKeys(t, cluster)
			revoke(t, cluster)
		}
		// The others upload checkpoints over the network.
		cluster.workers[0].kill()
		cluster.finish()
		cluster.end()
		toB.Record(nil)
		toC.Record(nil)
		all := append(heard.Bytes(), heardC.Bytes()...)
		t.Logf("secured %t: %d bytes between the hosts", secured, len(all))
		for _, word := range words {
			switch passed := bytes.Contains(all, []byte(word)); {
			case secured && passed:
				t.Errorf("%q passes in plain text", word)
			case !secured && !passed:
				t.Errorf("the record of a cluster in plain text has no %q: it would not show it", word)
			}
		}
		pieces := parameters(t, dir)
		found := len(slices.DeleteFunc(slices.Clone(pieces), func(piece []byte) bool { return !bytes.Contains(all, piece) }))
		if secured && found > 0 || !secured && found < len(pieces)/2 {
			t.Errorf("secured %t: %d of %d pieces of the checkpoint passed", secured, found, len(pieces))
		}
		if n := encodedZeros(all); secured && n > 0 {
			t.Errorf("%d runs of 64 zero bytes: something is not encrypted", n)
		}
		if secured {
			cluster.checkSecrets()
		}
	}
}

// flood opens 10,000 connections to the coordinator that begin a handshake and fall silent. The
// sessions of the workers stay, and so does their generation.
func flood(t *testing.T, c *hostCluster) {
	t.Helper()
	const connections = 10_000
	before, ok := c.status()
	if !ok {
		t.Fatal("no status")
	}
	for range connections {
		conn, err := net.Dial("tcp", c.hosts[0].Address+":7070")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := conn.Write([]byte{22, 3, 1, 2, 0, 1}); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	now := c.until("an answer beside silent connections", func(coordinator.Status) bool { return true })
	took := time.Since(began)
	after := c.until("they make 20 steps", training(3, int(now.Step)+20))
	if after.Generation != before.Generation {
		t.Errorf("generation %d, and %d after a flood of connections", before.Generation, after.Generation)
	}
	t.Logf("an answer beside %d silent connections takes %.2f s", connections, took.Seconds())
}

// certificateLife is short enough for certificates to be renewed while the test runs.
const certificateLife = 20 * time.Second

// replaceKeys replaces certificates, the authority's key and the gossip's while three train. A
// worker is killed meanwhile, and comes back.
func replaceKeys(t *testing.T, c *hostCluster) {
	t.Helper()
	ca := filepath.Join(c.dir, "ca")
	before := c.certificates()
	began := time.Now()
	c.run("certs", "rotate", "--ca", ca)
	victim := c.workers[1]
	victim.kill()
	victim.start(t)
	c.run("certs", "rotate", "--use", "--wait", "1m", "--ca", ca)
	c.run("certs", "rotate", "--finish", "--wait", "1m", "--ca", ca)
	c.run("gossip", "rotate", "--dir", c.dir)
	t.Logf("the authority's key and the gossip's are replaced after %.1f s", time.Since(began).Seconds())
	st := c.until("three train with the new keys", training(3, 0))
	c.until("they make 20 steps", training(3, int(st.Step)+20))
	for name, cert := range c.certificates() {
		if cert.CheckSignatureFrom(c.authority()) != nil {
			t.Errorf("the new authority has not signed the certificate of %s", name)
		}
		if !cert.NotAfter.After(before[name].NotAfter) {
			t.Errorf("the certificate of %s is as before", name)
		}
	}
	// Certificates are renewed at two thirds of their life, without a rotation.
	renewed := c.certificates()
	began = time.Now()
	c.until("certificates are renewed while three train", func(st coordinator.Status) bool {
		for name, cert := range c.certificates() {
			if cert.Equal(renewed[name]) {
				return false
			}
		}
		return training(3, 0)(st)
	})
	t.Logf("all certificates are renewed %.1f s later", time.Since(began).Seconds())
	c.until("they make 20 steps", training(3, int(st.Step)+40))
}

// certificates are those of the coordinator and the workers, by the names of the hosts.
func (c *hostCluster) certificates() map[string]*x509.Certificate {
	c.t.Helper()
	all := make(map[string]*x509.Certificate)
	dirs := map[string]string{"coordinator": filepath.Join(c.dir, "credentials")}
	for _, h := range c.hosts {
		dirs[h.Name] = c.credentials(h)
	}
	for name, dir := range dirs {
		own, err := trust.OpenCredentials(dir)
		if err != nil {
			c.t.Fatal(err)
		}
		all[name] = own.Certificate()
	}
	return all
}

// authority is the CA that signs.
func (c *hostCluster) authority() *x509.Certificate {
	c.t.Helper()
	a, err := trust.OpenAuthority(c.t.Context(), filepath.Join(c.dir, "ca"))
	if err != nil {
		c.t.Fatal(err)
	}
	bundle, err := a.Bundle(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	return bundle[0]
}

// revoke revokes the last worker.
func revoke(t *testing.T, c *hostCluster) {
	t.Helper()
	own, err := trust.OpenCredentials(c.credentials(c.hosts[len(c.hosts)-1]))
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	c.run("certs", "revoke", own.Identity().Subject(), "--ca", filepath.Join(c.dir, "ca"))
	st := c.until("two go on without the revoked one", training(2, 0))
	t.Logf("two train %.1f s after the revocation", time.Since(began).Seconds())
	c.until("they make 20 steps", training(2, int(st.Step)+20))
}

// parameters are pieces of the last checkpoint, of 32 bytes each.
func parameters(t *testing.T, dir string) (pieces [][]byte) {
	t.Helper()
	store, err := checkpoint.Open(coordinator.CheckpointPath(dir), true)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	_, encoded, err := store.Read("latest")
	if err != nil {
		t.Fatal(err)
	}
	const number, size = 100, 32
	for i := range number {
		at := len(encoded) / 2 * i / number // the second half has the optimizer's moments
		pieces = append(pieces, encoded[at:at+size])
	}
	return pieces
}

// encodedZeros counts runs of 64 zero bytes, which encrypted bytes do not have.
func encodedZeros(b []byte) int { return bytes.Count(b, make([]byte, 64)) }

// refuseWithoutCertificate connects by TLS, without a certificate, to every port of a cluster.
// The one that lets processes join speaks with it. All others end the handshake.
func refuseWithoutCertificate(t *testing.T, c *hostCluster) {
	t.Helper()
	ports := c.ports()
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
	if hostport.IsLoopback(ports["control"]) {
		t.Errorf("the control service is at %s", ports["control"])
	}
}

// ports are the addresses at which a cluster serves TLS.
func (c *hostCluster) ports() map[string]string {
	c.t.Helper()
	at, err := coordinator.ReadAddresses(c.dir)
	if err != nil {
		c.t.Fatal(err)
	}
	st, ok := c.status()
	if !ok {
		c.t.Fatal("no status")
	}
	jobs, err := url.Parse(at.NATS)
	if err != nil {
		c.t.Fatal(err)
	}
	ports := map[string]string{"control": at.Control, "join": at.Join, "jobs": jobs.Host}
	for _, w := range st.Workers {
		ports["data port of "+string(w.ID)] = w.Addr
	}
	return ports
}

// verifyWithOpenSSL has OpenSSL, another implementation, connect to every port, with the
// certificate of a worker, and verify who serves there.
func verifyWithOpenSSL(t *testing.T, c *hostCluster) {
	t.Helper()
	program, err := exec.LookPath("openssl")
	if err != nil {
		t.Log("no openssl")
		return
	}
	own := c.credentials(c.hosts[1])
	file := func(name string) string { return filepath.Join(own, name) }
	for name, address := range c.ports() {
		s := c.hosts[1].Command(t.Context(), program, "s_client", "-connect", address, "-tls1_3", "-alpn", "h2", "-x509_strict", "-verify_return_error",
			"-CAfile", file("ca.pem"), "-cert", file("cert.pem"), "-key", file("key.pem"))
		said, err := s.CombinedOutput() // its input ends at once
		if err != nil || !bytes.Contains(said, []byte("Verification: OK")) || !bytes.Contains(said, []byte("TLSv1.3")) {
			t.Errorf("openssl s_client, %s at %s: %v\n%s", name, address, err, said)
		}
	}
	for _, purpose := range []string{"sslserver", "sslclient"} {
		said, err := exec.CommandContext(t.Context(), program, "verify", "-x509_strict", "-purpose", purpose, "-CAfile", file("ca.pem"),
			file("cert.pem"), filepath.Join(c.dir, "credentials", "cert.pem")).CombinedOutput()
		if err != nil {
			t.Errorf("openssl verify: %v\n%s", err, said)
		}
	}
}
