package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow/internal/trust"
)

func certsRotateCommand() *cobra.Command {
	var flags authorityFlags
	var use, finish, force bool
	var wait time.Duration
	cmd := flags.register(&cobra.Command{
		Use:   "rotate [--use | --finish] --ca DIR",
		Short: "Replace the authority's key in three steps",
		Long: `Without a flag: makes a second CA, which is trusted beside the first. --use: the
new CA signs. --finish: the first CA no longer counts. After each step all
processes need a new certificate. In a cluster that runs they renew theirs
within seconds, and training goes on.

--use and --finish refuse while a valid certificate is from before the last
step, and name its holder; --wait waits for it. Revoke what does not come back,
or --force the step: what was cut off joins again by a token. To repeat a step
changes nothing.`,
		Example: `  ergoflow certs rotate --ca DIR/ca
  ergoflow certs rotate --use --wait 1m --ca DIR/ca
  ergoflow certs rotate --finish --wait 1m --ca DIR/ca`,
		Args: cobra.NoArgs,
		RunE: flags.with(func(ctx context.Context, a *trust.Authority, _ []string) error {
			step := func() error { return a.BeginRotation(ctx, time.Now()) }
			switch {
			case use:
				step = func() error { return a.UseNext(ctx, time.Now(), force) }
			case finish:
				step = func() error { return a.FinishRotation(ctx, time.Now(), force) }
			}
			if err := whenRenewed(ctx, wait, step); err != nil {
				return err
			}
			doc, err := authorityOf(ctx, a)
			switch {
			case err != nil:
				return err
			case flags.json:
				return printJSON(doc)
			}
			_, err = fmt.Fprintln(stdout, rotationLine(doc.Rotation))
			return err
		}),
	})
	cmd.Flags().BoolVar(&use, "use", false, "let the new CA sign")
	cmd.Flags().BoolVar(&finish, "finish", false, "remove the old CA")
	cmd.Flags().BoolVar(&force, "force", false, "take the step though it cuts off who has not renewed")
	cmd.Flags().DurationVar(&wait, "wait", 0, "how long to wait until all have renewed")
	cmd.MarkFlagsMutuallyExclusive("use", "finish")
	return cmd
}

// whenRenewed takes a step of a rotation. While certificates are not renewed it tries again,
// until wait is over.
func whenRenewed(ctx context.Context, wait time.Duration, step func() error) error {
	for deadline := time.Now().Add(wait); ; {
		err := step()
		if !errors.Is(err, trust.ErrNotRenewed) || !time.Now().Before(deadline) {
			return err
		}
		select {
		case <-time.After(rotateInterval):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// rotationLine says how far a rotation has come, and what comes next.
func rotationLine(at trust.Rotation) string {
	switch at {
	case trust.Trusted:
		return "two CAs are trusted, the old one signs; when all certificates are renewed: --use"
	case trust.InUse:
		return "the new CA signs, both are trusted; when all certificates are renewed: --finish"
	}
	return "one CA is trusted; no rotation is under way"
}
