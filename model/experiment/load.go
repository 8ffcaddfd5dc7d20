package experiment

import (
	"cmp"
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
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/internal/yamltext"
	"github.com/ergoflow/ergoflow/model/training/flow"
)

const defaultPreset = "scaled"

// Load reads a configuration. It starts from the preset of a named experiment, applies the
// YAML file (if yamlPath is not empty), then each "path=value" of sets in order, and
// validates the result.
//
// The file may name the experiment and the preset. It must name the experiment if name is
// empty; a name given twice must agree. An empty preset means the file's, or "scaled".
// Unknown fields are errors with line and column.
func Load(name, preset, yamlPath string, sets []string) (Experiment, error) {
	var file []byte
	if yamlPath != "" {
		var err error
		if file, name, preset, err = readFile(yamlPath, name, preset); err != nil {
			return Experiment{}, err
		}
	}
	preset = cmp.Or(preset, defaultPreset)
	e, err := ByName(name, preset)
	if err != nil {
		return Experiment{}, err
	}
	e.forgetStarts() // those of the preset's family, which may not be ours
	if err := yamltext.Decode(file, &e); err != nil {
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
	if e.Training.States == "" && family.IsDefinition(e.Data.Family) {
		e.Training.States = flow.Standardised // a definition may have any unit
	}
	e.fitSpace()
	e.setStarts()
	if err := e.Validate(); err != nil {
		return Experiment{}, err
	}
	return e, nil
}

// setStarts gives the schemes without a start that of Data.DefaultStart. Validate reports a
// family that cannot be resolved.
func (e *Experiment) setStarts() {
	f, err := e.Family()
	if err != nil {
		return
	}
	start := e.Data.DefaultStart(f)
	if start == "" {
		return
	}
	for _, s := range e.schemes() {
		s.Start = cmp.Or(s.Start, start)
	}
}

// forgetStarts takes away the starts that setStarts gives for the family of e, so that it gives
// those of another one.
func (e *Experiment) forgetStarts() {
	f, err := e.Family()
	if err != nil {
		return
	}
	usual := e.Data.DefaultStart(f)
	for _, s := range e.schemes() {
		if s.Start == usual {
			s.Start = ""
		}
	}
}

func (e *Experiment) schemes() []*simulate.Scheme {
	schemes := []*simulate.Scheme{&e.Data.Training, &e.Data.Reference}
	for i := range e.Evaluation.MCMC {
		schemes = append(schemes, &e.Evaluation.MCMC[i].Scheme)
	}
	return schemes
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

// resolveFamily replaces the path of a family's definition by the definition, so that the
// experiment needs no other file.
func (e *Experiment) resolveFamily(dir string) (err error) {
	if e.Data.Family, err = family.Resolve(e.Data.Family, dir); err != nil {
		return fmt.Errorf("%w: %w", data.ErrFamily, err)
	}
	return nil
}

// readFile reads a configuration file, and merges its labels with those given.
func readFile(path, name, preset string) (file []byte, _, _ string, err error) {
	if file, err = readBounded(path); err != nil {
		return nil, "", "", err
	}
	var labels struct {
		Name   string `yaml:"name"`
		Preset string `yaml:"preset"`
	}
	if err := yaml.Unmarshal(file, &labels); err != nil {
		return nil, "", "", yamlError(path, err)
	}
	if name, err = agree(path, "name", name, labels.Name); err != nil {
		return nil, "", "", err
	}
	if preset, err = agree(path, "preset", preset, labels.Preset); err != nil {
		return nil, "", "", err
	}
	return file, name, preset, nil
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

// agree merges a label of the command line with that of the file.
func agree(path, what, given, inFile string) (string, error) {
	switch {
	case inFile == "" || given == inFile:
		return given, nil
	case given == "":
		return inFile, nil
	}
	return "", fmt.Errorf("%s: %s is %q in the file, %q on the command line", path, what, inFile, given)
}

// yamlError keeps the decoder's position and its excerpt with a caret under the token.
func yamlError(path string, err error) error {
	err = yamltext.Plain(err)
	message := strings.TrimSpace(yaml.FormatError(err, false, true))
	if len(message) > maxExcerpt {
		message = yaml.FormatError(err, false, false)
	}
	return fmt.Errorf("%s: %s", path, message)
}

// maxExcerpt bounds an error with its excerpt of whole lines, in bytes.
const maxExcerpt = 2 << 10

// cut shortens a setting for an error.
func cut(s string) string {
	const most = 60 // characters
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return s
}

// set applies one "path=value". The value is YAML, so lists and numbers work as in a file.
func (e *Experiment) set(setting string) error {
	path, value, ok := strings.Cut(setting, "=")
	path = strings.TrimSpace(path)
	if !ok || path == "" || cut(path) != path {
		return fmt.Errorf("set %q: must be path=value, as in training.learning_rate=0.001", cut(setting))
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
	// Decode into a copy, so that a value that fails half-way changes nothing.
	decoded := reflect.New(field.Type())
	decoded.Elem().Set(field)
	if field.Kind() == reflect.Pointer && !field.IsNil() {
		decoded.Elem().Set(reflect.New(field.Type().Elem()))
		decoded.Elem().Elem().Set(field.Elem())
	}
	if err := yamltext.Decode([]byte(value), decoded.Interface()); err != nil {
		return fmt.Errorf("set %s: %q is no %s: %s", path, cut(value), yamltext.Kind(field.Type()), cut(firstLine(yamltext.Plain(err))))
	}
	field.Set(decoded.Elem())
	return nil
}

// Field is the value at a dotted path, such as training.learning_rate.
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
			tag := yamltext.Name(v.Type().Field(i))
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
