package replica

import (
	"fmt"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/model/training/state"
)

const (
	maxSubscriptions = 8 // each sends every sum over the network once more
	// queueLength is how many updates a subscriber may be behind. One that is
	// further behind is too slow: its subscription ends.
	queueLength = 8
)

// ErrSubscriptions means that the replica has as many subscribers as it may have.
var ErrSubscriptions = fmt.Errorf("%d workers follow this one already", maxSubscriptions)

// Subscribe copies the training state and returns a channel that receives every
// later update. The channel is closed when the generation ends, the state is
// replaced, the subscriber is too slow, or Unsubscribe is called. Updates are
// shared: no subscriber changes one.
func (r *Replica) Subscribe() (*state.State, ergoflow.Generation, <-chan *Update, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.subscriptions) == maxSubscriptions {
		return nil, 0, nil, ErrSubscriptions
	}
	st, generation, err := r.copyState()
	if err != nil {
		return nil, 0, nil, err
	}
	if r.subscriptions == nil {
		r.subscriptions = make(map[<-chan *Update]chan<- *Update)
	}
	updates := make(chan *Update, queueLength)
	r.subscriptions[updates] = updates
	return st, generation, updates, nil
}

// Unsubscribe ends a subscription. One that has ended stays ended.
func (r *Replica) Unsubscribe(updates <-chan *Update) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unsubscribe(updates)
}

// unsubscribe is Unsubscribe; mu is held.
func (r *Replica) unsubscribe(updates <-chan *Update) {
	if queue, ok := r.subscriptions[updates]; ok {
		delete(r.subscriptions, updates)
		close(queue)
	}
}

// EndSubscriptions closes every subscriber's channel, behind the updates that are
// still in it. It is called when a generation ends.
func (r *Replica) EndSubscriptions() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.endSubscriptions()
}

// endSubscriptions is EndSubscriptions; mu is held.
func (r *Replica) endSubscriptions() {
	for updates := range r.subscriptions {
		r.unsubscribe(updates)
	}
}

// publish hands an update to all subscribers, and waits for none; mu is held.
func (r *Replica) publish(u Update) {
	if len(r.subscriptions) == 0 {
		return
	}
	shared := u.clone()
	for updates, queue := range r.subscriptions {
		select {
		case queue <- shared:
		default:
			r.unsubscribe(updates)
		}
	}
}
