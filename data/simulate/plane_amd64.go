package simulate

// Those of the plane are like those of the line.

//go:noescape
func bilinearAVX2(t *planeTable, cells *bilinear, x *states[float32], z *float32, steps, vectors int) (inside bool)

func planeAVX2(t *planeTable, x *states[float32], active int, z []float32) bool {
	if len(z) < 2*lanes {
		return bounded(x[:active], bound) && bounded(x[lanes:][:active], bound)
	}
	return bilinearAVX2(t, &t.cells[0], x, &z[0], len(z)/(2*lanes), (active+3)/4)
}
