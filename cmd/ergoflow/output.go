package main

import (
	"encoding/json"
	"math"
	"os"
)

// statistic is a number that may not exist: NaN here, null in JSON.
type statistic float64

// MarshalJSON writes the number or null.
func (s statistic) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(s)) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(s))
}

// printJSON writes one indented JSON document to standard output.
func printJSON(v any) error {
	e := json.NewEncoder(os.Stdout)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
