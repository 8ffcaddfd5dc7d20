package density

// Moments are the mean and the variance of the law.
func (d *Density) Moments() (mean, variance float64) {
	centre := d.left.start + (d.right.start-d.left.start)/2
	var first, second float64
	add := func(mass, x float64) {
		first += mass * (x - centre)
		second += mass * square(x-centre)
	}
	for i := range d.intervals {
		in := &d.intervals[i]
		phases, sigmas := in.phases(in.width)
		for j, phi := range phases {
			add(in.width/2*weights[j]*d.weight(phi, sigmas[j]), in.start+in.width*(1+nodes[j])/2)
		}
	}
	// An exponential tail has the mean and the deviation 1/rate beyond its start.
	for _, t := range []struct {
		tail
		direction float64
	}{{d.left, -1}, {d.right, 1}} {
		add(t.mass(), t.start+t.direction/t.rate)
		second += t.mass() / square(t.rate)
	}
	return centre + first, second - first*first
}
