package main

import (
	"encoding/json"
	"os"
)

// printJSON writes one indented JSON document to standard output.
func printJSON(v any) error {
	e := json.NewEncoder(os.Stdout)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
