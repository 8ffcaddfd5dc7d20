package trainer_test

import (
	"testing"

	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/compute/backend/backendtest"
	"github.com/ergoflow/ergoflow/model/network/deeponet"
	"github.com/ergoflow/ergoflow/model/training/trainer"
)

// On a device with its own memory a long sum has an array for each bucket, with the
// same numbers.
func TestBuckets(t *testing.T) {
	c := config(1)
	model := c.Model.(deeponet.Config)
	model.TrunkWidth = 1500
	c.Model = model
	first, second := noise(0, 2, samples, model), noise(2, 2, samples, model)
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		whole, theta := newTrainer(t, b, c)
		want := total(t, whole, first, second)
		if got := len(whole.Arrays(want)); got != 1 && !b.OwnMemory {
			t.Errorf("%d arrays on a device without its own memory", got)
		}

		device := *b
		device.OwnMemory = true
		cut, _ := newTrainer(t, &device, c)
		got := total(t, cut, first, second)
		buckets, arrays := trainer.Buckets(got), cut.Arrays(got)
		if longest := trainer.LongestBucket(len(got)); longest != max(len(buckets[0]), len(buckets[1]), len(buckets[2])) {
			t.Errorf("the longest bucket has %d numbers", longest)
		}
		if len(buckets) != 3 || len(arrays) != 3 {
			t.Fatalf("%d parameters are in %d buckets and %d arrays", len(theta), len(buckets), len(arrays))
		}
		for k, array := range arrays {
			if &array[0] != &buckets[k][0] || len(array) != len(buckets[k]) || len(trainer.Buckets(array)) != 1 {
				t.Errorf("array %d is not bucket %d", k, k)
			}
		}
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("number %d of the sum is %v in buckets, %v without", i, got[i], want[i])
			}
		}
		if err := cut.DownloadArray(arrays[1], 1); err != nil || arrays[1][0] != 0 {
			t.Errorf("the next sum begins with %v (%v)", arrays[1][0], err)
		}
	})
}
