package simulate

// The kernels of particles compute all sixteen lanes, or eight with AVX2. Pairs need
// first < end ≤ to and from < to; count is at least 1. AVX-512 also reads the positions of up
// to two particles behind to; in swarm the forces follow the positions, so it may.

//go:noescape
func pairsAVX512(t *pairTable, f, x *float32, first, end, from, to int)

//go:noescape
func pairsAVX2(t *pairTable, f, x *float32, first, end, from, to int)

//go:noescape
func energiesAVX512(t *pairTable, f, x *float32, first, end, from, to int, u *float32)

//go:noescape
func energiesAVX2(t *pairTable, f, x *float32, first, end, from, to int, u *float32)

//go:noescape
func weighAVX512(t *pairTable, y, fy, fx, x, w *float32, count int)

//go:noescape
func weighAVX2(t *pairTable, y, fy, fx, x, w *float32, count int)

//go:noescape
func moveAVX512(t *pairTable, next, f, x, z *float32, count int) (inside bool)

//go:noescape
func moveAVX2(t *pairTable, next, f, x, z, noise *float32, count int) (inside bool)

func particlePairsAVX512(t *pairTable, f, x []vector, _, first, end, from, to int) {
	pairsAVX512(t, &f[0][0], &x[0][0], first, end, from, to)
}

func particlePairsAVX2(t *pairTable, f, x []vector, active, first, end, from, to int) {
	for l := 0; l < active; l += 8 {
		pairsAVX2(t, &f[0][l], &x[0][l], first, end, from, to)
	}
}

func particleEnergiesAVX512(t *pairTable, u, f, x []vector, _, first, end, from, to int) {
	energiesAVX512(t, &f[0][0], &x[0][0], first, end, from, to, &u[0][0])
}

func particleEnergiesAVX2(t *pairTable, u, f, x []vector, active, first, end, from, to int) {
	for l := 0; l < active; l += 8 {
		energiesAVX2(t, &f[0][l], &x[0][l], first, end, from, to, &u[0][l])
	}
}

func particleWeighAVX512(t *pairTable, w *vector, y, g, f, x []vector, _ int) {
	weighAVX512(t, &y[0][0], &g[0][0], &f[0][0], &x[0][0], &w[0], len(x))
}

func particleWeighAVX2(t *pairTable, w *vector, y, g, f, x []vector, active int) {
	for l := 0; l < active; l += 8 {
		weighAVX2(t, &y[0][l], &g[0][l], &f[0][l], &x[0][l], &w[l], len(x))
	}
}

func particleMoveAVX512(t *pairTable, next, f, x []vector, _ int, z []float32) bool {
	return moveAVX512(t, &next[0][0], &f[0][0], &x[0][0], &z[0], len(next))
}

func particleMoveAVX2(t *pairTable, next, f, x []vector, active int, z []float32) bool {
	inside := true
	for l := 0; l < active; l += 8 {
		inside = moveAVX2(t, &next[0][l], &f[0][l], &x[0][l], &z[l], &t.noise[l], len(next)) && inside
	}
	return inside
}
