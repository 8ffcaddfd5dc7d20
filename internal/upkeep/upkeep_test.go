package upkeep

import (
	"context"
	"errors"
	"slices"
	"strings"
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

// Each error is reported once. The last one is returned: it is final, or ctx has ended.
func TestUntil(t *testing.T) {
	first, second, ended := errors.New("first"), errors.New("second"), errors.New("ended")
	for name, c := range map[string]struct {
		outcomes []error // the last one stays
		final    error
		end      time.Duration // of ctx
		want     []error       // what Until fails with
		reported []error
		took     time.Duration
	}{
		"at once":            {[]error{nil}, nil, time.Hour, nil, nil, 0},
		"after errors":       {[]error{first, errors.New("first"), second, first, nil}, nil, time.Hour, nil, []error{first, second, first}, 4 * time.Second},
		"final":              {[]error{first, second}, second, time.Hour, []error{second}, []error{first}, time.Second},
		"ctx ends":           {[]error{first}, nil, 2500 * time.Millisecond, []error{ended, first}, []error{first}, 2500 * time.Millisecond},
		"ctx has ended":      {[]error{first}, nil, 0, []error{ended, first}, nil, 0},
		"it says what ended": {[]error{ended}, nil, 0, []error{ended}, nil, 0},
		"it works at last":   {[]error{nil}, nil, 0, nil, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeoutCause(t.Context(), c.end, ended)
				defer cancel()
				var reported []error
				begin, calls := time.Now(), 0
				err := Until(ctx, time.Second, func() (bool, error) {
					calls++
					err := c.outcomes[min(calls, len(c.outcomes))-1]
					return errors.Is(err, c.final), err
				}, func(err error) { reported = append(reported, err) })
				if (err == nil) != (c.want == nil) {
					t.Errorf("%v, want %v", err, c.want)
				}
				for _, want := range c.want {
					if !errors.Is(err, want) {
						t.Errorf("%v, which is not %v", err, want)
					}
				}
				if c.want != nil && strings.Count(err.Error(), c.want[0].Error()) != 1 {
					t.Errorf("%v: it says %v twice", err, c.want[0])
				}
				if !slices.Equal(reported, c.reported) {
					t.Errorf("reported %v, want %v", reported, c.reported)
				}
				if took := time.Since(begin); took != c.took {
					t.Errorf("%d calls in %v, want %v", calls, took, c.took)
				}
			})
		})
	}
}
