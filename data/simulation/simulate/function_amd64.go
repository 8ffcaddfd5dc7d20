package simulate

// moveOn returns the step of an engine.
func moveOn(engine string) func(f *functionStep, n int, z *[lanes]float32) {
	switch engine {
	case "avx512":
		return func(f *functionStep, n int, z *[lanes]float32) { moveVectorsAVX512(f, z, (n+7)/8) }
	case "avx2":
		return func(f *functionStep, n int, z *[lanes]float32) { moveVectorsAVX2(f, z, (n+3)/4) }
	}
	return (*functionStep).movePlain
}

// moveVectorsAVX512 and moveVectorsAVX2 are movePlain for that many vectors.

//go:noescape
func moveVectorsAVX512(f *functionStep, z *[lanes]float32, vectors int)

//go:noescape
func moveVectorsAVX2(f *functionStep, z *[lanes]float32, vectors int)
