package upkeep

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// Each error is reported once, and its end. What ctx has ended is no error.
func TestEvery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := errors.New("first"), errors.New("second")
		outcomes := []error{nil, first, errors.New("first"), second, nil, nil, first}
		var reported []error
		ctx, cancel := context.WithCancel(t.Context())
		begin, calls := time.Now(), 0
		Every(ctx, time.Second, func(context.Context) error {
			calls++
			if calls > len(outcomes) {
				cancel()
				return second
			}
			return outcomes[calls-1]
		}, func(err error) { reported = append(reported, err) })
		if want := []error{first, second, nil, first}; !slices.Equal(reported, want) {
			t.Errorf("reported %v, want %v", reported, want)
		}
		if took := time.Since(begin); took != time.Duration(len(outcomes)+1)*time.Second {
			t.Errorf("%d calls in %v", calls, took)
		}
	})
}
