package family

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
)

// Resolve turns a configuration's reference to a family into the text that ByName takes
// on any machine. Names stay as they are. A definition, given as a YAML file or in place,
// becomes one line (Definition.String), with the definitions of a mixture's components. Paths are
// relative to dir, and those in a file to that of the file.
func Resolve(reference, dir string) (string, error) {
	var d Definition
	var err error
	switch extension := filepath.Ext(reference); {
	case IsDefinition(reference) || strings.Contains(reference, "\n"):
		d, err = parse([]byte(reference), dir)
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

// IsDefinition reports whether a data set's family is a definition and not a name.
func IsDefinition(family string) bool { return strings.HasPrefix(family, "{") }

// String is the definition as one line of JSON, as data sets store it.
func (d Definition) String() string {
	line, err := json.Marshal(d)
	if err != nil { // only for numbers that JSON lacks, which Family refuses
		panic(fmt.Sprintf("family: an invalid definition: %v", err))
	}
	return string(line)
}
