package trainer

import (
	"errors"

	"github.com/ergoflow/ergoflow/model/compute/backend"
)

// The sum [P+2] goes round the ring in buckets, consecutive parts of it. They
// depend on its size alone, since all ranks have to cut alike, whatever computes
// there. Where a device has its own memory, each is an array there, so that one can
// be copied to the host while the one before it goes round the ring. Elsewhere
// there is little to copy, and the sum is one array.

// bucketFloats is the most that a bucket has, 4 MiB: docs/decisions/allreduce.md.
const bucketFloats = 1 << 20

// Buckets cuts a vector [P+2] into parts of nearly one size.
func Buckets(sum []float32) [][]float32 {
	return cut(sum, bounds(len(sum), bucketsOf(len(sum))))
}

func bucketsOf(size int) int { return (size + bucketFloats - 1) / bucketFloats }

// arrayBounds are where the arrays of a sum of that size begin, and its end.
func arrayBounds(b *backend.Backend, size int) []int {
	if b.OwnMemory {
		return bounds(size, bucketsOf(size))
	}
	return bounds(size, 1)
}

func bounds(size, n int) []int {
	bounds := make([]int, n+1)
	for k := range bounds {
		bounds[k] = size * k / n
	}
	return bounds
}

func cut(sum []float32, bounds []int) [][]float32 {
	parts := make([][]float32, len(bounds)-1)
	for k := range parts {
		parts[k] = sum[bounds[k]:bounds[k+1]]
	}
	return parts
}

// Arrays cuts a vector [P+2] where the sum on the device is cut.
func (t *Trainer) Arrays(sum []float32) [][]float32 { return cut(sum, t.bounds) }

// DownloadArray copies array k of the sum to the host. The sum stays until Reset.
func (t *Trainer) DownloadArray(dst []float32, k int) error {
	return backend.Download(dst, t.accumulated()[k])
}

// TakeSum copies the sum [P+2] since the last Reset to the host and starts a new one.
func (t *Trainer) TakeSum(dst []float32) error {
	if len(dst) != t.size+2 {
		return errors.New("take: destination is not as long as the sum")
	}
	for k, array := range t.Arrays(dst) {
		if err := t.DownloadArray(array, k); err != nil {
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

// accumulated are the arrays of the sum so far.
func (t *Trainer) accumulated() []backend.Buffer {
	if t.sum == nil {
		return t.zeros
	}
	return t.sum
}

// newZeros are the arrays of an empty sum.
func (t *Trainer) newZeros() ([]backend.Buffer, error) {
	var zeros []backend.Buffer
	for _, array := range t.Arrays(make([]float32, t.size+2)) {
		buffer, err := t.backend.Upload(array, len(array))
		if err != nil {
			backend.Free(zeros...)
			return nil, err
		}
		zeros = append(zeros, buffer)
	}
	return zeros, nil
}
