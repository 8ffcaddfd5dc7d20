package simulate

import "golang.org/x/sys/cpu"

// vectorEngines are those of this processor, widest first.
func vectorEngines() (engines []*Engine) {
	if cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX2 {
		engines = append(engines, &Engine{
			"avx512", fillAVX512, lineAVX512, planeAVX2,
			particlePairsAVX512, particleEnergiesAVX512, particleMoveAVX512, particleWeighAVX512,
		})
	}
	if cpu.X86.HasAVX2 {
		engines = append(engines, &Engine{
			"avx2", fillAVX2, lineAVX2, planeAVX2,
			particlePairsAVX2, particleEnergiesAVX2, particleMoveAVX2, particleWeighAVX2,
		})
	}
	return engines
}

// The kernels are in assembly because the compiler gives vectors 15 of the 32 registers and
// spills the rest across cache lines: with simd/archsimd, normals took 3.5 times as long and
// whole simulations 2.5 times. The kernels of the normals return a bit for each lane that
// meets a tail. They leave that lane's generator as it was, for fillTails. The kernels of the
// table report whether all states of that many vectors end within the bound, and may write
// to all lanes.

//go:noescape
func cubicsAVX512(n *normals, first int, c *inverseTable) (tails uint32)

//go:noescape
func cubicsAVX2(n *normals, first int, c *inverseTable) (tails uint32)

//go:noescape
func columnsAVX512(t *table, cells *columns, x *states[float32], z *float32, steps, vectors int) (inside bool)

//go:noescape
func rowsAVX2(t *table, cells *cell, x *states[float32], z *float32, steps, vectors int) (inside bool)

// inverseTable is inverse for kernels. Vector permutations take an index modulo 32, so
// segment i is at (i + firstHalf) mod 32: the half-octave's number is its index.
type inverseTable struct {
	columns [4][segments]float32 // by power, as two vectors each
	rows    [segments][4]float32
}

// inverses is allocated because that aligns it with cache lines.
var inverses = func() *inverseTable {
	t := new(inverseTable)
	for i, c := range inverse {
		at := (i + firstHalf) & segmentMask
		t.rows[at] = c
		for p, v := range c {
			t.columns[p][at] = v
		}
	}
	return t
}()

// fillAVX512 leaves lanes that meet a tail, one in 4,096, to the plain code.
func fillAVX512(n *normals, active int) {
	for first := 0; first < active; first += 16 {
		if tails := cubicsAVX512(n, first, inverses); tails != 0 {
			n.fillTails(first, tails)
		}
	}
}

func fillAVX2(n *normals, active int) {
	for first := 0; first < active; first += 8 {
		if tails := cubicsAVX2(n, first, inverses); tails != 0 {
			n.fillTails(first, tails)
		}
	}
}

func lineAVX512(t *table, x *states[float32], active int, z []float32) bool {
	if len(z) < lanes {
		return bounded(x[:active], t.limit)
	}
	if t.columns != nil {
		return columnsAVX512(t, t.columns, x, &z[0], len(z)/lanes, (active+15)/16)
	}
	return lineAVX2(t, x, active, z)
}

// lineAVX2 is limited by loads of rows, so wider vectors gain nothing.
func lineAVX2(t *table, x *states[float32], active int, z []float32) bool {
	if len(z) < lanes {
		return bounded(x[:active], t.limit)
	}
	return rowsAVX2(t, &t.cells[0], x, &z[0], len(z)/lanes, (active+7)/8)
}
