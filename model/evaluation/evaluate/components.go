package evaluate

import (
	"fmt"
	"strings"

	"github.com/ergoflow/ergoflow/data/equations/family"
)

// ComponentResult summarises a row over the functions of one component of a mixture.
type ComponentResult struct {
	Name      string    `json:"name"`
	Functions int       `json:"functions"`
	Sinkhorn  Statistic `json:"sinkhorn"`
	SlicedW2  Statistic `json:"sliced_w2,omitzero"` // more than one dimension
	W2        Statistic `json:"w2,omitzero"`        // one dimension
}

// byComponent summarises functions by their components, in the order of the definition. It leaves
// out components without any.
func byComponent(functions []FunctionResult, f family.Family) (all []ComponentResult) {
	m, ok := f.(family.Mixed)
	if !ok {
		return nil
	}
	for _, c := range m.Components() {
		var of Row
		for _, f := range functions {
			if f.Component == c.Name {
				of.Functions = append(of.Functions, f)
			}
		}
		if len(of.Functions) == 0 {
			continue
		}
		r := ComponentResult{Name: c.Name, Functions: len(of.Functions), Sinkhorn: describe(of.values(Sinkhorn), nil)}
		if f.Dim() == 1 {
			r.W2 = describe(of.values(W2), nil)
		} else {
			r.SlicedW2 = describe(of.values(SlicedW2), nil)
		}
		all = append(all, r)
	}
	return all
}

// componentOf is the component of a function; empty in a family that is no mixture.
func componentOf(f family.Family, seed uint64, i int) string {
	if m, ok := f.(family.Mixed); ok {
		return m.Components()[m.Component(seed, i)].Name
	}
	return ""
}

// shownComponents have columns of a table; JSON has all of them.
const shownComponents = 12

// addComponents adds the mean of the leading distance by component, for mixtures.
func (s *sectionList) addComponents() {
	if len(s.Rows) == 0 || len(s.Rows[0].Components) == 0 {
		return
	}
	var columns []string
	for _, c := range s.Rows[0].Components[:min(shownComponents, len(s.Rows[0].Components))] {
		columns = append(columns, fmt.Sprintf("%s (%d)", c.Name, c.Functions))
	}
	distance := "sliced W2"
	if s.Dim == 1 {
		distance = "W2"
	}
	s.add(distance+", mean by component (functions)", columns, func(row Row) []string {
		var cells []string
		for _, c := range row.Components[:len(columns)] {
			mean := c.SlicedW2.Mean
			if s.Dim == 1 {
				mean = c.W2.Mean
			}
			cells = append(cells, significant(mean))
		}
		return cells
	})
}

// describeFamily is a family as notes have it: a mixture by the names and weights of its components.
func describeFamily(name string) string {
	f, err := family.ByName(name)
	if err != nil {
		return name
	}
	m, ok := f.(family.Mixed)
	if !ok {
		return name
	}
	var parts []string
	for _, c := range m.Components() {
		parts = append(parts, fmt.Sprintf("%s (weight %g)", c.Name, c.Weight))
	}
	return fmt.Sprintf("%s, a mixture of %s", f.Name(), strings.Join(parts, ", "))
}

// familyNotes say that a family is a mixture, and that the network was trained on another one.
func (r *Results) familyNotes() (notes []string) {
	if len(r.Rows) > 0 && len(r.Rows[0].Components) > 0 {
		notes = append(notes, fmt.Sprintf("The family is %s.", describeFamily(r.Experiment.Data.Family)))
	}
	if r.TrainedOn != "" && r.TrainedOn != r.Experiment.Data.Family {
		notes = append(notes, fmt.Sprintf("The network was trained on another family, %s: these functions are of one that it has not seen.", describeFamily(r.TrainedOn)))
	}
	if s := r.Experiment.Training.Start; r.TrainedOn != "" && s != nil {
		notes = append(notes, fmt.Sprintf("The network began from run %.12s. A checkpoint does not say what that run learned from: check that it was not these functions.", s.Run))
	}
	return notes
}
