package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/ergoflow/ergoflow/internal/arrayfile"
	"github.com/ergoflow/ergoflow/internal/atomicfile"
	"github.com/ergoflow/ergoflow/internal/finitejson"
)

// stdout is standard output. All results go through it, so that Main knows whether they
// were written.
var stdout = &checked{out: os.Stdout}

// checked keeps the first error of all writes, and writes nothing after it: what is read has no
// gap.
type checked struct {
	out *os.File
	err error
}

func (c *checked) Write(p []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	n, err := c.out.Write(p)
	c.err = err
	return n, err
}

// statistic is a number that may be undefined: NaN here, null in JSON.
type statistic float64

// MarshalJSON writes the number or null.
func (s statistic) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(s)) || math.IsInf(float64(s), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(s))
}

// writable checks the path of -o before the results are computed.
func writable(output string) error {
	if output == arrayStdout {
		return usagef("-o is -, but this output does not go to standard output")
	}
	err := atomicfile.Writable(output)
	switch {
	case errors.Is(err, atomicfile.ErrDangling):
		return err
	case err != nil:
		return withHint(err, "give -o a file in a directory that exists and is writable")
	}
	return nil
}

// outputUsage is the help of -o of commands that write samples.
const outputUsage = "file to write: .npy, .npz, .csv, .parquet or .json by its suffix; - is CSV to standard output (required)"

// printResult prints what a command tells of the samples that it has written to output: on
// standard error where they are on standard output.
func printResult(result fmt.Stringer, json bool, output string) error {
	switch {
	case json:
		return printJSON(result)
	case output == arrayStdout:
		fmt.Fprintln(os.Stderr, result)
	default:
		fmt.Fprintln(stdout, result)
	}
	return nil
}

// arrayStdout is the -o that stands for standard output.
const arrayStdout = "-"

// arrayWritable checks the path of -o of a command that writes samples. With json, standard
// output has the JSON document.
func arrayWritable(output string, json bool) error {
	if output == arrayStdout {
		if json {
			return withHint(usagef("-o - and --json both write to standard output"), "give -o a file")
		}
		return nil
	}
	return curveWritable(output)
}

// curveWritable checks the path of a file in one of arrayfile's formats.
func curveWritable(output string) error {
	if err := arrayfile.Known(output); err != nil {
		hint := "give a name that ends in " + strings.Join(arrayfile.Suffixes(), ", ") + ", or has no suffix: then it is .npy"
		if suffix := filepath.Ext(output); slices.Contains([]string{".nc", ".h5", ".hdf5", ".cdf"}, strings.ToLower(suffix)) {
			hint = `write x.npz; then in Python: arviz.from_dict(posterior={"x": numpy.load("x.npz")["x"]}).to_netcdf("x.nc"), in ArviZ 1 arviz.from_dict({"posterior": {…}})`
		}
		return withHint(usage(err), "%s", hint)
	}
	return writable(output)
}

// writeSamples writes samples to a file, or to standard output as CSV.
func writeSamples(ctx context.Context, output string, s arrayfile.Samples) (dtype string, err error) {
	if output == arrayStdout {
		return arrayfile.WriteCSV(ctx, stdout, s)
	}
	return arrayfile.Write(ctx, output, s)
}

// warn prints warnings on standard error.
func warn(warnings []string) {
	for _, w := range warnings {
		fmt.Fprintln(os.Stderr, "warning:", w)
	}
}

// printJSON writes one indented JSON document to standard output. It warns of numbers that
// are not finite: they are null.
func printJSON(v any) error {
	encoded, warnings, err := finitejson.Marshal(v, "  ")
	if err != nil {
		return err
	}
	warn(warnings)
	_, err = stdout.Write(append(encoded, '\n'))
	return err
}

// printRows prints a JSON array with one element a line. It encodes parts of a long one at
// the same time.
func printRows[T any](rows []T) error {
	parts := make([]bytes.Buffer, runtime.GOMAXPROCS(0))
	var encoders errgroup.Group
	for i := range parts {
		encoders.Go(func() error {
			for _, row := range rows[i*len(rows)/len(parts) : (i+1)*len(rows)/len(parts)] {
				encoded, err := json.Marshal(row)
				if err != nil {
					return err
				}
				parts[i].WriteString(",\n  ")
				parts[i].Write(encoded)
			}
			return nil
		})
	}
	if err := encoders.Wait(); err != nil {
		return err
	}
	var out bytes.Buffer
	for i := range parts {
		out.Write(parts[i].Bytes())
	}
	text := out.Bytes()
	if len(text) == 0 {
		_, err := stdout.Write([]byte("[]\n"))
		return err
	}
	text[0] = '[' // in place of the first comma
	_, err := stdout.Write(append(text, "\n]\n"...))
	return err
}
