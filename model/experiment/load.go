package experiment

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/ergoflow/ergoflow/data"
	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/internal/yamltext"
)

const defaultPreset = "scaled"

// Load resolves a configuration: the preset of a named experiment, over it the
// YAML file (if yamlPath is not empty), over that each "path=value" of sets in
// order, then Validate.
//
// The file may name the experiment and the preset itself, and must where name
// is empty; where both name one they must agree. An empty preset means the
// file's, or "scaled". Unknown fields are errors with line and column.
func Load(name, preset, yamlPath string, sets []string) (Experiment, error) {
	var file []byte
	if yamlPath != "" {
		var err error
		if file, err = readBounded(yamlPath); err != nil {
			return Experiment{}, err
		}
		var head struct {
			Name   string `yaml:"name"`
			Preset string `yaml:"preset"`
		}
		if err := yaml.Unmarshal(file, &head); err != nil {
			return Experiment{}, yamlError(yamlPath, err)
		}
		if name, err = agree(yamlPath, "name", name, head.Name); err != nil {
			return Experiment{}, err
		}
		if preset, err = agree(yamlPath, "preset", preset, head.Preset); err != nil {
			return Experiment{}, err
		}
	}
	if preset == "" {
		preset = defaultPreset
	}
	e, err := ByName(name, preset)
	if err != nil {
		return Experiment{}, err
	}
	if err := decode(file, &e); err != nil {
		return Experiment{}, yamlError(yamlPath, err)
	}
	if err := e.resolveFamily(filepath.Dir(yamlPath)); err != nil {
		return Experiment{}, err
	}
	fromFile := e.Data.Family
	e.Name, e.Preset = name, preset
	for _, s := range sets {
		if err := e.set(s); err != nil {
			return Experiment{}, err
		}
	}
	if e.Data.Family != fromFile {
		if err := e.resolveFamily("."); err != nil {
			return Experiment{}, err
		}
	}
	if err := e.Validate(); err != nil {
		return Experiment{}, err
	}
	return e, nil
}

// Family returns the family of a valid experiment. A command resolves it once, at its
// beginning, and hands it on.
func (e Experiment) Family() (family.Family, error) {
	f, err := family.ByName(e.Data.Family)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", data.ErrFamily, err)
	}
	return f, nil
}

// resolveFamily puts the definition of a family that is written in the place of
// its file, so that the experiment says all of itself.
func (e *Experiment) resolveFamily(dir string) (err error) {
	if e.Data.Family, err = family.Resolve(e.Data.Family, dir); err != nil {
		return fmt.Errorf("%w: %w", data.ErrFamily, err)
	}
	return nil
}

func readBounded(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, yamltext.MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read configuration %s: %w", path, err)
	}
	if err := yamltext.Check(raw); err != nil {
		return nil, fmt.Errorf("read configuration %s: %w", path, err)
	}
	return raw, nil
}

// agree merges what the command line and the file say about one label.
func agree(path, what, given, inFile string) (string, error) {
	switch {
	case inFile == "" || given == inFile:
		return given, nil
	case given == "":
		return inFile, nil
	}
	return "", fmt.Errorf("%s: %s is %q in the file, %q on the command line", path, what, inFile, given)
}

// yamlError keeps the decoder's position and excerpt, whose caret points at
// the offending token.
func yamlError(path string, err error) error {
	err = yamltext.Plain(err)
	said := strings.TrimSpace(yaml.FormatError(err, false, true))
	if len(said) > maxExcerpt {
		said = yaml.FormatError(err, false, false)
	}
	return fmt.Errorf("%s: %s", path, said)
}

// maxExcerpt bounds an error with its excerpt, which has whole lines.
const maxExcerpt = 2 << 10

// cut shortens what errors repeat of a setting.
func cut(s string) string {
	const most = 60 // characters
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return s
}

// set applies one "path=value"; the value is read as YAML, so that lists and
// numbers work as in a file.
func (e *Experiment) set(setting string) error {
	path, value, ok := strings.Cut(setting, "=")
	path = strings.TrimSpace(path)
	if !ok || path == "" || cut(path) != path {
		return fmt.Errorf("set %q: want path=value, as in training.learning_rate=0.001", cut(setting))
	}
	if path == "name" || path == "preset" {
		return fmt.Errorf("set %s: choose the %s by its own argument", path, path)
	}
	field, err := lookup(reflect.ValueOf(e).Elem(), path)
	if err != nil {
		return fmt.Errorf("set %w", err)
	}
	if strings.TrimSpace(value) == "" {
		return fmt.Errorf("set %s: no value", path)
	}
	if err := yamltext.Check([]byte(value)); err != nil {
		return fmt.Errorf("set %s: %w", path, err)
	}
	// Decode into a copy: a value that fails half-way must change nothing.
	decoded := reflect.New(field.Type())
	decoded.Elem().Set(field)
	if field.Kind() == reflect.Pointer && !field.IsNil() {
		decoded.Elem().Set(reflect.New(field.Type().Elem()))
		decoded.Elem().Elem().Set(field.Elem())
	}
	if err := decode([]byte(value), decoded.Interface()); err != nil {
		return fmt.Errorf("set %s: %q is no %s: %s", path, cut(value), yamltext.Kind(field.Type()), cut(firstLine(yamltext.Plain(err))))
	}
	field.Set(decoded.Elem())
	return nil
}

// Field is the value at a dotted path, as in training.learning_rate.
func (e Experiment) Field(path string) (any, error) {
	field, err := lookup(reflect.ValueOf(e), path)
	if err != nil {
		return nil, err
	}
	return field.Interface(), nil
}

// lookup walks the dotted path through the yaml names of nested structs.
func lookup(v reflect.Value, path string) (reflect.Value, error) {
	walked := ""
	for _, part := range strings.Split(path, ".") {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return v, fmt.Errorf("%s: this experiment has no %s", path, walked)
			}
			v = v.Elem()
		}
		if v.Kind() != reflect.Struct {
			return v, fmt.Errorf("%s: %s is a %s and has no fields", path, walked, yamltext.Kind(v.Type()))
		}
		var known []string
		found := false
		for i := range v.NumField() {
			tag := yamlName(v.Type().Field(i))
			if tag == "" || tag == "-" {
				continue
			}
			known = append(known, tag)
			if tag == part {
				v, found = v.Field(i), true
				break
			}
		}
		if !found {
			return v, fmt.Errorf("%s: unknown field %q (known here: %s)", path, part, strings.Join(known, ", "))
		}
		walked = strings.TrimPrefix(walked+"."+part, ".")
	}
	return v, nil
}

// firstLine is the decoder's message without its excerpt of the source.
func firstLine(err error) string {
	var y yaml.Error
	if errors.As(err, &y) {
		return y.GetMessage()
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
