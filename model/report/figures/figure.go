// Package figures draws the figures of an evaluation, each with the numbers behind it
// as CSV: training loss, samples, distributions of distances over functions, error
// against cost. Of lists those that a report has; Redraw draws one again from stored
// results.
package figures

import (
	"bytes"
	"fmt"
	"image/png"
	"io"

	"github.com/ergoflow/ergoflow/model/evaluation/evaluate"
)

// Figure is a picture to draw, with the data behind it.
type Figure struct {
	name    string
	caption string
	draw    func(io.Writer) error
	data    func(io.Writer) error
}

// Drawn is a figure as files.
type Drawn struct {
	Caption
	PNG, CSV []byte
}

// Redraw draws the figure of a report by its name. follows is false where the results
// alone do not suffice.
func Redraw(r *evaluate.Results, name string) (d Drawn, follows bool, err error) {
	for _, f := range resultFigures(r) {
		if f.name == name {
			d, err = f.Draw()
			return d, true, err
		}
	}
	return Drawn{}, false, nil
}

// pixelsPerPoint scales figures on a page.
const pixelsPerPoint = 1.9

func (f Figure) Draw() (Drawn, error) {
	var picture, data bytes.Buffer
	if err := f.draw(&picture); err != nil {
		return Drawn{}, err
	}
	if err := f.data(&data); err != nil {
		return Drawn{}, err
	}
	size, err := png.DecodeConfig(bytes.NewReader(picture.Bytes()))
	if err != nil {
		return Drawn{}, fmt.Errorf("figure %s: %w", f.name, err)
	}
	width := int(float64(size.Width) * 72 / dpi * pixelsPerPoint)
	return Drawn{Caption{f.name, f.caption, width}, picture.Bytes(), data.Bytes()}, nil
}
