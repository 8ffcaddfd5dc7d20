package report

import (
	"bytes"
	"fmt"
	"image/png"
	"io"

	"github.com/ergoflow/ergoflow/model/evaluate"
)

// figure is one picture with the data behind it.
type figure struct {
	name    string
	caption string
	draw    func(io.Writer) error
	data    func(io.Writer) error
}

// Drawn is a figure that was made.
type Drawn struct {
	Caption
	PNG, CSV []byte
}

// OfResults draws the figures that follow from the numbers alone, by their names.
func OfResults(r *evaluate.Results) (map[string]Drawn, error) {
	all := map[string]Drawn{}
	for _, f := range ofResults(r) {
		made, err := f.make()
		if err != nil {
			return nil, err
		}
		all[f.name] = made
	}
	return all, nil
}

// pixelsPerPoint is the size of figures on a page.
const pixelsPerPoint = 1.9

func (f figure) make() (Drawn, error) {
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
