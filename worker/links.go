package worker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/gossip"
	"github.com/ergoflow/ergoflow/coordinator/message"
	"github.com/ergoflow/ergoflow/worker/peer"
)

// mostRates bounds the workers from which a worker measures what comes: a burst of 4 MiB from each
// would be 4 GiB with the largest world.
const mostRates = 64

// rates are bytes a second that come from other workers on other hosts. A worker measures them while
// it does not train: between its start and its first generation. A member that trains measures
// nothing, and answers who comes later. Nor does one whose generation has ended: a burst would hold
// up the state that the next generation waits for.
type rates struct {
	mu sync.Mutex
	of map[ergoflow.WorkerID]float64 // 0: it could not be measured
}

// get is the rate from a worker; 0: unknown.
func (r *rates) get(id ergoflow.WorkerID) float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.of[id]
}

// unknown are those of the others that come next, from the one after own on, so that not all workers
// begin with the same one. It forgets those that have gone.
func (r *rates) unknown(own ergoflow.WorkerID, others []message.Member) (next []message.Member) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of == nil {
		r.of = make(map[ergoflow.WorkerID]float64)
	}
	known := make(map[ergoflow.WorkerID]float64)
	for _, m := range others {
		if rate, ok := r.of[m.ID]; ok {
			known[m.ID] = rate
		} else {
			next = append(next, m)
		}
	}
	r.of = known
	slices.SortFunc(next, func(a, b message.Member) int { return strings.Compare(string(a.ID), string(b.ID)) })
	after := slices.IndexFunc(next, func(m message.Member) bool { return m.ID > own })
	if after > 0 {
		next = slices.Concat(next[after:], next[:after])
	}
	return next[:max(0, min(len(next), mostRates-len(known)))]
}

func (r *rates) set(id ergoflow.WorkerID, rate float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.of[id] = rate
}

// summary is how many have been measured, and the least and the largest rate.
func (r *rates) summary() (known int, least, most float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, rate := range r.of {
		if rate == 0 {
			continue
		}
		if known++; known == 1 {
			least = rate
		}
		least, most = min(least, rate), max(most, rate)
	}
	return known, least, most
}

// measureLinks measures what comes from workers that it has not measured, one after the other, as
// long as this worker does not train.
func (w *worker) measureLinks(ctx context.Context) error {
	own, _, _ := net.SplitHostPort(w.address)
	elsewhere := slices.DeleteFunc(w.others(), func(m message.Member) bool {
		host, _, _ := net.SplitHostPort(m.DataAddress)
		return host == own
	})
	next := w.rates.unknown(w.id, elsewhere)
	for _, m := range next {
		if w.trains() {
			return nil
		}
		rate, err := peer.MeasureRate(ctx, w.rings, m)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, peer.ErrBusy):
			continue // the next second
		case err != nil:
			w.log.Debug("a link is not measured", "from", m.ID, "error", err)
		}
		w.rates.set(m.ID, rate)
	}
	if len(next) > 0 {
		known, least, most := w.rates.summary()
		w.log.Info("measured what other workers can send to this one", "workers", known,
			"least", fmt.Sprintf("%.3g MB/s", least/1e6), "most", fmt.Sprintf("%.3g MB/s", most/1e6))
	}
	return nil
}

// trains reports whether the worker is a member of a generation, or was and holds its state.
func (w *worker) trains() bool {
	if r := w.replica.Load(); r != nil {
		if _, hasState := r.Mark(); hasState {
			return true
		}
	}
	s := w.current.Load()
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rank != nil
}

// links to other workers, by which the coordinator orders the ring.
func (w *worker) links() (list []message.Link) {
	members := w.gossip.Load()
	if members == nil {
		return nil
	}
	latency := make(map[string]float64)
	for _, m := range members.Latencies() {
		latency[m.Name] = m.Latency.Seconds()
	}
	for _, m := range members.Members() {
		if m.Meta.Role != gossip.RoleWorker {
			continue
		}
		one := message.Link{Peer: ergoflow.WorkerID(m.Name), Latency: -1, Rate: w.rates.get(ergoflow.WorkerID(m.Name))}
		if seconds, ok := latency[m.Name]; ok {
			one.Latency = seconds
		}
		if one.Latency >= 0 || one.Rate > 0 {
			list = append(list, one)
		}
	}
	return list
}
