// Ergoflow trains neural samplers of the invariant measures of stochastic
// differential equations on an elastic cluster. See `ergoflow --help`.
package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/cmd/ergoflow/internal/conduct"
	_ "github.com/ergoflow/ergoflow/cmd/ergoflow/internal/home" // before XLA's binding
	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/internal/memory"
)

func main() { os.Exit(Main(os.Args[1:])) }

// Main runs the command line and returns the exit code: 0, 1 for a failure, 2 for wrong
// usage, 130 for a cluster that continues after a signal.
func Main(args []string) int {
	ctx, stop := untilSignal(context.Background())
	defer stop()
	supervised := os.Getenv(coordinator.EnvSupervised) != ""
	if supervised { // a coordinator started this process
		os.Unsetenv(coordinator.EnvSupervised) // and not those that it starts itself
		ctx = conduct.Supervised(ctx)
	}

	memory.FitHeap(slog.Default())
	root := rootCommand()
	if supervised { // its command line is all that it is to do
		root.PersistentPreRunE = nil
	}
	begun := false
	noteBegin(root, &begun)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && !begun { // flags, arguments, command: cobra refused them
		err = usage(flagError(err))
	}
	if wrong := new(*usageError); errors.As(err, wrong) && hintFor(err) == "" {
		err = withHint(err, "%s", usageHint(cmd, err))
	}
	if stdout.err != nil && (err == nil || errors.Is(err, stdout.err)) {
		err = fmt.Errorf("write the results: %w", stdout.err)
	}
	if err == nil {
		return 0
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = interrupted(cmd.CommandPath())
	}
	var text bytes.Buffer
	code := fail(&text, err)
	if _, err := os.Stderr.Write(text.Bytes()); err != nil {
		os.Stdout.Write(text.Bytes()) // the log may be on a full disk: the parent reads this too
	}
	return code
}

// usageHint is the hint for wrong usage that has none: of missing flags the command's example,
// else where its help is.
func usageHint(cmd *cobra.Command, err error) string {
	example, _, _ := strings.Cut(strings.TrimSpace(cmd.Example), "\n")
	if strings.HasPrefix(err.Error(), "required flag") && example != "" {
		return "for example: " + example
	}
	return fmt.Sprintf("see `%s --help`", cmd.CommandPath())
}

// untilSignal ends with the first signal that asks for an end. That restores the signals'
// default actions, so that a second one ends the process at once.
func untilSignal(parent context.Context) (context.Context, context.CancelFunc) {
	asked := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
		asked = append(asked, syscall.SIGHUP)
	}
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, asked...)
	go func() {
		select {
		case <-signals:
			// The reader of the output may have ended too, as a closed terminal has. The
			// process is to leave in order all the same.
			outliveReaders()
		case <-ctx.Done():
		}
		signal.Stop(signals)
		cancel()
	}()
	return ctx, cancel
}

// outliveReaders keeps the process alive where the reader of its output ends, such as `tee`. Go ends
// a process that writes to such a pipe on standard output or error. The signal is caught and not
// ignored: programs that this one starts would ignore it, too.
func outliveReaders() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// noteBegin sets begun when a command's own code begins: errors before it are cobra's.
func noteBegin(c *cobra.Command, begun *bool) {
	if run := c.RunE; run != nil {
		c.RunE = func(cmd *cobra.Command, args []string) error {
			*begun = true
			return run(cmd, args)
		}
	}
	for _, sub := range c.Commands() {
		noteBegin(sub, begun)
	}
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "ergoflow",
		Short: "Train neural samplers of invariant measures on an elastic cluster",
		Long: `ergoflow trains a network that maps the coefficients (b, σ) of a stochastic
differential equation dX = b(X)dt + σ(X)dW to a flow from Gaussian noise to its
invariant measure. Training is data-parallel on an elastic group of workers. The
trained network samples new equations without simulation.`,
		Example:           "  ergoflow run vn1d --preset demo",
		SilenceErrors:     true,
		SilenceUsage:      true,
		Version:           ergoflow.Version, // for the flag; the template prints more
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return applySettings(cmd) },
	}
	root.AddGroup(
		&cobra.Group{ID: "main", Title: "From equations to a sampler:"},
		&cobra.Group{ID: "cluster", Title: "A cluster, process by process:"},
		&cobra.Group{ID: "tools", Title: "Tools:"},
	)
	in := func(group string, commands ...*cobra.Command) {
		for _, c := range commands {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	in("main", runCommand(), reproduceCommand(), distillCommand(), sampleCommand(), serveCommand(), evaluateCommand(), reportCommand(), retrainCommand())
	in("cluster", coordinatorCommand(), coordinatorsCommand(), workerCommand(), generateCommand(), trainCommand(), statusCommand(), logsCommand(), explainCommand(), runsCommand(), checkpointsCommand(), modelsCommand(), shardsCommand(), schedulesCommand(), certsCommand(), tokensCommand(), gossipCommand(), joinClusterCommand(), verifyCommand())
	in("tools", modelCommand(), simulateCommand(), exactCommand(), metricsCommand(), plotCommand(), benchCommand(), backendCommand(), doctorCommand(), configCommand(), versionCommand(), manCommand())
	root.AddCommand(formulasTopic())
	refuseUnknownHelp(root)
	addCompletions(root)
	root.SetCompletionCommandGroupID("tools")
	cobra.AddTemplateFunc("versionLine", versionLine)
	root.SetVersionTemplate("{{versionLine}}\n")
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", fmt.Sprintf(".FlagUsagesWrapped %d", helpWidth)))
	return root
}

// helpWidth is the width of help texts, in columns.
const helpWidth = 80

// refuseUnknownHelp makes `help` of an unknown command wrong usage; cobra's own ends with
// code 0.
func refuseUnknownHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	help, _, _ := root.Find([]string{"help"})
	help.Run = nil
	help.RunE = func(_ *cobra.Command, args []string) error {
		cmd, rest, err := root.Find(args)
		if err == nil && len(rest) > 0 {
			err = fmt.Errorf("unknown command %q for %q", rest[0], cmd.CommandPath())
		}
		if err != nil {
			return usage(err)
		}
		cmd.InitDefaultHelpFlag()
		return cmd.Help()
	}
}

// group puts commands under a name. Without a command it prints its help; it refuses
// unknown commands, as the root does.
func group(cmd *cobra.Command, subs ...*cobra.Command) *cobra.Command {
	cmd.AddCommand(subs...)
	cmd.DisableFlagsInUseLine = true
	cmd.SuggestionsMinimumDistance = 2 // as cobra sets it for the root
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		near := cmd.SuggestionsFor(args[0])
		if len(near) == 0 {
			for _, sub := range subs {
				near = append(near, sub.Name())
			}
		}
		return withHint(fmt.Errorf("unknown command %q for %q", args[0], cmd.CommandPath()), "%s %s", cmd.CommandPath(), strings.Join(near, "|"))
	}
	cmd.SetFlagErrorFunc(func(c *cobra.Command, err error) error { // of the commands below too
		if c == cmd {
			return cmp.Or(cmd.Args(cmd, cmd.Flags().Args()), err) // an unknown command explains its flags
		}
		return err
	})
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	return cmd
}

// exactly checks the number of arguments; what names them in the error.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != n {
			return fmt.Errorf("expected %s, got %d argument(s)", what, len(args))
		}
		return nil
	}
}
