package reproduce

import (
	"context"
	"fmt"

	"github.com/ergoflow/ergoflow/internal/atomicfile"
	"github.com/ergoflow/ergoflow/internal/finitejson"
)

// Page is the HTML page of a reproduction.
func (d Directory) Page() string { return d.report("index.html") }

// Write writes the report: figures and their data, one Markdown page per study, all
// numbers as JSON, and last the HTML page. Every file appears whole or not at all.
func (d Directory) Write(ctx context.Context, doc *Document) error {
	for _, s := range doc.Studies {
		if err := atomicfile.MakeDirs(d.report(s.Name)); err != nil {
			return err
		}
		for _, f := range s.Figures {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := atomicfile.Write(d.report(s.Name, f.Name+".png"), f.png); err != nil {
				return err
			}
			if err := atomicfile.Write(d.report(s.Name, f.Name+".csv"), f.csv); err != nil {
				return err
			}
		}
		if err := atomicfile.Write(d.report(s.Name+".md"), []byte(s.Markdown(doc))); err != nil {
			return err
		}
	}
	encoded, _, err := finitejson.Marshal(doc, "  ") // with its warnings
	if err != nil {
		return fmt.Errorf("encode the numbers: %w", err)
	}
	if err := atomicfile.Write(d.report("reproduce.json"), append(encoded, '\n')); err != nil {
		return err
	}
	page, err := render(doc)
	if err != nil {
		return err
	}
	return atomicfile.Write(d.Page(), page)
}
