package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

var update = flag.Bool("update", false, "write docs/cli.md instead of comparing with it")

// TestCommandReference: docs/cli.md has the help of every command.
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

// TestHelp: every command has an example, and no line beyond helpWidth but usage lines
// and examples, which a reader copies as they are.
func TestHelp(t *testing.T) {
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		c.InitDefaultHelpFlag()
		if c.Runnable() && c.Name() != "help" && !strings.Contains(c.Example, c.CommandPath()) {
			t.Errorf("%s has no example", c.CommandPath())
		}
		for line := range strings.Lines(fmt.Sprintf("%s\n  %-*s %s\n", c.Long, c.NamePadding(), c.Name(), c.Short) + c.LocalFlags().FlagUsagesWrapped(helpWidth)) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > helpWidth {
				t.Errorf("%s: a line of %d columns: %s", c.CommandPath(), n, line)
			}
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(rootCommand())
}

func reference() string {
	var b strings.Builder
	b.WriteString(`# Command line

This page is the output of ` + "`ergoflow COMMAND --help`" + ` for every command. ` + "`go test ./cmd/ergoflow -run CommandReference -update`" + ` writes it.

**Exit codes.** 0 is success, 1 a failure, 2 wrong usage. ` + "`retrain`" + ` has more ([retraining.md](retraining.md)). 130 means that a signal left a cluster that continues (` + "`generate` and `train` without `--local`" + `).

**Errors** are on standard error: a line ` + "`ergoflow: what failed: why`" + `, and a ` + "`hint:`" + ` line where there is a next step. Indented lines between them give more, such as the place in a formula or a file, commands with similar names, or further damaged files.

**Output.** Results are on standard output, as JSON with ` + "`--json`" + ` ([formats.md](formats.md) documents them). Progress is on standard error: bars on a terminal, plain lines elsewhere.

**Completion.** ` + "`ergoflow completion bash`" + `, or zsh, fish or powershell, prints a script for the shell; ` + "`ergoflow completion bash --help`" + ` says how to load it. It completes commands, flags, the names of experiments, presets, runs and backends, and the names in formulas.

**Interruption.** Ctrl-C (SIGINT), SIGTERM and SIGHUP, as from a closed terminal, do the same: they end a command in order. The same command then continues where ` + "`run`, `reproduce`, `generate`, `train` or `retrain`" + ` stopped; other commands start again from the beginning. The first signal gives these codes:

| command | code |
|---|---|
| ` + "`coordinator`, `worker`" + ` | 0, once they have left in order |
| ` + "`generate`, `train`" + ` on a running cluster | 130, ` + "`detached; the cluster continues`" + ` |
| every other command, ` + "`generate --local` and `train --local`" + ` too | 1, ` + "`interrupted`" + ` |

A second signal ends the process at once, with the shell's code 128 plus the signal's number: 130, 143 or 129. Under ` + "`nohup`" + ` commands ignore SIGHUP. ` + "`coordinator`, `worker` and `serve`" + ` go on where the reader of their output ends, such as ` + "`tee`" + `.
`)
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		runs := !c.HasSubCommands() || c.Flags().Lookup("config") != nil // retrain does both
		if c.Runnable() && runs && c.Name() != "help" {
			describe(&b, c)
		}
		if c.IsAdditionalHelpTopicCommand() {
			fmt.Fprintf(&b, "\n## ergoflow help %s\n\n```\n%s\n```\n", c.Name(), c.Long)
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
	if flags := c.LocalFlags().FlagUsagesWrapped(helpWidth); flags != "" {
		fmt.Fprintf(b, "\n%s", flags)
	}
	example := strings.ReplaceAll("\n"+c.Example, "\n  ", "\n") // the terminal's help indents it by two
	fmt.Fprintf(b, "```\n\nExample:\n\n```\n%s\n```\n", strings.TrimSpace(example))
}
