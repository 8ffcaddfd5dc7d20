package reproduce

import (
	"os"
	"path/filepath"

	"github.com/ergoflow/ergoflow/model/evaluation/evaluate"
	"github.com/ergoflow/ergoflow/model/report/figures"
	"github.com/ergoflow/ergoflow/model/report/studies"
)

// figures are those of an evaluation's report, drawn again where its results suffice.
// The study's figures of costs and of distributions replace the evaluation's own.
func (o collection) figures(s studies.Study, stored *storedEvaluation) ([]Figure, error) {
	captions, err := figures.Captions(stored.Dir)
	if err != nil {
		return nil, err
	}
	var made []Figure
	add := func(d figures.Drawn) {
		if note := s.Figures[d.Name].Note; note != "" {
			d.Text += " " + note
		}
		made = append(made, Figure{d.Caption, s.Figures[d.Name].Paper, d.PNG, d.CSV})
	}
	for _, c := range captions {
		if c.Name == "costs" && len(s.Costs) > 0 {
			continue
		}
		d, err := o.figure(s, stored, c)
		if err != nil {
			return nil, err
		}
		add(d)
	}
	for _, c := range s.Costs {
		points := o.costs(s, c)
		if len(points) < 2 {
			continue
		}
		drawn, err := figures.DrawCosts(c.Name, points, c.Error)
		if err != nil {
			return nil, err
		}
		add(drawn)
	}
	return made, nil
}

// figure is one figure of an evaluation's report.
func (o collection) figure(s studies.Study, stored *storedEvaluation, c figures.Caption) (figures.Drawn, error) {
	if c.Name == "spread" && len(s.Spread) > 0 {
		return figures.DrawSpread(o.named(s, s.Spread), stored.Results.Distances()[0])
	}
	d, follows, err := figures.Redraw(&stored.Results, c.Name)
	if follows || err != nil {
		return d, err
	}
	d.Caption = c // its samples were not kept: copy the picture
	if d.PNG, err = os.ReadFile(filepath.Join(stored.Dir, c.Name+".png")); err != nil {
		return d, err
	}
	d.CSV, err = os.ReadFile(filepath.Join(stored.Dir, c.Name+".csv"))
	return d, err
}

// named are rows of the first seed, with the names that the study declares.
func (o collection) named(s studies.Study, rows []studies.RowSpec) []evaluate.Row {
	var all []evaluate.Row
	for _, row := range rows {
		if found := o.rows(s, row, row.Evaluation); len(found) > 0 {
			r := found[0].row
			r.Name = row.Name
			all = append(all, r)
		}
	}
	return all
}

// costs are the points of a figure of costs, for the first seed.
func (o collection) costs(s studies.Study, c studies.CostFigure) []figures.CostPoint {
	var points []figures.CostPoint
	for _, point := range c.Points {
		if found := o.rows(s, point.RowSpec, point.Evaluation); len(found) > 0 {
			for _, p := range figures.CostPoints([]evaluate.Row{found[0].row}, c.Error) { // none if its distance is not positive
				p.Series, p.Name = point.Series, point.Name
				points = append(points, p)
			}
		}
	}
	return points
}
