package family

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
)

// Resolve turns what a configuration says of its family into what ByName takes,
// wherever it is asked: names stay, while a definition, given as a YAML file or
// word by word, becomes one line. Paths are relative to dir.
func Resolve(reference, dir string) (string, error) {
	var d Definition
	var err error
	switch extension := filepath.Ext(reference); {
	case strings.HasPrefix(reference, "{") || strings.Contains(reference, "\n"):
		d, err = Parse([]byte(reference))
	case extension == ".yaml" || extension == ".yml":
		if !filepath.IsAbs(reference) {
			reference = filepath.Join(dir, reference)
		}
		d, err = Load(reference)
	default:
		return reference, nil
	}
	if err != nil {
		return "", err
	}
	return d.String(), nil
}

// String is the definition as one line of JSON, by which data sets refer to it.
func (d Definition) String() string {
	line, err := json.Marshal(d)
	if err != nil { // only for numbers that JSON lacks, which Family refuses
		panic(fmt.Sprintf("family: an invalid definition: %v", err))
	}
	return string(line)
}
