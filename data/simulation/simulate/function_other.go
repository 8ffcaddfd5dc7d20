//go:build !amd64

package simulate

// moveOn returns the plain step: there are kernels for amd64 alone.
func moveOn(string) func(f *functionStep, n int, z *[lanes]float32) {
	return (*functionStep).movePlain
}
