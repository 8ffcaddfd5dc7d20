package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ergoflow/ergoflow/coordinator"
)

// No flag's variable has another meaning.
func TestVariablesOfFlags(t *testing.T) {
	others := map[string]bool{"ERGOFLOW_CACHE": true, envSettings: true, coordinator.EnvRun: true, coordinator.EnvSupervised: true}
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			for _, name := range environmentNames(cmd, f.Name) {
				if takesSettings(f) && others[name] {
					t.Errorf("%s --%s: %s is something else", cmd.CommandPath(), f.Name, name)
				}
			}
		})
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
	}
	visit(rootCommand())
}

// A process that another one of the program has started takes nothing from the environment.
func TestInternalProcessesTakeNoSettings(t *testing.T) {
	t.Setenv("ERGOFLOW_LISTEN", "10.0.0.1:7070")
	for _, c := range []struct {
		args []string
		want string
	}{{nil, "10.0.0.1:7070"}, {[]string{"--supervised"}, "127.0.0.1:0"}, {[]string{"--listen", "127.0.0.1:7"}, "127.0.0.1:7"}} {
		cmd, _, err := rootCommand().Find([]string{"coordinator"})
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.ParseFlags(c.args); err != nil {
			t.Fatal(err)
		}
		if err := applySettings(cmd); err != nil {
			t.Fatal(err)
		}
		if got := cmd.Flag("listen").Value.String(); got != c.want {
			t.Errorf("%s: --listen is %s, want %s", strings.Join(c.args, " "), got, c.want)
		}
	}
}
