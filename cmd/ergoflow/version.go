package main

import (
	"bufio"
	"cmp"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/internal/memory"
	"github.com/ergoflow/ergoflow/model/compute/backend"
)

// A versionReport is what a report of a bug needs of the program and of the machine. It names no
// user, no host and no directory.
type versionReport struct {
	Version    string            `json:"version"`
	Protocol   uint32            `json:"protocol"` // the newest that it speaks
	Oldest     uint32            `json:"oldest_protocol"`
	Numerics   uint32            `json:"numerics"`            // by which it computes
	Commit     string            `json:"commit,omitempty"`    // empty: built outside git
	Committed  string            `json:"committed,omitempty"` // RFC 3339
	Modified   bool              `json:"modified,omitempty"`  // it has changes that are not committed
	Go         string            `json:"go"`
	Platform   string            `json:"platform"`
	Settings   map[string]string `json:"settings"` // of the build, such as CGO_ENABLED
	Modules    map[string]string `json:"modules"`  // path → version
	Plugins    map[string]string `json:"plugins"`  // backend → version of the installed plugin
	Kernel     string            `json:"kernel,omitempty"`
	Processor  string            `json:"processor,omitempty"`
	Processors int               `json:"processors"`             // that it may use
	Memory     uint64            `json:"memory_bytes,omitempty"` // that it may use
}

func versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version, and what a report of a bug needs",
		Long: `Print the version in the first line, then what a report of a bug needs: the
build's commit and settings, libraries, plugins, and the machine. It names no
user, no host and no directory. ` + "`ergoflow doctor`" + ` checks that the machine works.`,
		Example: `  ergoflow version
  ergoflow version --json`,
		Args: exactly(0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			report := reportVersion()
			if asJSON {
				return printJSON(report)
			}
			return report.print()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, with all modules (docs/formats.md)")
	return cmd
}

// reportVersion leaves out what cannot be found.
func reportVersion() versionReport {
	own := ergoflow.ThisRelease()
	r := versionReport{
		Version: own.Version, Protocol: own.Protocol, Oldest: own.OldestProtocol, Numerics: own.Numerics, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Settings: map[string]string{}, Modules: map[string]string{}, Plugins: map[string]string{},
		Kernel: kernelRelease(), Processor: processor(), Processors: runtime.GOMAXPROCS(0),
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				r.Commit = s.Value
			case "vcs.time":
				r.Committed = s.Value
			case "vcs.modified":
				r.Modified = s.Value == "true"
			default:
				if s.Key == "CGO_ENABLED" || strings.HasPrefix(s.Key, "GO") { // flags may have paths
					r.Settings[s.Key] = s.Value
				}
			}
		}
		for _, m := range info.Deps {
			r.Modules[m.Path] = m.Version
			if m.Replace != nil {
				r.Modules[m.Path] = "replaced"
			}
		}
	}
	for _, p := range backend.Installed() {
		r.Plugins[p.Backend] = p.Version
	}
	if limit, err := memory.Find(); err == nil {
		r.Memory = limit.Bytes
	}
	return r
}

// reported are the modules in the text: those whose versions have explained bugs.
var reported = []string{
	"github.com/gomlx/gomlx", "github.com/gomlx/go-xla", "google.golang.org/grpc",
	"github.com/nats-io/nats-server/v2", "github.com/hashicorp/memberlist", "go.etcd.io/bbolt",
}

// versionLine is the first line, and all that --version prints.
func versionLine() string {
	return fmt.Sprintf("ergoflow %s %s %s/%s", ergoflow.Build(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func (r versionReport) print() error {
	fmt.Fprintln(stdout, versionLine())
	t := tabwriter.NewWriter(stdout, 0, 4, 2, ' ', 0)
	commit := cmp.Or(r.Commit, "unknown: built outside git")
	if r.Committed != "" {
		commit += " of " + r.Committed
	}
	if r.Modified {
		commit += ", with changes that are not committed"
	}
	fmt.Fprintf(t, "commit\t%s\n", commit)
	fmt.Fprintf(t, "speaks\tprotocols %d to %d, numerics %d\n", r.Oldest, r.Protocol, r.Numerics)
	fmt.Fprintf(t, "build\t%s\n", pairs(r.Settings, "="))
	for _, path := range reported {
		if v, ok := r.Modules[path]; ok {
			fmt.Fprintf(t, "module\t%s %s\n", path, v)
		}
	}
	fmt.Fprintf(t, "plugins\t%s\n", cmp.Or(pairs(r.Plugins, " "), "none: pure Go"))
	fmt.Fprintf(t, "kernel\t%s\n", cmp.Or(r.Kernel, "unknown"))
	fmt.Fprintf(t, "processors\t%d, %s\n", r.Processors, cmp.Or(r.Processor, "of unknown kind"))
	if r.Memory > 0 {
		fmt.Fprintf(t, "memory\t%s\n", humanize.IBytes(r.Memory))
	}
	return t.Flush()
}

// pairs lists keys and values, by key.
func pairs(of map[string]string, between string) string {
	list := make([]string, 0, len(of))
	for key, value := range of {
		list = append(list, key+between+value)
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// kernelRelease is the kernel's name and release, such as "Linux 6.1.0".
func kernelRelease() string {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return ""
	}
	return unix.ByteSliceToString(name.Sysname[:]) + " " + unix.ByteSliceToString(name.Release[:])
}

// processor is the name that Linux gives to the first processor, which not all have.
func processor() string {
	file, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if key, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
