package train_test

import (
	"testing"

	"github.com/ergoflow/ergoflow/model/backend"
	"github.com/ergoflow/ergoflow/model/backend/backendtest"
	"github.com/ergoflow/ergoflow/model/deeponet"
)

// On a device with its own memory a long sum leaves in buckets, which hold the same
// numbers.
func TestBuckets(t *testing.T) {
	c := config(1)
	model := c.Model.(deeponet.Config)
	model.TrunkWidth = 1500
	c.Model = model
	first, second := noise(0, 2, samples, model), noise(2, 2, samples, model)
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		whole, theta := newTrainer(t, b, c)
		want := total(t, whole, first, second)
		if got := len(whole.Buckets(want)); got != 1 {
			t.Errorf("%d buckets on a device without its own memory", got)
		}

		device := *b
		device.OwnMemory = true
		cut, _ := newTrainer(t, &device, c)
		got := total(t, cut, first, second)
		buckets := cut.Buckets(got)
		if len(buckets) != 3 {
			t.Errorf("%d parameters are in %d buckets", len(theta), len(buckets))
		}
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("number %d of the sum is %v in buckets, %v without", i, got[i], want[i])
			}
		}
		if err := cut.TakeBucket(buckets[1], 1); err != nil || buckets[1][0] != 0 {
			t.Errorf("the next sum begins with %v (%v)", buckets[1][0], err)
		}
	})
}
