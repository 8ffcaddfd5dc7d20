package optim

// Outer is the outer optimizer of training with local steps (DiLoCo, arXiv 2311.08105):
// SGD with Nesterov momentum, equal to PyTorch's torch.optim.SGD with nesterov, on the
// outer gradient −Δ, where Δ is the mean over the workers of what their own steps have
// added to the shared parameters:
//
//	u ← μu − Δ
//	θ ← θ − η(μu − Δ)
//
// with rate η and momentum μ. With η = 1 and μ = 0 the parameters become the mean of the
// workers' parameters.
type Outer struct {
	Rate     float64 // η
	Momentum float64 // μ
}

// Update changes parameters θ and velocity u, which begins at zero, by the mean change Δ.
// All have the same length. Every product is rounded to float32 before it is added, so
// that the result has the same bits on every processor.
func (o Outer) Update(theta, velocity, delta []float32) {
	rate, momentum := float32(o.Rate), float32(o.Momentum)
	for i, d := range delta {
		velocity[i] = float32(momentum*velocity[i]) - d
		theta[i] -= float32(rate * (float32(momentum*velocity[i]) - d))
	}
}
