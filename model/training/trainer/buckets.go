package trainer

import (
	"fmt"

	"github.com/ergoflow/ergoflow/model/compute/backend"
)

// The sum [P+2] goes round the ring in buckets, which are consecutive parts of it.
// All ranks have to cut alike, whatever their devices, so the buckets depend on the
// size of the sum alone. On a device with its own memory each bucket is an array:
// one is copied to the host while the one before it goes round the ring. Elsewhere
// the sum is one array, since there is little to copy.

// bucketFloats is the largest size of a bucket, 4 MiB: see
// docs/decisions/allreduce.md.
const bucketFloats = 1 << 20

// Buckets cuts a vector [P+2] into parts of nearly equal size.
func Buckets(sum []float32) [][]float32 {
	return cut(sum, bounds(len(sum), bucketCount(len(sum))))
}

// LongestBucket is the length of the longest bucket of a vector of that size.
func LongestBucket(size int) int {
	if size == 0 {
		return 0
	}
	count := bucketCount(size)
	return (size + count - 1) / count
}

func bucketCount(size int) int { return (size + bucketFloats - 1) / bucketFloats }

// arrayBounds returns where the arrays of a sum of that size begin, then the size.
func arrayBounds(b *backend.Backend, size int) []int {
	if b.OwnMemory {
		return bounds(size, bucketCount(size))
	}
	return bounds(size, 1)
}

// bounds cuts size into n parts: part k is [bounds[k], bounds[k+1]).
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

// Arrays cuts a vector [P+2] into the arrays of the sum on the device.
func (t *Trainer) Arrays(sum []float32) [][]float32 { return cut(sum, t.bounds) }

// DownloadArray copies array k of the sum to the host. The sum stays until Reset.
func (t *Trainer) DownloadArray(dst []float32, k int) error {
	return backend.Download(dst, t.accumulated()[k])
}

// TakeSum copies the sum [P+2] since the last Reset to the host and starts a new one.
func (t *Trainer) TakeSum(dst []float32) error {
	if len(dst) != t.size+2 {
		return fmt.Errorf("take sum: destination has %d values, the sum %d", len(dst), t.size+2)
	}
	for k, array := range t.Arrays(dst) {
		if err := t.DownloadArray(array, k); err != nil {
			return err
		}
	}
	t.Reset()
	return nil
}

// Reset drops the sum and starts a new one.
func (t *Trainer) Reset() {
	backend.Free(t.sum...)
	t.sum = nil
}

// accumulated returns the arrays of the sum so far.
func (t *Trainer) accumulated() []backend.Buffer {
	if t.sum == nil {
		return t.zeros
	}
	return t.sum
}

// newZeros makes the arrays of an empty sum.
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
