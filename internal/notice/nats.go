package notice

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"

	"github.com/nats-io/nats.go"
)

const natsTime = 5 * time.Second // for the connection, and again for the answer

// publish puts the event onto its subject. It has arrived once the server has answered.
func (n NATS) publish(ctx context.Context, e Event, d *Delivery) error {
	body, err := e.message()
	if err != nil {
		return err
	}
	d.Attempts = 1
	conn, err := nats.Connect(n.URL, nats.Name("ergoflow"), nats.NoReconnect(), nats.Timeout(natsTime),
		nats.SkipHostLookup(), nats.SetCustomDialer(dialer{ctx})) // the dialer looks hosts up, bounded by the context
	if err != nil {
		if u := new(url.Error); errors.As(err, &u) {
			err = errors.New("it is no URL")
		}
		return fmt.Errorf("connect: %w", err)
	}
	defer conn.Close()
	if err := conn.Publish(e.subject(), body); err != nil {
		return fmt.Errorf("publish on %s: %w", e.subject(), err)
	}
	ctx, cancel := context.WithTimeout(ctx, natsTime)
	defer cancel()
	if err := conn.FlushWithContext(ctx); err != nil {
		return fmt.Errorf("publish on %s: %w", e.subject(), err)
	}
	if err := conn.LastError(); err != nil { // such as a permission that is missing
		return fmt.Errorf("publish on %s: %w", e.subject(), err)
	}
	return nil
}

// dialer connects as long as the context lives, and closes the connection with it.
type dialer struct{ ctx context.Context }

// Dial is for nats.CustomDialer.
func (d dialer) Dial(network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(d.ctx, natsTime)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &watched{conn, context.AfterFunc(d.ctx, func() { conn.Close() })}, nil
}

// watched ends the watch of its context when it is closed.
type watched struct {
	net.Conn
	stop func() bool
}

// Close closes the connection.
func (w *watched) Close() error {
	w.stop()
	return w.Conn.Close()
}
