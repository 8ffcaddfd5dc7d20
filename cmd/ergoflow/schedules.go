package main

import "github.com/spf13/cobra"

func schedulesCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:     "schedules",
		Short:   "Times at which work starts by itself",
		Example: "  ergoflow schedules next '30 2 * * *' --zone Europe/Berlin",
	}, schedulesNextCommand(), schedulesAddCommand(), schedulesListCommand(), schedulesShowCommand(), schedulesPauseCommand(),
		schedulesResumeCommand(), schedulesRunCommand(), schedulesRemoveCommand())
}
