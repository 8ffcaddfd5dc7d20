package replica

import (
	"errors"
	"testing"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/data/sets/ledger"
)

// next is an update that fits.
func next(r *Replica) Update {
	u := Update{
		Step: r.Step(), Generation: 1, Workers: []ergoflow.WorkerID{"a", "b"},
		Used: ledger.NewRecord(r.plan.Shards), Sum: make([]float32, r.Size()+2),
	}
	u.Sum[len(u.Sum)-1] = 8 // samples
	return u
}

// advance applies one update.
func advance(t *testing.T, r *Replica) {
	t.Helper()
	if _, _, err := r.Apply(next(r)); err != nil {
		t.Fatal(err)
	}
}

// An update that is not the next changes nothing, and no subscriber hears of it.
func TestApplyRefusesOtherUpdates(t *testing.T) {
	r := trainable(t)
	advance(t, r)
	_, _, updates, err := r.Subscribe()
	if err != nil {
		t.Fatal(err)
	}
	before, hash, err := r.Fingerprint()
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Update){
		"too early":         func(u *Update) { u.Step-- },
		"too late":          func(u *Update) { u.Step++ },
		"after the run":     func(u *Update) { u.Step = r.plan.Steps },
		"of too few shards": func(u *Update) { u.Used = u.Used[2:] },
		"of no workers":     func(u *Update) { u.Workers = nil },
		"of a short sum":    func(u *Update) { u.Sum = u.Sum[1:] },
		"of no samples":     func(u *Update) { u.Sum[len(u.Sum)-1] = 0 },
	} {
		u := next(r)
		change(&u)
		if _, _, err := r.Apply(u); err == nil {
			t.Errorf("an update %s was applied", name)
		}
	}
	if after, changed, err := r.Fingerprint(); err != nil || after != before || changed != hash {
		t.Errorf("the state went from %s to %s, error %v", before, after, err)
	}
	if len(updates) != 0 {
		t.Errorf("%d refused updates were published", len(updates))
	}
}

// Without a state there is nothing to copy, describe or update.
func TestNoState(t *testing.T) {
	r := trainable(t)
	r.hasState = false
	_, _, stateErr := r.State()
	_, _, fingerprintErr := r.Fingerprint()
	_, _, _, subscribeErr := r.Subscribe()
	_, _, applyErr := r.Apply(next(r))
	for _, err := range []error{stateErr, fingerprintErr, subscribeErr, applyErr} {
		if !errors.Is(err, ErrNoState) {
			t.Errorf("error %v, want ErrNoState", err)
		}
	}
}

// A subscriber that is too slow loses its subscription, and the others lose nothing.
func TestSlowSubscriber(t *testing.T) {
	leader := trainable(t)
	_, _, slow, err := leader.Subscribe()
	if err != nil {
		t.Fatal(err)
	}
	_, _, quick, err := leader.Subscribe()
	if err != nil {
		t.Fatal(err)
	}
	for range queueLength + 1 {
		advance(t, leader)
		<-quick
	}
	for i := range queueLength {
		if u := <-slow; u.Step != ergoflow.Step(i) {
			t.Errorf("update %d is of step %d", i, u.Step)
		}
	}
	if u, ok := <-slow; ok {
		t.Errorf("got step %d after the queue was full", u.Step)
	}
	for range maxSubscriptions - 1 {
		if _, _, _, err := leader.Subscribe(); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, _, err := leader.Subscribe(); !errors.Is(err, ErrSubscriptions) {
		t.Error("one too many")
	}
	leader.EndSubscriptions()
	if _, ok := <-quick; ok || len(leader.subscriptions) != 0 {
		t.Error("a subscription is left")
	}
}
