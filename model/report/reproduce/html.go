package reproduce

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"

	"github.com/ergoflow/ergoflow/model/evaluation/evaluate"
)

//go:embed page.html.tmpl
var pageSource string

// render writes the page as one file, with the figures in it, no script and nothing
// from elsewhere. The data of the figures are files beside it.
func render(doc *Document) ([]byte, error) {
	page, err := template.New("page").Funcs(template.FuncMap{
		"digits": func(v any) string {
			switch v := v.(type) {
			case int:
				return digits(float64(v))
			case float64:
				return digits(v)
			}
			return fmt.Sprint(v)
		},
		"ours":              ours,
		"how":               func() string { return how },
		"isModel":           func(k evaluate.Kind) bool { return k == evaluate.Model },
		"unfinished":        StudyResult.unfinished,
		"attempts":          RunFact.attempts,
		"figuresOf":         StudyResult.figuresOf,
		"configurationNote": StudyResult.configurationNote,
		"paperFigure":       Figure.paperFigure,
		"image": func(f Figure) template.URL {
			return template.URL("data:image/png;base64," + base64.StdEncoding.EncodeToString(f.png))
		},
		"config": func(v any) (string, error) {
			encoded, err := json.MarshalIndent(v, "", "  ")
			return string(encoded), err
		},
	}).Parse(pageSource)
	if err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	var b bytes.Buffer
	if err := page.Execute(&b, doc); err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	return b.Bytes(), nil
}
