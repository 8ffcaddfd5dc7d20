package metrics

// monotoneDuals are potentials (f, g) of exact optimal transport between two
// sorted samples on the line with cost ½|x−y|²: f_i + g_j ≤ ½|x_i − y_j|², with
// equality on the support of the monotone coupling. That support is a staircase,
// and the equalities along it determine the potentials. Where both samples advance
// at once (always, for equal sizes) an interval of values solves them; this takes
// its middle,
//
//	f_{i+1} − f_i = (x_{i+1} − x_i)(x̄ − ȳ),   x̄, ȳ the means of the two neighbours,
//
// which is f′ = x − T(x) by the trapezoidal rule.
func monotoneDuals(x, y []float64) (f, g []float64) {
	n, m := len(x), len(y)
	f, g = make([]float64, n), make([]float64, m)
	cost := func(i, j int) float64 { d := x[i] - y[j]; return 0.5 * d * d }
	f[0] = 0.5 * cost(0, 0)
	g[0] = cost(0, 0) - f[0]
	for i, j := 0, 0; i < n-1 || j < m-1; {
		// Position (i+1)/n against (j+1)/m, exactly.
		switch a, b := (i+1)*m, (j+1)*n; {
		case a < b:
			i++
			f[i] = cost(i, j) - g[j]
		case b < a:
			j++
			g[j] = cost(i, j) - f[i]
		default:
			f[i+1] = f[i] + (x[i+1]-x[i])*(0.5*(x[i]+x[i+1])-0.5*(y[j]+y[j+1]))
			i, j = i+1, j+1
			g[j] = cost(i, j) - f[i]
		}
	}
	return f, g
}
