package shard

import "fmt"

// State names coordinate k of the samples in a Normalisation. Networks then see the samples
// standardised: z_k = (x_k − mean)/std.
func State(k int) string { return fmt.Sprintf("state[%d]", k) }

// stateMoments is how many moments the samples have: one for each coordinate on the line, in the
// plane, and where coordinates are Distinct. Others are positions of identical particles and
// share them.
func (h Header) stateMoments() int {
	if h.Dim > 2 && !h.Distinct {
		return 1
	}
	return h.Dim
}

// addStates adds values of the samples, the first of which is number at of the tensor
// [F, N, d], to their moments.
func addStates(m []Moments, at int, values []float32) {
	for i, v := range values {
		x := float64(v)
		k := &m[(at+i)%len(m)]
		k.Count++
		k.Sum += x
		k.SumSq += x * x
	}
}

// states returns the moments of a training shard's samples, from its manifest. It reads the
// samples of a shard whose manifest is older than these moments.
func (d *Dir) states(m Manifest) ([]Moments, error) {
	if len(m.States) > 0 {
		return m.States, nil
	}
	s, err := d.Open(m.Dataset, m.Shard)
	if err != nil {
		return nil, err
	}
	return s.momentsOfStates(), s.Close()
}

func (s *Shard) momentsOfStates() []Moments {
	states := make([]Moments, s.manifest.stateMoments())
	for i := range s.manifest.Count {
		addStates(states, 0, s.Samples(i))
	}
	return states
}

// States has the mean and the standard deviation of the shard's own samples, as AddStates has those
// of training shards.
func (s *Shard) States() (Normalisation, error) {
	n := Normalisation{}
	return n, n.setStates(s.momentsOfStates(), s.manifest.Dim)
}

// AddStates adds the mean and the standard deviation of the samples to n, by coordinate, over
// the training shards of these manifests. In three and more dimensions all coordinates have
// the same two, unless they are Distinct.
func (n Normalisation) AddStates(d *Dir, manifests []Manifest) error {
	train, err := trainingShards(manifests)
	if err != nil {
		return err
	}
	total := make([]Moments, train[0].stateMoments())
	for _, m := range train {
		states, err := d.states(m)
		if err != nil {
			return fmt.Errorf("normalisation of the samples: %w", err)
		}
		for k, s := range states {
			total[k].Merge(s)
		}
	}
	return n.setStates(total, train[0].Dim)
}

// setStates sets the standards of dim coordinates, which may share moments.
func (n Normalisation) setStates(total []Moments, dim int) error {
	for k := range dim {
		s, err := total[k%len(total)].standard()
		if err != nil {
			return fmt.Errorf("normalisation of %s: %w", State(k), err)
		}
		n[State(k)] = s
	}
	return nil
}
