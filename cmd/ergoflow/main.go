// Ergoflow trains neural samplers of the invariant measures of stochastic
// differential equations on an elastic cluster. See `ergoflow --help`.
package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

func main() { os.Exit(Main(os.Args[1:])) }

// Main runs the command line and returns the exit code: 0, 1 for a failure,
// 2 for wrong usage, 130 where a cluster goes on without us.
func Main(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The first signal asks for an orderly end; after it the default action
	// is back, so that a second one ends the process at once.
	context.AfterFunc(ctx, stop)

	root := rootCommand()
	begun := false
	noteBegin(root, &begun)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && !begun { // flags, arguments, command: cobra refused them
		err = usage(flagError(err))
	}
	if wrong := new(*usageError); errors.As(err, wrong) && hintFor(err) == "" {
		err = withHint(err, "see `%s --help`", cmd.CommandPath())
	}
	if err == nil && stdout.err != nil {
		err = fmt.Errorf("results did not arrive: %w", stdout.err)
	}
	if err == nil {
		return 0
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = interrupted(cmd.CommandPath())
	}
	var said bytes.Buffer
	code := fail(&said, err)
	if _, err := os.Stderr.Write(said.Bytes()); err != nil {
		os.Stdout.Write(said.Bytes()) // a log on a full disk: the parent listens here too
	}
	return code
}

// noteBegin sets begun when a command's own code begins.
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
		Short: "Neural samplers of invariant measures, trained on an elastic cluster",
		Long: `ergoflow trains one network that maps the coefficients (b, σ) of a stochastic
differential equation dX = b(X)dt + σ(X)dW to a flow from Gaussian noise to its
invariant measure, data-parallel on an elastic group of workers, and samples
new equations at once, without simulation.`,
		Example:           "  ergoflow run vn1d --preset demo",
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.AddGroup(
		&cobra.Group{ID: "main", Title: "From equations to a sampler:"},
		&cobra.Group{ID: "cluster", Title: "A cluster by hand:"},
		&cobra.Group{ID: "tools", Title: "Tools:"},
	)
	in := func(group string, commands ...*cobra.Command) {
		for _, c := range commands {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	in("main", runCommand(), reproduceCommand(), sampleCommand(), evaluateCommand())
	in("cluster", coordinatorCommand(), workerCommand(), generateCommand(), trainCommand(), statusCommand(), checkpointsCommand(), shardsCommand(), verifyCommand())
	in("tools", modelCommand(), simulateCommand(), metricsCommand(), benchCommand(), backendCommand(), doctorCommand(), versionCommand())
	refuseUnknownHelp(root)
	return root
}

// refuseUnknownHelp makes `help` of what there is not wrong usage; cobra's own
// command ends well.
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

// group gathers commands under a name. Alone it shows its help; what it does not
// know it refuses, as the root does.
func group(cmd *cobra.Command, subs ...*cobra.Command) *cobra.Command {
	cmd.AddCommand(subs...)
	cmd.DisableFlagsInUseLine = true
	cmd.SuggestionsMinimumDistance = 2 // cobra's own of the root
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
			return cmp.Or(cmd.Args(cmd, cmd.Flags().Args()), err) // flags of the command that was meant
		}
		return err
	})
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	return cmd
}

// exactly checks the number of arguments and says what they are.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != n {
			return fmt.Errorf("expected %s, got %d argument(s)", what, len(args))
		}
		return nil
	}
}
