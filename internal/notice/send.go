package notice

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// Delivery is what became of one notice.
type Delivery struct {
	Target   string  `json:"target"` // kind and host, or path; without secrets
	Event    string  `json:"event"`  // started, or the decision
	Attempts int     `json:"attempts"`
	Seconds  float64 `json:"seconds"`
	Error    string  `json:"error,omitempty"` // of the last attempt; empty: delivered
	Note     string  `json:"note,omitempty"`  // what is worth knowing though it was delivered
}

// MaxTime bounds Send, whatever the receivers do.
const MaxTime = 30 * time.Second

// Send tells all that the configuration names, at the same time, and returns when each has
// answered or was given up. Where the end of a retraining is told after a signal, ctx must not
// be the one that the signal ended (context.WithoutCancel).
func Send(ctx context.Context, c Config, e Event) []Delivery {
	transport := &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DisableKeepAlives:      true, // nothing stays open
		MaxResponseHeaderBytes: 64 << 10,
	}
	return send(ctx, transport, c, e)
}

func send(ctx context.Context, transport http.RoundTripper, c Config, e Event) []Delivery {
	ctx, cancel := context.WithTimeout(ctx, MaxTime)
	defer cancel()
	notices := c.notices(newPoster(transport), e)
	deliveries := make([]Delivery, len(notices))
	var all sync.WaitGroup
	for i, n := range notices {
		all.Go(func() {
			begun := time.Now()
			d := Delivery{Target: n.target, Event: e.kind()}
			if err := n.deliver(ctx, &d); err != nil {
				d.Error = err.Error()
			}
			d.Seconds = time.Since(begun).Seconds()
			deliveries[i] = d
		})
	}
	all.Wait()
	return deliveries
}

// notice is one that is due. deliver counts attempts in the delivery.
type notice struct {
	target  string
	deliver func(context.Context, *Delivery) error
}

// notices are those of an event.
func (c Config) notices(p *poster, e Event) (due []notice) {
	add := func(target string, deliver func(context.Context, *Delivery) error) {
		due = append(due, notice{target, deliver})
	}
	for _, w := range c.Webhooks {
		if !e.begins() && w.wants(e.Decision) {
			add("webhook "+host(w.URL), func(ctx context.Context, d *Delivery) error { return w.send(ctx, p, e, d) })
		}
	}
	if c.Ping != "" && e.Decision != skipped {
		add("ping "+host(c.Ping), func(ctx context.Context, d *Delivery) error { return ping(ctx, p, c.Ping, e, d) })
	}
	if c.Textfile != "" && e.Decision != skipped {
		add("textfile "+c.Textfile, func(_ context.Context, d *Delivery) error { return writeTextfile(c.Textfile, e, d) })
	}
	if c.NATS.URL != "" {
		add("nats "+host(c.NATS.URL), func(ctx context.Context, d *Delivery) error { return c.NATS.publish(ctx, e, d) })
	}
	return due
}
