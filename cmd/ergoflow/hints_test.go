package main

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/coordinator/checkpoint"
	"github.com/ergoflow/ergoflow/data/probe"
	"github.com/ergoflow/ergoflow/data/simulate"
	"github.com/ergoflow/ergoflow/model/reproduce"
	"github.com/ergoflow/ergoflow/model/state"
)

func TestHints(t *testing.T) {
	for hint, err := range map[string]error{
		"checkpoints list":     checkpoint.ErrAmbiguous,
		"all but device":       simulate.ErrEngine,
		"a smaller probes.dt":  fmt.Errorf("probes of function 3: %w", probe.ErrDiverged),
		"permissions":          &fs.PathError{Op: "open", Path: "ro/logs", Err: fs.ErrPermission},
		"delete the directory": fmt.Errorf("%w: runs/a/state.safetensors: %w", reproduce.ErrCorrupt, state.ErrCorrupt),
	} {
		if got := hintFor(fmt.Errorf("some command: %w", err)); !strings.Contains(got, hint) {
			t.Errorf("%v has the hint %q", err, got)
		}
	}
}
