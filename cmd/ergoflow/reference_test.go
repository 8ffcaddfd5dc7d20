package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

var update = flag.Bool("update", false, "write docs/cli.md instead of comparing with it")

// TestCommandReference: docs/cli.md says what the commands say of themselves.
func TestCommandReference(t *testing.T) {
	const path = "../../docs/cli.md"
	want := reference()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what the commands say; go test ./cmd/ergoflow -run CommandReference -update writes it", path)
	}
}

func reference() string {
	var b strings.Builder
	b.WriteString(`# Command line

Made from the program's own help; ` + "`ergoflow COMMAND --help`" + ` prints the same.

Every command ends with code 0, or 1 for a failure, or 2 for wrong usage, or 130 where Ctrl-C left a cluster to go on (` + "`generate` and `train` without `--local`" + `). An error is a line ` + "`ergoflow: what failed: why`" + ` on standard error, indented below it what a line does not hold (the place in a formula or a file, commands of similar names, others that are damaged too), and a ` + "`hint:`" + ` line where there is a next step. Results are on standard output, as JSON with ` + "`--json`" + ` (the documents are in [formats.md](formats.md)); progress is on standard error, as bars on a terminal and plain lines elsewhere. Ctrl-C ends in order. The same command then goes on where ` + "`run`, `reproduce`, `generate` or `train`" + ` stopped; others begin again.
`)
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Runnable() && !c.HasSubCommands() && c.Name() != "help" {
			describe(&b, c)
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(rootCommand())
	return b.String()
}

func describe(b *strings.Builder, c *cobra.Command) {
	fmt.Fprintf(b, "\n## %s\n\n", c.CommandPath())
	text := c.Long
	if text == "" {
		text = c.Short + "."
	}
	fmt.Fprintf(b, "%s\n\n```\n%s\n", text, c.UseLine())
	if flags := c.LocalFlags().FlagUsages(); flags != "" {
		fmt.Fprintf(b, "\n%s", flags)
	}
	example := strings.ReplaceAll("\n"+c.Example, "\n  ", "\n") // the terminal's help indents it by two
	fmt.Fprintf(b, "```\n\nExample:\n\n```\n%s\n```\n", strings.TrimSpace(example))
}
