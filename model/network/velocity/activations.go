package velocity

// Activations counts the numbers that the layers' outputs hold in the forward pass of a batch
// with that many functions, and samples of each.
func Activations(layers []Layer, functions, samples int) int {
	total := 0
	for _, layer := range layers {
		size := functions
		if layer.Per == PerSample {
			size *= samples
		}
		for _, n := range layer.Output {
			size *= n
		}
		total += size
	}
	return total
}
