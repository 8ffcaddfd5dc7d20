package figures

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// CaptionsFile is the file of a report that lists its figures in order.
const CaptionsFile = "figures.json"

// Caption names a figure of a written report: Name.png, with the data behind
// it in Name.csv.
type Caption struct {
	Name  string `json:"name"`
	Text  string `json:"caption"`
	Width int    `json:"width"` // in pixels on a page, so that text has the same size in all figures
}

// EncodeCaptions writes the content of CaptionsFile.
func EncodeCaptions(drawn []Drawn) ([]byte, error) {
	captions := make([]Caption, len(drawn))
	for i, f := range drawn {
		captions[i] = f.Caption
	}
	encoded, err := json.MarshalIndent(captions, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode captions: %w", err)
	}
	return append(encoded, '\n'), nil
}

// Captions lists the figures of the report in dir. A name that is not a plain file name
// is an error.
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
			return nil, fmt.Errorf("%s: %q is not a plain file name", path, c.Name)
		}
	}
	return captions, nil
}
