package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ergoflow/ergoflow/internal/yamltext"
)

// A flag that is not on the command line takes its value from the environment, then from the
// file that envSettings names, and then has its default. A process that another one of the
// program has started takes all from its command line.

// envSettings names the file of settings.
const envSettings = "ERGOFLOW_SETTINGS"

// maxSettings bounds the file, in bytes.
const maxSettings = 1 << 20

// The annotation that says where the value of a flag came from. Without it: the command line,
// or the default.
const originAnnotation = "ergoflow_origin"

// mutuallyExclusive is cobra's annotation of flags of which one at most is given: a list of
// groups, each with the names separated by spaces.
const mutuallyExclusive = "cobra_annotation_mutually_exclusive"

// environmentNames are the variables of a command's flag. The first one that is set counts.
func environmentNames(cmd *cobra.Command, flag string) []string {
	name := func(words ...string) string {
		return "ERGOFLOW_" + strings.ToUpper(strings.NewReplacer("-", "_", " ", "_").Replace(strings.Join(words, "_")))
	}
	return []string{name(commandWords(cmd), flag), name(flag)}
}

// commandWords is a command as one types it, without the program's name.
func commandWords(cmd *cobra.Command) string {
	_, words, _ := strings.Cut(cmd.CommandPath(), " ")
	return words
}

// takesSettings reports whether a flag may be set elsewhere than on the command line. Hidden
// ones are between processes of the program.
func takesSettings(f *pflag.Flag) bool { return !f.Hidden && f.Name != "help" }

// applySettings sets the flags that are not on the command line.
func applySettings(cmd *cobra.Command) error {
	internal := false
	given := make(map[string]bool)
	cmd.Flags().Visit(func(f *pflag.Flag) {
		given[f.Name] = true
		internal = internal || f.Hidden
	})
	if internal {
		return nil
	}
	file, err := readSettings(os.Getenv(envSettings))
	if err != nil {
		return err
	}
	if err := file.check(cmd.Root()); err != nil {
		return err
	}
	var failed error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if failed != nil || !takesSettings(f) || given[f.Name] || excluded(f, given) {
			return
		}
		values, origin := lookUp(cmd, f, file)
		if len(values) == 0 {
			return
		}
		if err := setFlag(cmd.Flags(), f, values); err != nil {
			failed = usage(fmt.Errorf("%s: %w", origin, flagError(err)))
			return
		}
		if f.Annotations == nil {
			f.Annotations = make(map[string][]string)
		}
		f.Annotations[originAnnotation] = []string{origin}
	})
	return failed
}

// setFlag gives a flag its values: several where it takes a list.
func setFlag(flags *pflag.FlagSet, f *pflag.Flag, values []string) error {
	if len(values) == 1 {
		return flags.Set(f.Name, values[0])
	}
	list, ok := f.Value.(pflag.SliceValue)
	if !ok {
		return flags.Set(f.Name, strings.Join(values, ","))
	}
	if err := flags.Set(f.Name, values[0]); err != nil { // it counts as given
		return err
	}
	return list.Replace(values)
}

// excluded reports whether the command line has a flag that excludes this one: it replaces
// what is set elsewhere.
func excluded(f *pflag.Flag, given map[string]bool) bool {
	return slices.ContainsFunc(f.Annotations[mutuallyExclusive], func(names string) bool {
		return slices.ContainsFunc(strings.Fields(names), func(name string) bool { return given[name] })
	})
}

// lookUp finds the values of a flag, and where they are from. No values: nowhere.
func lookUp(cmd *cobra.Command, f *pflag.Flag, file settings) (values []string, origin string) {
	for _, name := range environmentNames(cmd, f.Name) {
		if value, found := os.LookupEnv(name); found {
			return []string{value}, "$" + name
		}
	}
	return file.commands[commandWords(cmd)][f.Name], file.path
}

// settings are those of a file: flags by command.
type settings struct {
	path     string
	commands map[string]map[string][]string
}

// readSettings reads a file of settings. An empty path is none.
func readSettings(path string) (settings, error) {
	if path == "" {
		return settings{}, nil
	}
	info, err := os.Stat(path)
	if err == nil && info.Size() > maxSettings {
		err = fmt.Errorf("%s has more than %d bytes", path, maxSettings)
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(path)
	}
	if err != nil {
		return settings{}, fmt.Errorf("$%s: %w", envSettings, err)
	}
	var raw map[string]map[string]any
	if err := yaml.Unmarshal(text, &raw); err != nil {
		return settings{}, usage(fmt.Errorf("%s: %w", path, yamltext.Plain(err)))
	}
	s := settings{path: path, commands: make(map[string]map[string][]string)}
	for command, flags := range raw {
		s.commands[command] = make(map[string][]string)
		for name, value := range flags {
			s.commands[command][name] = settingValues(value)
		}
	}
	return s, nil
}

// settingValues is a value, or a list of values, as on the command line.
func settingValues(value any) (words []string) {
	list, isList := value.([]any)
	if !isList {
		list = []any{value}
	}
	for _, v := range list {
		words = append(words, fmt.Sprint(v))
	}
	return words
}

// check refuses commands and flags that the program does not have.
func (s settings) check(root *cobra.Command) error {
	for command, flags := range s.commands {
		cmd, rest, err := root.Find(strings.Fields(command))
		if err != nil || len(rest) > 0 || cmd == root {
			return usagef("%s: there is no command %q", s.path, command)
		}
		for name := range flags {
			if f := cmd.Flags().Lookup(name); f == nil || !takesSettings(f) {
				return usagef("%s: `ergoflow %s` has no flag --%s", s.path, command, name)
			}
		}
	}
	return nil
}

func configCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "config",
		Short: "Settings: where the flags of a command get their values",
		Long: `A flag that is not on the command line takes its value from the environment:
ERGOFLOW_COMMAND_FLAG, then ERGOFLOW_FLAG, in capitals with _ for - and spaces,
such as ERGOFLOW_WORKER_LISTEN or ERGOFLOW_STORE. Then from the YAML file that
ERGOFLOW_SETTINGS names, which has commands with their flags:

  coordinator:
    dir: /var/lib/ergoflow
    listen: 10.0.0.1:7070

Otherwise it has its default. A flag on the command line also replaces settings
of those that it excludes.`,
		Example: "  ERGOFLOW_LISTEN=10.0.0.1:7070 ergoflow config show coordinator",
	}, configShowCommand())
}

// shownSetting is a flag in the document of `config show`.
type shownSetting struct {
	Flag  string `json:"flag"`
	Value string `json:"value"`
	From  string `json:"from"` // "default", a variable with $, or a file
}

func configShowCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show COMMAND",
		Short: "Show the values of a command's flags, and where they are from",
		Long: `Shows what the flags of a command are without a command line: each value, and
whether it is from the environment, the file of settings, or the default. It
does not show tokens.`,
		Example: "  ergoflow config show coordinator\n  ergoflow config show models list --json",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			shown, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 || shown == cmd.Root() {
				return usagef("there is no command %q", strings.Join(args, " "))
			}
			list, err := settingsOf(shown)
			switch {
			case err != nil:
				return err
			case asJSON:
				return printRows(list)
			}
			t := tabwriter.NewWriter(stdout, 0, 4, 2, ' ', 0)
			for _, s := range list {
				fmt.Fprintf(t, "--%s\t%s\t%s\n", s.Flag, cmp.Or(s.Value, "–"), s.From)
			}
			return t.Flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON (docs/formats.md)")
	return cmd
}

// secretFlag is the flag whose value nobody prints.
const secretFlag = "token"

func settingsOf(cmd *cobra.Command) ([]shownSetting, error) {
	if err := applySettings(cmd); err != nil {
		return nil, err
	}
	list := []shownSetting{} // never null in JSON
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !takesSettings(f) {
			return
		}
		s := shownSetting{f.Name, f.Value.String(), "default"}
		if origin := f.Annotations[originAnnotation]; origin != nil {
			s.From = origin[0]
		}
		if f.Name == secretFlag && s.Value != "" {
			s.Value = "(set)"
		}
		list = append(list, s)
	})
	return list, nil
}
