package backend

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
)

// A shared object that is damaged, or built for another processor, may crash the
// process that loads it. So plugins are tested in a child process, which is this
// program with backend and path in the variable below.
const probeVariable = "ERGOFLOW_PROBE_PLUGIN"

const probeTimeout = 2 * time.Minute

func init() {
	asked, ok := os.LookupEnv(probeVariable)
	if !ok {
		return
	}
	name, path, _ := strings.Cut(asked, " ")
	device, err := computeWith(name, path)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(device)
	os.Exit(0)
}

// computeWith loads a plugin, tests it by a matrix product, and returns its device.
func computeWith(name, path string) (string, error) {
	b, err := openXLA(name, path)
	if err != nil {
		return "", err
	}
	square, err := b.Compile("probe", []shapes.Shape{Shape(2, 2)}, func(in []*graph.Node) []*graph.Node {
		return []*graph.Node{graph.MatMul(in[0], in[0])}
	})
	if err != nil {
		return "", err
	}
	input, err := b.Upload([]float32{1, 2, 3, 4}, 2, 2)
	if err != nil {
		return "", err
	}
	output, err := square.Run(input)
	if err != nil {
		return "", err
	}
	var got [4]float32
	if err := Download(got[:], output[0]); err != nil {
		return "", err
	}
	if want := [4]float32{7, 10, 15, 22}; got != want {
		return "", fmt.Errorf("backend %s: plugin %s computes %v instead of %v", name, path, got, want)
	}
	return b.Device, nil
}

// probe tests a plugin in a child process and returns its device.
func probe(name, path string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("probe %s: %w", path, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
	defer cancel()
	child := exec.CommandContext(ctx, self)
	child.Env = append(os.Environ(), probeVariable+"="+name+" "+path)
	var stdout, stderr bytes.Buffer
	child.Stdout, child.Stderr = &stdout, &stderr
	if err := child.Run(); err != nil {
		if ctx.Err() != nil {
			return "", fmt.Errorf("probe %s: no answer after %s", path, probeTimeout)
		}
		// The last line is the reason; the lines before it are logs of the libraries.
		reason := lastLine(stderr.String())
		if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 1 || reason == "" {
			reason = strings.TrimSpace(err.Error() + " " + reason)
		}
		return "", fmt.Errorf("plugin %s does not work: %s", path, reason)
	}
	return lastLine(stdout.String()), nil
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndexByte(s, '\n')+1:]
}
