package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/experiment"
)

// addCompletions tells the shell's completion which names there are: experiments, presets, runs,
// backends, and those of formulas.
func addCompletions(cmd *cobra.Command) {
	if strings.Contains(cmd.Use, " EXPERIMENT") {
		cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return experiment.Names(), cobra.ShellCompDirectiveNoFileComp
		}
	}
	if cmd.Name() == "report" {
		cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return reportedRuns(), cobra.ShellCompDirectiveDefault
		}
	}
	for flag, complete := range map[string]cobra.CompletionFunc{
		"preset":    presetNames,
		"drift":     completeFormula,
		"diffusion": completeFormula,
		"checkpoint": func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return runsWithCheckpoints(), cobra.ShellCompDirectiveDefault // files too
		},
		"backend": func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{backend.Auto, backend.XLACUDA, backend.XLACPU, backend.Go}, cobra.ShellCompDirectiveNoFileComp
		},
	} {
		if cmd.Flags().Lookup(flag) != nil {
			if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
				panic(err) // the flag exists, and has no other
			}
		}
	}
	for _, sub := range cmd.Commands() {
		addCompletions(sub)
	}
}

// presetNames are those of the experiment before the flag, or of any.
func presetNames(_ *cobra.Command, args []string, _ string) (presets []string, _ cobra.ShellCompDirective) {
	for _, name := range experiment.Names() {
		if len(args) == 0 || args[0] == name {
			presets = append(presets, experiment.Presets(name)...)
		}
	}
	slices.Sort(presets)
	return slices.Compact(presets), cobra.ShellCompDirectiveNoFileComp
}
