package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ergoflow/ergoflow"
)

// Champion is the alias of the version that is in use.
const Champion = "champion"

// Version is one trained model, where it comes from and how it was judged. Add sets Number,
// Created, Weights, Build and Config where they are empty.
type Version struct {
	Model   string            `json:"name"`
	Number  int               `json:"version"` // from 1, never used again
	Created time.Time         `json:"created"`
	Weights Weights           `json:"weights"`
	Step    ergoflow.Step     `json:"step"`
	Parent  int               `json:"parent"`  // version that the training started from; 0: none
	Metrics map[string]Metric `json:"metrics"` // on the held-out functions

	Decision string            `json:"decision,omitempty"` // of the gate
	Aliases  []string          `json:"aliases"`            // that name it: set by List and Get alone
	Pinned   bool              `json:"pinned"`             // Prune keeps it
	Tags     map[string]string `json:"tags,omitempty"`

	// List leaves out what follows, Get has it.
	Key        string            `json:"key,omitempty"`
	Experiment string            `json:"experiment,omitempty"` // name and preset, for people
	Run        string            `json:"run,omitempty"`        // hash of the configuration
	Dataset    string            `json:"dataset,omitempty"`    // hash of the description of the data
	Build      string            `json:"build,omitempty"`      // of ergoflow
	By         string            `json:"by,omitempty"`         // who or what added it
	Reasons    []string          `json:"reasons,omitempty"`    // of the decision
	Seeds      map[string]uint64 `json:"seeds,omitempty"`
	Imports    []string          `json:"imports,omitempty"`  // hashes of the users' own samples that it learned from
	HeldOut    string            `json:"held_out,omitempty"` // hash of the functions that it was judged on
	Inputs     string            `json:"inputs,omitempty"`   // hash of what a retraining learned from, and how
	Origin     string            `json:"origin,omitempty"`   // of an imported version: its reference in the registry that it comes from
	Config     json.RawMessage   `json:"config,omitempty"`   // the whole experiment
}

// Weights is the file of a version's training state.
type Weights struct {
	SHA256 string `json:"sha256"` // hexadecimal
	Bytes  int64  `json:"bytes"`
	Object string `json:"object,omitempty"` // in a bucket: these of one version
}

// Metric is a mean over held-out functions with its confidence interval. Without an
// interval Low and High equal Value.
type Metric struct {
	Value     float64 `json:"value"`
	Low       float64 `json:"low"`
	High      float64 `json:"high"`
	Level     float64 `json:"level,omitempty"`     // of the interval, such as 0.95
	Functions int     `json:"functions,omitempty"` // that were judged
}

// Ref names the version.
func (v Version) Ref() string { return v.Model + "@" + strconv.Itoa(v.Number) }

// Bounds of what a version may carry, in bytes.
const (
	maxText    = 256
	maxDetails = 4 << 20
)

// validate reports the first field that cannot be stored.
func (v Version) validate() error {
	if err := CheckModel(v.Model); err != nil {
		return err
	}
	for _, f := range []struct{ name, text string }{
		{"key", v.Key}, {"run", v.Run}, {"data set", v.Dataset}, {"build", v.Build}, {"experiment", v.Experiment},
		{"decision", v.Decision}, {"by", v.By}, {"inputs", v.Inputs}, {"held-out hash", v.HeldOut}, {"origin", v.Origin},
	} {
		if len(f.text) > maxText {
			return fmt.Errorf("%w: the %s has %d bytes, more than %d", ErrInvalid, f.name, len(f.text), maxText)
		}
	}
	if v.Parent < 0 || v.Step < 0 {
		return fmt.Errorf("%w: parent %d, step %d", ErrInvalid, v.Parent, v.Step)
	}
	for _, name := range slices.Sorted(maps.Keys(v.Metrics)) {
		m := v.Metrics[name]
		for _, x := range []float64{m.Value, m.Low, m.High, m.Level} {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return fmt.Errorf("%w: the metric %s is %g (%g … %g)", ErrInvalid, name, m.Value, m.Low, m.High)
			}
		}
	}
	for key, value := range v.Tags {
		if err := checkTag(key, value); err != nil {
			return err
		}
	}
	return nil
}

var name = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// CheckModel refuses names that references or paths could not have.
func CheckModel(model string) error {
	switch {
	case !name.MatchString(model):
		return fmt.Errorf("%w: %.80q is no name of a model: it needs 1 to 64 letters, digits, dots, hyphens or underscores, and a letter or digit first", ErrInvalid, model)
	case model == "weights" || model == "tables" || model == "registry.db" || model == "registry.lock":
		return fmt.Errorf("%w: a model cannot be called %q, as a file of the registry is", ErrInvalid, model)
	}
	return nil
}

// checkAlias refuses numbers too: NAME@3 is a version.
func checkAlias(alias string) error {
	if !name.MatchString(alias) || strings.Trim(alias, "0123456789") == "" {
		return fmt.Errorf("%w: %.80q is no alias: it needs 1 to 64 letters, digits, dots, hyphens or underscores, not digits alone", ErrInvalid, alias)
	}
	return nil
}

func checkTag(key, value string) error {
	if !name.MatchString(key) || len(value) > maxText {
		return fmt.Errorf("%w: tag %.80q with a value of %d bytes: a key needs 1 to 64 letters, digits, dots, hyphens or underscores, a value at most %d bytes", ErrInvalid, key, len(value), maxText)
	}
	return nil
}

// split cuts a reference NAME, NAME@ALIAS or NAME@NUMBER. Without @ the alias is Champion.
func split(ref string) (model, alias string, number int, err error) {
	model, at, found := strings.Cut(ref, "@")
	if !found {
		at = Champion
	}
	if err := CheckModel(model); err != nil {
		return "", "", 0, err
	}
	if number, err := strconv.Atoi(at); err == nil && number > 0 && at[0] != '+' {
		return model, "", number, nil
	}
	if checkAlias(at) != nil {
		return "", "", 0, fmt.Errorf("%w: %.80q names neither an alias nor a number after the @", ErrInvalid, ref)
	}
	return model, at, 0, nil
}

// errDetails: a version has more text than a record may.
var errDetails = errors.New("configuration, reasons and lineage are too long")
