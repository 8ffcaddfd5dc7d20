package train

import (
	"errors"

	"github.com/ergoflow/ergoflow/model/backend"
)

// The sum [P+2] is on the device in buckets, consecutive parts of it, each an array
// of its own. Where a device has its own memory, one can so be copied to the host
// while the one before it goes round the ring. Elsewhere there is little to copy,
// and one bucket makes for the fewest messages.

// bucketFloats is the size of a bucket, 4 MiB: docs/decisions/allreduce.md.
const bucketFloats = 1 << 20

// bucketBounds are where the buckets of a sum of that size begin, and its end.
func bucketBounds(b *backend.Backend, size int) []int {
	n := 1
	if b.OwnMemory {
		n = (size + bucketFloats - 1) / bucketFloats
	}
	bounds := make([]int, n+1)
	for k := range bounds {
		bounds[k] = size * k / n
	}
	return bounds
}

// Buckets cuts a vector [P+2] where the sum on the device is cut.
func (t *Trainer) Buckets(sum []float32) [][]float32 {
	buckets := make([][]float32, len(t.bounds)-1)
	for k := range buckets {
		buckets[k] = sum[t.bounds[k]:t.bounds[k+1]]
	}
	return buckets
}

// TakeBucket copies bucket k of the sum to the host. The sum stays until Reset.
func (t *Trainer) TakeBucket(dst []float32, k int) error {
	return backend.Download(dst, t.accumulated()[k])
}

// Take copies the sum [P+2] since the last Reset to the host and starts a new one.
func (t *Trainer) Take(dst []float32) error {
	if len(dst) != t.size+2 {
		return errors.New("take: destination is not as long as the sum")
	}
	for k, bucket := range t.Buckets(dst) {
		if err := t.TakeBucket(bucket, k); err != nil {
			return err
		}
	}
	t.Reset()
	return nil
}

// Reset drops the sum of the gradients so far.
func (t *Trainer) Reset() {
	backend.Free(t.sum...)
	t.sum = nil
}

// accumulated are the buckets of the sum so far.
func (t *Trainer) accumulated() []backend.Buffer {
	if t.sum == nil {
		return t.zeros
	}
	return t.sum
}

// newZeros are the buckets of an empty sum.
func (t *Trainer) newZeros() ([]backend.Buffer, error) {
	var zeros []backend.Buffer
	for _, bucket := range t.Buckets(make([]float32, t.size+2)) {
		buffer, err := t.backend.Upload(bucket, len(bucket))
		if err != nil {
			backend.Free(zeros...)
			return nil, err
		}
		zeros = append(zeros, buffer)
	}
	return zeros, nil
}
