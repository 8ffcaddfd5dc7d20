package simulate

// The kernel of the plane is like those of the line. It takes whole vectors of four lanes.

//go:noescape
func bilinearAVX2(t *planeTable, cells *bilinear, x *states[float32], z *float32, steps, vectors int) (inside bool)

// planeAVX2 has no AVX-512 variant: with rows of 32 bytes for eight lanes in 512 bits a step
// took 8 % longer on Zen 4.
func planeAVX2(t *planeTable, x *states[float32], active int, z []float32) bool {
	if len(z) < 2*lanes {
		return bounded(x[:active], bound) && bounded(x[lanes:][:active], bound)
	}
	return bilinearAVX2(t, &t.cells[0], x, &z[0], len(z)/(2*lanes), (active+3)/4)
}
