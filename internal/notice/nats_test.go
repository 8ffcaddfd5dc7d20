package notice

import (
	"context"
	"encoding/json"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

func TestNATS(t *testing.T) {
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true, Username: "u", Password: "hidden"})
	if err != nil {
		t.Fatal(err)
	}
	go s.Start()
	defer s.WaitForShutdown()
	defer s.Shutdown()
	if !s.ReadyForConnections(20 * time.Second) {
		t.Fatal("no server")
	}
	url := "nats://u:hidden@" + s.Addr().String()
	conn, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	events, err := conn.SubscribeSync("ergoflow.retrain.>")
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Flush(); err != nil {
		t.Fatal(err)
	}
	begin := Event{Name: "my model.v2 *>", Began: time.Unix(1.7e9, 0)}
	for _, test := range []struct {
		event   Event
		subject string
	}{{begin, "ergoflow.retrain.my_model_v2___.started"}, {promoted, "ergoflow.retrain.vn1d.promoted"}} {
		d := one(t, Send(t.Context(), Config{NATS: NATS{url}}, test.event))
		if d.Error != "" || d.Target != "nats nats://"+s.Addr().String() {
			t.Fatalf("%+v", d)
		}
		m, err := events.NextMsg(20 * time.Second)
		if err != nil {
			t.Fatal(err)
		}
		var body struct{ Type string }
		if err := json.Unmarshal(m.Data, &body); err != nil || m.Subject != test.subject || body.Type != "retrain."+test.event.kind() {
			t.Errorf("%s: %s (%v)", m.Subject, m.Data, err)
		}
	}
	d := one(t, Send(t.Context(), Config{NATS: NATS{"nats://u:hidden2@" + s.Addr().String()}}, promoted))
	if !strings.Contains(d.Error, "Authorization") || strings.Contains(d.Error+d.Target, "hidden") {
		t.Errorf("wrong password: %+v", d)
	}
}

// A server that accepts and says nothing is given up, at once if the context ends.
func TestNATSHangs(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	accepted := make(chan struct{})
	go func() {
		defer close(accepted)
		if conn, err := l.Accept(); err == nil {
			cancel()
			conn.Read(make([]byte, 1)) // until the client ends it
			conn.Close()
		}
	}()
	d := one(t, Send(ctx, Config{NATS: NATS{"nats://" + l.Addr().String()}}, promoted))
	if d.Error == "" {
		t.Errorf("%+v", d)
	}
	<-accepted
}
