package main

import (
	"encoding/json"
	"math"
	"os"

	"github.com/ergoflow/ergoflow/internal/atomicfile"
)

// stdout is standard output, where results go: all of them, so that Main knows
// whether they arrived.
var stdout = &checked{out: os.Stdout}

// checked keeps the first error of all writes.
type checked struct {
	out *os.File
	err error
}

func (c *checked) Write(p []byte) (int, error) {
	n, err := c.out.Write(p)
	if c.err == nil {
		c.err = err
	}
	return n, err
}

// statistic is a number that may not exist: NaN here, null in JSON.
type statistic float64

// MarshalJSON writes the number or null.
func (s statistic) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(s)) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(s))
}

// writable refuses an -o before what goes there is computed.
func writable(output string) error {
	if output == "-" {
		return usagef("-o takes a file: samples do not go to standard output")
	}
	if err := atomicfile.Writable(output); err != nil {
		return withHint(err, "-o takes a file in a directory that exists and may be written to")
	}
	return nil
}

// printJSON writes one indented JSON document to standard output.
func printJSON(v any) error {
	e := json.NewEncoder(stdout)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
