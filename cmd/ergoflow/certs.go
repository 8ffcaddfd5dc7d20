package main

import (
	"context"
	"crypto/x509"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow/internal/trust"
)

func certsCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "certs",
		Short: "Certificates: make an authority, issue, list, revoke",
		Long: `An authority is a directory with a key that signs certificates. A certificate
says who a process or person is: a role (coordinator, worker, operator, viewer)
and a name in one cluster. A secured coordinator has its authority in DIR/ca
(docs/security.md).`,
		Example: "  ergoflow certs show --ca lab-ca",
	}, certsInitCommand(), certsIssueCommand(), certsSignCommand(), certsListCommand(), certsShowCommand(),
		certsRevokeCommand(), certsRotateCommand())
}

// authorityFlags are those of all commands below certs.
type authorityFlags struct {
	dir  string
	json bool
}

func (f *authorityFlags) register(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&f.dir, "ca", "ca", "directory of the authority; a secured coordinator has one in its directory")
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON (docs/formats.md)")
	return cmd
}

// with is the RunE of a command on the authority.
func (f *authorityFlags) with(run func(ctx context.Context, a *trust.Authority, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		a, err := trust.OpenAuthority(cmd.Context(), f.dir)
		if err != nil {
			return err
		}
		return run(cmd.Context(), a, args)
	}
}

// shownCertificate is a certificate in the documents of these commands.
type shownCertificate struct {
	trust.Issued
	Role  trust.Role  `json:"role"`
	Name  string      `json:"name"`
	State trust.State `json:"state"`
}

// shownAuthority is the document of `certs show`.
type shownAuthority struct {
	Cluster      string             `json:"cluster"`
	Rotation     trust.Rotation     `json:"rotation"`
	Authorities  []shownCA          `json:"authorities"`
	Certificates []shownCertificate `json:"certificates"`
}

type shownCA struct {
	Fingerprint trust.Fingerprint `json:"fingerprint"`
	Expires     time.Time         `json:"expires"`
	Signs       bool              `json:"signs"`
}

// certificatesOf lists the certificates on record: all, or those that a text means.
func certificatesOf(ctx context.Context, a *trust.Authority, text string, now time.Time) ([]shownCertificate, error) {
	issued, err := a.Issued(ctx)
	if err != nil {
		return nil, err
	}
	revoked, err := a.Revocations()
	if err != nil {
		return nil, err
	}
	var serial trust.Serial
	var id trust.Identity
	if text != "" {
		if serial, id, err = trust.Choose(issued, a.Cluster(), text); err != nil {
			return nil, err
		}
	}
	shown := []shownCertificate{} // never null in JSON
	for _, i := range issued {
		if text == "" || i.Serial == serial || i.Identity == id {
			shown = append(shown, shownCertificate{i, i.Identity.Role, i.Identity.Name, i.State(revoked, now)})
		}
	}
	if text != "" && len(shown) == 0 {
		return nil, fmt.Errorf("%v: %w", id, trust.ErrUnknown)
	}
	return shown, nil
}

func authorityOf(ctx context.Context, a *trust.Authority) (shownAuthority, error) {
	doc := shownAuthority{Cluster: a.Cluster(), Certificates: []shownCertificate{}}
	bundle, err := a.Bundle(ctx)
	if err != nil {
		return doc, err
	}
	for i, ca := range bundle {
		doc.Authorities = append(doc.Authorities, shownCA{trust.FingerprintOf(ca), ca.NotAfter, i == 0})
	}
	doc.Rotation, err = a.Rotation(ctx)
	return doc, err
}

func certsListCommand() *cobra.Command {
	var flags authorityFlags
	return flags.register(&cobra.Command{
		Use:   "list [NAME|ROLE/NAME|SERIAL] --ca DIR",
		Short: "List the certificates that an authority signed",
		Long: `Lists certificates, oldest first: valid, due (for renewal, after two thirds of
its life), expired or revoked. Records go 90 days after the certificate expired.`,
		Example: "  ergoflow certs list --ca lab-ca",
		Args:    cobra.MaximumNArgs(1),
		RunE: flags.with(func(ctx context.Context, a *trust.Authority, args []string) error {
			all, err := certificatesOf(ctx, a, strings.Join(args, ""), time.Now())
			switch {
			case err != nil:
				return err
			case flags.json:
				return printRows(all)
			case len(all) == 0:
				fmt.Fprintf(stdout, "no certificates of %s\n", flags.dir)
				return nil
			}
			t := tabwriter.NewWriter(stdout, 0, 4, 2, ' ', 0)
			fmt.Fprintln(t, "role\tname\tstate\texpires\tserial\tfingerprint")
			for _, c := range all {
				fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%.16s…\n", c.Role, c.Name, c.State, clockTime(c.Expires), c.Serial, c.Fingerprint)
			}
			return t.Flush()
		}),
	})
}

func certsShowCommand() *cobra.Command {
	var flags authorityFlags
	return flags.register(&cobra.Command{
		Use:   "show [NAME|ROLE/NAME|SERIAL] --ca DIR",
		Short: "Show an authority and its certificates, with all details",
		Long: `Shows the fingerprint of the authority (SHA-256 of its public key), and its
certificates: all of them, or those of one name or serial.`,
		Example: "  ergoflow certs show worker/gpu-1 --ca lab-ca",
		Args:    cobra.MaximumNArgs(1),
		RunE: flags.with(func(ctx context.Context, a *trust.Authority, args []string) error {
			doc, err := authorityOf(ctx, a)
			if err != nil {
				return err
			}
			if doc.Certificates, err = certificatesOf(ctx, a, strings.Join(args, ""), time.Now()); err != nil {
				return err
			}
			if flags.json {
				return printJSON(doc)
			}
			return printAuthority(doc)
		}),
	})
}

func printAuthority(doc shownAuthority) error {
	t := tabwriter.NewWriter(stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintf(t, "authority of cluster\t%s\n", doc.Cluster)
	for _, ca := range doc.Authorities {
		what := "fingerprint"
		if !ca.Signs {
			what = "trusted beside it"
		}
		fmt.Fprintf(t, "  %s\t%v\n  expires\t%s\n", what, ca.Fingerprint, clockTime(ca.Expires))
	}
	if doc.Rotation != trust.Resting {
		fmt.Fprintf(t, "  rotation\t%s\n", rotationLine(doc.Rotation))
	}
	for _, c := range doc.Certificates {
		fmt.Fprintf(t, "%s\t%s\n", c.Identity, c.State)
		fmt.Fprintf(t, "  serial\t%s\n  expires\t%s\n  fingerprint\t%s\n", c.Serial, clockTime(c.Expires), c.Fingerprint)
	}
	return t.Flush()
}

// printSigned prints the certificate that was just signed, and where it is.
func (f *authorityFlags) printSigned(ctx context.Context, a *trust.Authority, cert *x509.Certificate, where string) error {
	shown, err := certificatesOf(ctx, a, string(trust.SerialOf(cert)), time.Now())
	if err != nil {
		return err
	}
	if f.json {
		return printJSON(shown[0])
	}
	_, err = fmt.Fprintf(stdout, "%v: serial %s, expires %s, in %s\n", shown[0].Identity, shown[0].Serial, clockTime(shown[0].Expires), where)
	return err
}
