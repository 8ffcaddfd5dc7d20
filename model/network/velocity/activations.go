package velocity

// Activations counts the numbers that the layers' outputs hold in the forward pass of a batch
// with that many functions, at that many states of all of them.
func Activations(layers []Layer, functions, states int) int {
	total := 0
	for _, layer := range layers {
		size := layer.times(functions, states)
		for _, n := range layer.Output {
			size *= n
		}
		total += size
	}
	return total
}
