package serve

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/ergoflow/ergoflow/internal/trust"
	"github.com/ergoflow/ergoflow/model/serve/oip"
)

// newAuthority is one that began two days ago.
func newAuthority(t *testing.T, name string) (*trust.Authority, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	a, err := trust.CreateAuthority(t.Context(), dir, "lab", time.Now().Add(-48*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return a, dir
}

// shown is a certificate of an hour, signed so long ago.
func shown(t *testing.T, a *trust.Authority, role trust.Role, name string, age time.Duration) tls.Certificate {
	t.Helper()
	pair, err := a.Issue(t.Context(), trust.Request{Role: role, Name: name, Life: time.Hour}, time.Now().Add(-age))
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{pair.Certificate.Raw}, PrivateKey: pair.Key}
}

// Certificates of operators and viewers of the cluster count as the token, over HTTP/1.1, HTTP/2
// and gRPC. Other certificates do not, and the answer says why. A right token counts with any
// certificate.
func TestClientCertificates(t *testing.T) {
	lab, dir := newAuthority(t, "lab")
	other, _ := newAuthority(t, "other")
	clients, err := trust.OpenClients(dir)
	if err != nil {
		t.Fatal(err)
	}
	c := config()
	c.Token, c.Clients = "0123456789abcdef", clients
	c.TLS = &tls.Config{Certificates: []tls.Certificate{shown(t, lab, trust.Coordinator, "server", 0)}, MinVersion: tls.VersionTLS13, NextProtos: []string{"h2", "http/1.1"}}
	c.Models = One(Source{Name: "vn1d", Version: "1", Encoded: encoded(t, "vn1d", 1)})
	url, _, _ := serving(t, c)
	address := strings.TrimPrefix(url, "http://")
	viewer := shown(t, lab, trust.Viewer, "ada", 0)
	for name, test := range map[string]struct {
		certificate *tls.Certificate
		token       string
		status      int
		says        string
	}{
		"viewer":               {&viewer, "", 200, ""},
		"operator":             {new(shown(t, lab, trust.Operator, "ben", 0)), "", 200, ""},
		"worker":               {new(shown(t, lab, trust.Worker, "gpu-1", 0)), "", 403, "wrong role"},
		"other authority":      {new(shown(t, other, trust.Viewer, "ada", 0)), "", 401, "no authority that this process trusts"},
		"expired":              {new(shown(t, lab, trust.Viewer, "old", 2*time.Hour)), "", 401, "expired"},
		"none":                 {nil, "", 401, "or show a certificate"},
		"token":                {nil, c.Token, 200, ""},
		"token and a worker's": {new(shown(t, lab, trust.Worker, "gpu-2", 0)), c.Token, 200, ""},
	} {
		// What the server asks for has its names alone, so a client with another shows none unless
		// it insists.
		shows := &tls.Config{InsecureSkipVerify: true}
		if test.certificate != nil {
			shows.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return test.certificate, nil }
		}
		for _, two := range []bool{false, true} {
			transport := &http.Transport{TLSClientConfig: shows.Clone(), ForceAttemptHTTP2: two}
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+"/v1/models", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			if test.token != "" {
				r.Header.Set("Authorization", "Bearer "+test.token)
			}
			answer, err := transport.RoundTrip(r)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			content, _ := io.ReadAll(answer.Body)
			answer.Body.Close()
			transport.CloseIdleConnections()
			if answer.StatusCode != test.status || !strings.Contains(string(content), test.says) || (answer.ProtoMajor == 2) != two {
				t.Errorf("%s: status %d by %s, want %d: %.300s", name, answer.StatusCode, answer.Proto, test.status, content)
			}
		}
		if test.token == "" {
			want := map[int]codes.Code{200: codes.OK, 401: codes.Unauthenticated, 403: codes.PermissionDenied}[test.status]
			if err := metadataOver(t.Context(), address, shows); status.Code(err) != want {
				t.Errorf("%s: gRPC says %v, want %v", name, err, want)
			}
		}
	}
	if err := lab.RevokeIdentity(t.Context(), trust.Identity{Cluster: "lab", Role: trust.Viewer, Name: "ada"}, time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := metadataOver(t.Context(), address, &tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{viewer}}); status.Code(err) != codes.Unauthenticated {
		t.Errorf("after it was revoked: %v", err)
	}
}

// metadataOver asks for the server's metadata by gRPC.
func metadataOver(ctx context.Context, address string, shows *tls.Config) error {
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(credentials.NewTLS(shows)))
	if err != nil {
		return err
	}
	defer connection.Close()
	_, err = oip.NewGRPCInferenceServiceClient(connection).ServerMetadata(ctx, &oip.ServerMetadataRequest{})
	return err
}

// The server names the authority that it asks for, so browsers offer no certificates of others.
func TestNamesItsAuthority(t *testing.T) {
	lab, dir := newAuthority(t, "lab")
	clients, err := trust.OpenClients(dir)
	if err != nil {
		t.Fatal(err)
	}
	bundle, err := lab.Bundle(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	asks, err := clients.Ask(&tls.Config{MinVersion: tls.VersionTLS13}).GetConfigForClient(nil)
	if err != nil {
		t.Fatal(err)
	}
	want := x509.NewCertPool()
	want.AddCert(bundle[0])
	if asks.ClientAuth != tls.RequestClientCert || !asks.ClientCAs.Equal(want) {
		t.Error(fmt.Sprint("the server asks for ", asks.ClientAuth))
	}
}
