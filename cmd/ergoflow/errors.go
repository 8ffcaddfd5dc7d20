package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/ergoflow/ergoflow/cmd/ergoflow/internal/conduct"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/evaluation/metrics"
)

// Exit codes of the program.
const (
	exitFailure  = 1
	exitUsage    = 2
	exitDetached = 130 // as after SIGINT: the stage is not reached yet
)

// errDetached means that the user left a running cluster.
var errDetached = errors.New("detached; the cluster continues")

// A usageError is a mistake in how the program was called.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// A codeError ends the program with a code of its own, for which the output has the reason.
type codeError struct{ code int }

func (e *codeError) Error() string { return fmt.Sprintf("code %d", e.code) }

func usage(err error) error { return &usageError{err} }

func usagef(format string, args ...any) error { return usage(fmt.Errorf(format, args...)) }

// flagError says what a flag takes, instead of why Go could not parse its value.
func flagError(err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	want, known := map[string]string{
		"int": "a whole number", "uint64": "a whole number ≥ 0", "float64": "a number",
		"bool": "true or false", "intSlice": "whole numbers with commas between them",
	}[invalid.GetFlag().Value.Type()]
	if !known {
		return err
	}
	want = "not " + want
	if errors.Is(err, strconv.ErrRange) {
		want = "which is out of range"
	}
	return fmt.Errorf("--%s is %.60q, %s", invalid.GetFlag().Name, invalid.GetValue(), want)
}

// A hinted error has a hint: one thing that the user can do.
type hinted struct {
	error
	hint string
}

func (h *hinted) Unwrap() error { return h.error }

func withHint(err error, format string, args ...any) error {
	return &hinted{err, fmt.Sprintf(format, args...)}
}

// interrupted is the error of a command that a signal has ended.
func interrupted(command string) error {
	hint := "the same command starts again from the beginning"
	if slices.Contains([]string{"ergoflow run", "ergoflow reproduce", "ergoflow generate", "ergoflow train", "ergoflow distill", "ergoflow retrain"}, command) { // these store what they have done
		hint = "the same command continues where this one stopped"
	}
	return withHint(errors.New("interrupted"), "%s", hint)
}

// fail prints the error and its hint, and returns the exit code.
func fail(w io.Writer, err error) int {
	if own := new(codeError); errors.As(err, &own) {
		return own.code
	}
	fmt.Fprintf(w, "ergoflow: %s\n", strings.ReplaceAll(err.Error(), "\n", "\n  "))
	if hint := hintFor(err); hint != "" {
		fmt.Fprintf(w, "hint: %s\n", hint)
	}
	var u *usageError
	if errors.Is(err, errDetached) {
		return exitDetached
	}
	if errors.As(err, &u) {
		return exitUsage
	}
	for _, flag := range []error{conduct.ErrAddress, simulate.ErrEngine, backend.ErrUnknown, metrics.ErrOption} { // only flags cause these
		if errors.Is(err, flag) {
			return exitUsage
		}
	}
	return exitFailure
}
