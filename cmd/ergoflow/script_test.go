package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain lets the test binary be the program, so that scripts and the
// clusters that they start run what was just built.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"ergoflow": func() { os.Exit(Main(os.Args[1:])) },
	})
}

// TestScripts runs testdata/script: commands as a user gives them, with what
// they must print and how they must end.
func TestScripts(t *testing.T) {
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			if os.Getenv("ERGOFLOW_CACHE") == "" {
				e.Setenv("ERGOFLOW_CACHE", cache+"/ergoflow")
			}
			e.Setenv("HOME", e.WorkDir)
			return nil
		},
	})
}
