package serve

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// Two thousand clients at once all have an answer: samples, or the word to come back.
func TestTwoThousandClients(t *testing.T) {
	c := config()
	c.Models = One(Source{Name: "vn1d", Version: "1", Encoded: encoded(t, "vn1d", 1)})
	url, _, _ := serving(t, c)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2000}}
	defer client.CloseIdleConnections()
	var answered, refused atomic.Int64
	var group sync.WaitGroup
	for i := range 2000 {
		group.Go(func() {
			r, err := client.Post(url+"/v1/sample", "application/json", strings.NewReader(fmt.Sprintf(`{"function": 1, "n": 20, "seed": %d}`, i)))
			if err != nil {
				t.Error(err)
				return
			}
			defer r.Body.Close()
			_, _ = io.Copy(io.Discard, r.Body)
			switch r.StatusCode {
			case http.StatusOK:
				answered.Add(1)
			case http.StatusServiceUnavailable:
				if r.Header.Get("Retry-After") == "" {
					t.Error("a refusal does not say when to come back")
				}
				refused.Add(1)
			default:
				t.Errorf("status %d", r.StatusCode)
			}
		})
	}
	group.Wait()
	if answered.Load()+refused.Load() != 2000 || answered.Load() == 0 {
		t.Errorf("%d answered, %d refused", answered.Load(), refused.Load())
	}
}

// Clients that stop reading a large answer keep nobody from having theirs.
func TestClientsThatStopReading(t *testing.T) {
	c := config()
	c.Models = One(Source{Name: "vn1d", Version: "1", Encoded: encoded(t, "vn1d", 1)})
	url, s, _ := serving(t, c)
	const large = `{"function": 1, "n": 1000000, "solver": "euler-1"}`
	for range 4 {
		connection, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer connection.Close()
		fmt.Fprintf(connection, "POST /v1/sample HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(large), large)
		if line, err := bufio.NewReaderSize(connection, 16).ReadString('\n'); err != nil || !strings.Contains(line, "200") {
			t.Fatalf("the answer begins with %q, %v", line, err)
		}
	}
	r, err := http.Post(url+"/v1/sample", "application/json", strings.NewReader(`{"function": 1, "n": 1000}`))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		t.Errorf("beside them: status %d", r.StatusCode)
	}
	if s.gate.waiting.Load() != 0 {
		t.Errorf("%d requests wait", s.gate.waiting.Load())
	}
}
