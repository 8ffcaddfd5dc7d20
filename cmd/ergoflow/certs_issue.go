package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow/internal/atomicfile"
	"github.com/ergoflow/ergoflow/internal/trust"
)

func certsInitCommand() *cobra.Command {
	var flags authorityFlags
	var cluster string
	cmd := flags.register(&cobra.Command{
		Use:   "init --cluster NAME --ca DIR",
		Short: "Make an authority",
		Long: `Makes the directory, and in it the authority's key (ca-key.pem, which only you
can read) and certificate (ca.pem, valid for ten years). A person who has the
key can sign a certificate for any role and name: keep the key on one machine,
and a copy of it offline.`,
		Example: "  ergoflow certs init --cluster lab --ca lab-ca",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := trust.CheckCluster(cluster); err != nil {
				return usage(err)
			}
			a, err := trust.CreateAuthority(cmd.Context(), flags.dir, cluster, time.Now())
			if err != nil {
				return err
			}
			doc, err := authorityOf(cmd.Context(), a)
			switch {
			case err != nil:
				return err
			case flags.json:
				return printJSON(doc)
			}
			return printAuthority(doc)
		},
	})
	cmd.Flags().StringVar(&cluster, "cluster", "", "`name` of the cluster: lower-case letters, digits and hyphens (required)")
	cmd.MarkFlagRequired("cluster")
	return cmd
}

// certificateFlags say what to sign.
type certificateFlags struct {
	life  time.Duration
	hosts []string
	ips   []string
}

func (f *certificateFlags) add(cmd *cobra.Command) {
	cmd.Flags().DurationVar(&f.life, "life", trust.DefaultLife, "how long the certificate is valid")
	cmd.Flags().StringArrayVar(&f.hosts, "host", nil, "DNS `name` for programs that look for one, such as browsers (repeatable)")
	cmd.Flags().StringArrayVar(&f.ips, "ip", nil, "IP `address` for such programs (repeatable)")
}

// request makes the request for ROLE/NAME that the authority signs.
func (f *certificateFlags) request(subject string) (trust.Request, error) {
	role, name, err := trust.ParseSubject(subject)
	if err != nil {
		return trust.Request{}, usage(err)
	}
	if f.life == 0 { // the authority would take its default
		return trust.Request{}, usagef("--life is 0")
	}
	r := trust.Request{Role: role, Name: name, Life: f.life, DNS: f.hosts}
	for _, text := range f.ips {
		ip, err := netip.ParseAddr(text)
		if err != nil {
			return trust.Request{}, usagef("--ip is %.60q, not an IP address", text)
		}
		r.IPs = append(r.IPs, ip)
	}
	return r, nil
}

func certsIssueCommand() *cobra.Command {
	var flags authorityFlags
	var wanted certificateFlags
	var out string
	cmd := flags.register(&cobra.Command{
		Use:   "issue ROLE/NAME -o DIR --ca DIR",
		Short: "Make a key and a certificate for a process or person",
		Long: `Writes key.pem (which only you can read), cert.pem and ca.pem into a directory,
and for a coordinator revoked.json, the list of what is revoked. Roles are
coordinator, worker, operator and viewer. Credentials of the same name that are
there are renewed; others are not overwritten.`,
		Example: "  ergoflow certs issue worker/gpu-1 -o gpu-1 --ca lab-ca",
		Args:    exactly(1, "ROLE/NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := wanted.request(args[0])
			if err != nil {
				return err
			}
			a, err := trust.OpenAuthority(cmd.Context(), flags.dir)
			if err != nil {
				return err
			}
			if err := trust.CheckPlace(out, trust.Identity{Cluster: a.Cluster(), Role: r.Role, Name: r.Name}); err != nil {
				return placeHint(err)
			}
			pair, err := a.Issue(cmd.Context(), r, time.Now())
			if err != nil {
				return err
			}
			bundle, err := a.Bundle(cmd.Context())
			if err != nil {
				return err
			}
			if err := trust.SaveCredentials(out, pair, bundle); err != nil {
				return placeHint(err)
			}
			if r.Role == trust.Coordinator {
				if err := saveRevocations(a, out); err != nil {
					return err
				}
			}
			return flags.printSigned(cmd.Context(), a, pair.Certificate, out)
		},
	})
	wanted.add(cmd)
	cmd.Flags().StringVarP(&out, "output", "o", "", "directory of the credentials (required)")
	cmd.MarkFlagRequired("output")
	return cmd
}

// saveRevocations gives a coordinator the list of what is revoked.
func saveRevocations(a *trust.Authority, dir string) error {
	revoked, err := a.Revocations()
	if err != nil {
		return err
	}
	return trust.SaveRevocations(dir, revoked)
}

// placeHint is the hint of a directory that does not take credentials.
func placeHint(err error) error {
	if errors.Is(err, trust.ErrFormat) || errors.Is(err, trust.ErrOther) || errors.Is(err, trust.ErrExists) || errors.Is(err, os.ErrNotExist) {
		return withHint(err, "give -o a directory of its own")
	}
	return err
}

func certsSignCommand() *cobra.Command {
	var flags authorityFlags
	var wanted certificateFlags
	var request, out string
	cmd := flags.register(&cobra.Command{
		Use:   "sign ROLE/NAME --request FILE -o FILE --ca DIR",
		Short: "Sign a certificate request; the key stays where it is",
		Long: `Signs a request (CSR, PEM) with a key of ECDSA P-256, P-384 or Ed25519. Role and
name come from you. If the request has a URI, that must be the same identity.
The authority ignores everything else in the request. The requester needs
ca.pem, too.`,
		Example: "  ergoflow certs sign operator/ada --request ada.csr -o ada.pem --ca lab-ca",
		Args:    exactly(1, "ROLE/NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := wanted.request(args[0])
			if err != nil {
				return err
			}
			a, err := trust.OpenAuthority(cmd.Context(), flags.dir)
			if err != nil {
				return err
			}
			csr, err := trust.ReadRequest(request)
			if err != nil {
				return err
			}
			if err := atomicfile.Writable(out); err != nil {
				return withHint(err, "give -o a file in a directory that exists and is writable")
			}
			cert, err := a.Sign(cmd.Context(), csr, r, time.Now())
			if err != nil {
				return fmt.Errorf("%s: %w", request, err)
			}
			if err := atomicfile.Write(out, trust.EncodeCertificates(cert)); err != nil {
				return err
			}
			return flags.printSigned(cmd.Context(), a, cert, out)
		},
	})
	wanted.add(cmd)
	cmd.Flags().StringVar(&request, "request", "", "`file` of the request (required)")
	cmd.Flags().StringVarP(&out, "output", "o", "", "`file` of the certificate (required)")
	cmd.MarkFlagRequired("request")
	cmd.MarkFlagRequired("output")
	return cmd
}

func certsRevokeCommand() *cobra.Command {
	var flags authorityFlags
	return flags.register(&cobra.Command{
		Use:   "revoke NAME|ROLE/NAME|SERIAL --ca DIR",
		Short: "Revoke one certificate, or all certificates of a name for ever",
		Long: `A serial revokes one certificate; the same name can have another one. A name
revokes all its certificates, and the authority signs no further ones for it.
Write ROLE/NAME where a name has several roles, or the authority no record.`,
		Example: "  ergoflow certs revoke worker/gpu-1 --ca lab-ca",
		Args:    exactly(1, "a name or a serial"),
		RunE: flags.with(func(ctx context.Context, a *trust.Authority, args []string) error {
			issued, err := a.Issued(ctx)
			if err != nil {
				return err
			}
			serial, id, err := trust.Choose(issued, a.Cluster(), args[0])
			if err != nil {
				return err
			}
			what := "certificate " + string(serial)
			if serial != "" {
				err = a.RevokeSerial(ctx, serial, time.Now())
			} else {
				what = id.String()
				err = a.RevokeIdentity(ctx, id, time.Now())
			}
			if err != nil {
				return err
			}
			if flags.json {
				revoked, err := a.Revocations()
				if err != nil {
					return err
				}
				return printJSON(revoked)
			}
			_, err = fmt.Fprintf(stdout, "%s is revoked\n", what)
			return err
		}),
	})
}
