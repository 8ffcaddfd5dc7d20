package main

import (
	"fmt"
	"time"
	_ "time/tzdata" // zones for machines that have none, such as an empty container

	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow/coordinator/schedule"
)

// maxNext is the largest number of times that one call prints.
const maxNext = 10_000

func schedulesNextCommand() *cobra.Command {
	var zone, from string
	var count int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "next CRON",
		Short: "Print the next times of a cron line in a time zone",
		Long: `Prints the next times of a cron line, one a line, in RFC 3339 with the zone's
offset. Needs no coordinator.

A line has five fields: minute, hour, day of month, month of year and day of
week, as in Debian's cron. Or it is @hourly, @daily, @weekly, @monthly or
@yearly. CRON_TZ=ZONE in front of the line names the zone, as --zone does.

Where the clock is put forward, a time that does not exist starts right after
the gap. Where it is put back, a time that comes twice starts once, the first
time. Lines whose minute or hour begins with * run in real time instead.`,
		Example: "  ergoflow schedules next '30 2 * * *' --zone Europe/Berlin --from 2026-03-28T12:00:00Z -n 3",
		Args:    exactly(1, "a cron line in quotation marks"),
		RunE: func(cmd *cobra.Command, args []string) error {
			spec, err := schedule.Parse(args[0], zone)
			if err != nil {
				return usage(err)
			}
			if count < 1 || count > maxNext {
				return usagef("-n is %d, not in 1…%d", count, maxNext)
			}
			after := time.Now()
			if from != "" {
				if after, err = time.Parse(time.RFC3339, from); err != nil {
					return withHint(usagef("--from is %.60q, no time as in RFC 3339", from), "give a time such as 2026-03-28T12:00:00Z or 2026-03-28T13:00:00+01:00")
				}
			}
			return printTimes(spec, after, count, asJSON)
		},
	}
	f := cmd.Flags()
	f.StringVar(&zone, "zone", "", `time zone of the line, a name of the tz database such as Europe/Berlin (default "UTC")`)
	f.StringVar(&from, "from", "", "print the times after this one, in RFC 3339 (default: now)")
	f.IntVarP(&count, "count", "n", 5, "number of times")
	f.BoolVar(&asJSON, "json", false, "print JSON (docs/formats.md)")
	return cmd
}

// printTimes prints the next times of a line.
func printTimes(spec schedule.Spec, after time.Time, count int, asJSON bool) error {
	doc := struct {
		Cron     string   `json:"cron"`
		Zone     string   `json:"zone"`
		From     string   `json:"from"`
		Times    []string `json:"times"`
		Warnings []string `json:"warnings"`
	}{spec.Line(), spec.Zone().String(), after.Format(time.RFC3339), []string{}, []string{}}
	for _, t := range spec.Following(after, count) {
		doc.Times = append(doc.Times, t.Format(time.RFC3339))
	}
	if n := len(doc.Times); n < count {
		doc.Warnings = append(doc.Warnings, fmt.Sprintf("only %d times come before the year 10000", n))
		warn(doc.Warnings)
	}
	if asJSON {
		return printJSON(doc)
	}
	for _, t := range doc.Times {
		fmt.Fprintln(stdout, t)
	}
	return nil
}
