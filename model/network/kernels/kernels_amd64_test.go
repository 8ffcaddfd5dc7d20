package kernels

import "testing"

// each runs a test with every instruction set of this processor.
func each(t *testing.T, test func(t *testing.T)) {
	wide, narrow := hasAVX512, hasAVX2
	t.Cleanup(func() { hasAVX512, hasAVX2 = wide, narrow })
	for _, set := range []struct {
		name         string
		wide, narrow bool
	}{{"avx512", true, true}, {"avx2", false, true}, {"go", false, false}} {
		if set.wide && !wide || set.narrow && !narrow {
			continue
		}
		hasAVX512, hasAVX2 = set.wide, set.narrow
		t.Run(set.name, test)
	}
}
