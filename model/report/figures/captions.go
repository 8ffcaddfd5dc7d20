package figures

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// CaptionsFile lists the figures of a report in order.
const CaptionsFile = "figures.json"

// Caption names a figure of a written report: Name.png, with the data behind
// it in Name.csv.
type Caption struct {
	Name  string `json:"name"`
	Text  string `json:"caption"`
	Width int    `json:"width"` // in pixels of a page, the same text size in all figures
}

func EncodeCaptions(shown []Drawn) ([]byte, error) {
	captions := make([]Caption, len(shown))
	for i, f := range shown {
		captions[i] = f.Caption
	}
	encoded, err := json.MarshalIndent(captions, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode captions: %w", err)
	}
	return append(encoded, '\n'), nil
}

// Captions lists the figures of the report in dir. Names that are not plain
// file names are refused.
func Captions(dir string) ([]Caption, error) {
	path := filepath.Join(dir, CaptionsFile)
	encoded, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var captions []Caption
	if err := json.Unmarshal(encoded, &captions); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, c := range captions {
		if c.Name == "" || c.Name != filepath.Base(c.Name) {
			return nil, fmt.Errorf("%s: %q is no name of a figure", path, c.Name)
		}
	}
	return captions, nil
}
