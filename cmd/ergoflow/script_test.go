package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// quickCompilation makes XLA compile faster, for steps that these tests run few of: the
// steps are slower, their numbers as accurate.
const quickCompilation = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"

// TestMain lets the test binary be the program, so that scripts and the
// clusters that they start run what was just built.
func TestMain(m *testing.M) {
	if os.Getenv("XLA_FLAGS") == "" {
		os.Setenv("XLA_FLAGS", quickCompilation)
	}
	testscript.Main(m, map[string]func(){
		"ergoflow": func() { os.Exit(Main(os.Args[1:])) },
	})
}

// TestScripts runs testdata/script: commands as a user gives them, with the output and the
// exit code that they must have.
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
			e.Setenv("XLA_FLAGS", os.Getenv("XLA_FLAGS"))
			return nil
		},
	})
}
