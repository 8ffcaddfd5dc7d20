package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow/internal/trust"
)

func certsRotateCommand() *cobra.Command {
	var flags authorityFlags
	var use, finish bool
	cmd := flags.register(&cobra.Command{
		Use:   "rotate [--use | --finish] --ca DIR",
		Short: "Replace the authority's key in three steps",
		Long: `Without a flag: makes a second CA, which is trusted beside the first. Give all
processes the new ca.pem. Then --use: the new CA signs. Renew all certificates.
Then --finish: the authority removes the first CA. It refuses that while a valid
certificate is not renewed. To repeat a step changes nothing.`,
		Example: `  ergoflow certs rotate --ca lab-ca
  ergoflow certs rotate --use --ca lab-ca
  ergoflow certs rotate --finish --ca lab-ca`,
		Args: cobra.NoArgs,
		RunE: flags.with(func(ctx context.Context, a *trust.Authority, _ []string) error {
			var err error
			switch {
			case use:
				err = a.UseNext(ctx)
			case finish:
				err = a.FinishRotation(ctx, time.Now())
			default:
				err = a.BeginRotation(ctx, time.Now())
			}
			if err != nil {
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
	cmd.MarkFlagsMutuallyExclusive("use", "finish")
	return cmd
}

// rotationLine says how far a rotation has come, and what comes next.
func rotationLine(at trust.Rotation) string {
	switch at {
	case trust.Trusted:
		return "two CAs are trusted, the old one signs; when all processes have the new ca.pem: --use"
	case trust.InUse:
		return "the new CA signs, both are trusted; when all certificates are renewed: --finish"
	}
	return "one CA is trusted; no rotation is under way"
}
