package deploy

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// cli is what docs/cli.md says of ergoflow, which a test of the command compares with its
// help: the flags of each command.
type cli map[string][]string

func readCLI(t *testing.T) cli {
	t.Helper()
	commands := make(cli)
	flag := regexp.MustCompile(`(?m)^ +(?:-\w, )?(--[a-z][a-z-]*) `)
	for section := range strings.SplitSeq(read(t, "../docs/cli.md"), "\n## ergoflow ") {
		name, text, _ := strings.Cut(section, "\n")
		for _, found := range flag.FindAllStringSubmatch(text, -1) {
			commands[name] = append(commands[name], found[1])
		}
	}
	return commands
}

// command is the command that words begin with, and how many of them it is.
func (c cli) command(words []string) (name string, n int) {
	for n := min(len(words), 3); n > 0; n-- {
		if name := strings.Join(words[:n], " "); c[name] != nil || name == "version" {
			return name, n
		}
	}
	return "", 0
}

func isFlag(word string) bool { return strings.HasPrefix(word, "--") }

// endsCommand reports whether a shell would begin something else at a word.
func endsCommand(word string) bool { return strings.ContainsAny(word, "|;&<>#") }

// check checks words, which begin after the program's name. Words that are not flags may be
// values.
func (c cli) check(words []string) (command string, err error) {
	command, n := c.command(words)
	if n == 0 {
		if len(words) > 0 && regexp.MustCompile(`^[a-z][a-z-]*$`).MatchString(words[0]) {
			return "", fmt.Errorf("ergoflow has no command %q", words[0])
		}
		return "", nil
	}
	var unknown error
	for _, word := range words[n:] {
		flag, _, _ := strings.Cut(word, "=")
		if isFlag(flag) && !slices.Contains(c[command], flag) {
			unknown = errors.Join(unknown, fmt.Errorf("ergoflow %s has no flag %s", command, flag))
		}
	}
	return command, unknown
}

// inYAML checks every list, or text, of a YAML document that is a command of ergoflow. The
// entry point of an image is ergoflow, so a list of arguments begins with the command.
func (c cli) inYAML(document any) (commands []string, err error) {
	see := func(words []string) {
		if len(words) > 0 && filepath.Base(words[0]) == "ergoflow" {
			words = words[1:]
		} else if name, _ := c.command(words); name == "" {
			return
		}
		command, wrong := c.check(words)
		commands, err = append(commands, command), errors.Join(err, wrong)
	}
	switch d := document.(type) {
	case map[string]any:
		for key, value := range d {
			text, isText := value.(string)
			if isText && slices.Contains([]string{"command", "args", "entrypoint"}, key) {
				see(strings.Fields(text))
			}
			found, wrong := c.inYAML(value)
			commands, err = append(commands, found...), errors.Join(err, wrong)
		}
	case []any:
		var words []string
		for _, value := range d {
			if word, isText := value.(string); isText {
				words = append(words, word)
			}
			found, wrong := c.inYAML(value)
			commands, err = append(commands, found...), errors.Join(err, wrong)
		}
		if len(words) == len(d) && len(words) > 0 && words[0] == "CMD" { // a health check of Compose
			words = words[1:]
		}
		if len(words) > 0 {
			see(words)
		}
	}
	return commands, err
}

var (
	// programName is ergoflow where a command follows: on a command line, in a unit, in a comment.
	programName = regexp.MustCompile("(?:^|[\\s`\"'\\[=(/])ergoflow[\"',]*\\s+")
	options     = regexp.MustCompile(`^[#\s]*OPTIONS=(.*)`)
	noise       = strings.NewReplacer(`"`, " ", "'", " ", ",", " ", "[", " ", "]", " ", "`", " | ")
)

// inText checks the commands of ergoflow in the lines of a text, and the options that a unit
// takes from a file for its command.
func (c cli) inText(text string) (commands []string, err error) {
	text = strings.ReplaceAll(text, "\\\n", " ")
	for line := range strings.Lines(text) {
		at := programName.FindAllStringIndex(line, -1)
		for _, place := range at {
			// An answer in words, such as "an ergoflow cluster", has no flags.
			words := strings.Fields(noise.Replace(line[place[1]:]))
			if end := slices.IndexFunc(words, endsCommand); end >= 0 {
				words = words[:end]
			}
			if !slices.ContainsFunc(words, isFlag) {
				continue
			}
			if words[0] == "ergoflow" || strings.HasSuffix(words[0], "/ergoflow") { // before it stands cron's user
				words = words[1:]
			}
			command, wrong := c.check(words)
			if command != "" {
				commands = append(commands, command)
			}
			err = errors.Join(err, wrong)
		}
	}
	for line := range strings.Lines(text) {
		if found := options.FindStringSubmatch(line); found != nil && len(commands) > 0 {
			_, wrong := c.check(append(strings.Fields(commands[0]), strings.Fields(noise.Replace(found[1]))...))
			err = errors.Join(err, wrong)
		}
	}
	return commands, err
}

// variables checks the variables of the environment that a text names: those of flags, by the
// rule of docs/deploy.md, those of docs/operations.md, and those that a script itself reads.
func (c cli) variables(text, documented string) (err error) {
	known := map[string]bool{"ERGOFLOW_SETTINGS": true, "ERGOFLOW_RESULTS": true} // the latter is a stream of NATS
	capitals := func(words ...string) string {
		return "ERGOFLOW_" + strings.ToUpper(strings.NewReplacer("-", "_", " ", "_").Replace(strings.Join(words, "_")))
	}
	for command, flags := range c {
		for _, flag := range flags {
			name := strings.TrimPrefix(flag, "--")
			known[capitals(command, name)], known[capitals(name)] = true, true
		}
	}
	for _, name := range regexp.MustCompile(`ERGOFLOW_[A-Z0-9_]*[A-Z0-9]`).FindAllString(text, -1) {
		row := strings.Contains(documented, "| `"+name+"` |")
		if !known[name] && !row && !strings.Contains(text, "${"+name+":-") {
			err = errors.Join(err, fmt.Errorf("nothing reads %s", name))
		}
	}
	return err
}

// Every command, flag and variable of ergoflow that a file here names is one that it has.
func TestNamesExist(t *testing.T) {
	c, documented := readCLI(t), read(t, "../docs/operations.md")
	found := make(map[string]int)
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(path, ".go") || slices.Contains([]string{"go.mod", "go.sum"}, entry.Name()) {
			return err
		}
		text := read(t, path)
		commands, wrong := c.inText(text)
		if strings.HasSuffix(path, ".yaml") || strings.HasSuffix(path, ".yml") {
			more, also := inDocuments(c, text)
			commands, wrong = append(commands, more...), errors.Join(wrong, also)
		}
		if wrong = errors.Join(wrong, c.variables(text, documented)); wrong != nil {
			t.Errorf("%s: %v", path, wrong)
		}
		found[path] = len(commands)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{ // at least
		"cron/ergoflow-retrain": 1, "slurm/retrain.sbatch": 1, "systemd/ergoflow-coordinator.service": 1, "systemd/ergoflow-worker@.service": 1, "systemd/ergoflow-server.service": 1,
		"kubernetes/coordinator.yaml": 4, "kubernetes/workers.yaml": 1, "kubernetes/retrain-cronjob.yaml": 1, "helm/ergoflow/templates/NOTES.txt": 1,
	} {
		if found[path] < want {
			t.Errorf("%s: %d commands found, not %d: this test misses some", path, found[path], want)
		}
		text := regexp.MustCompile(`--([a-z])`).ReplaceAllString(read(t, path), "--no-$1")
		_, wrong := c.inText(text)
		if _, also := inDocuments(c, text); wrong == nil && also == nil {
			t.Errorf("%s: flags that are made up pass: this test shows nothing", path)
		}
	}
}

// inDocuments checks the documents of a YAML file. A chart's template is none.
func inDocuments(c cli, text string) (commands []string, err error) {
	for document := range strings.SplitSeq(text, "\n---\n") {
		var parsed any
		if yaml.Unmarshal([]byte(document), &parsed) == nil {
			found, wrong := c.inYAML(parsed)
			commands, err = append(commands, found...), errors.Join(err, wrong)
		}
	}
	return commands, err
}

// A name that is made up is found, wherever it stands.
func TestMadeUpNames(t *testing.T) {
	c, documented := readCLI(t), read(t, "../docs/operations.md")
	for text, want := range map[string]string{
		"ExecStart=/usr/bin/ergoflow worker --join a:1 --fast\n":                           "worker has no flag --fast",
		"ExecStart=/usr/bin/ergoflow \\\n  coordinator \\\n  --dir x \\\n  --fast=1\n":     "coordinator has no flag --fast",
		"# OPTIONS=--listen a:1 --fast\nExecStart=/usr/bin/ergoflow coordinator --dir x\n": "coordinator has no flag --fast",
		"5 2 * * * ergoflow /usr/bin/ergoflow retrain --config x --fast\n":                 "retrain has no flag --fast",
		`HEALTHCHECK CMD ["ergoflow", "status", "--dir", "/x", "--fast"]` + "\n":           "status has no flag --fast",
		"kubectl exec x -- ergoflow tokens create --dir x --fast | cat\n":                  "tokens create has no flag --fast",
		"ergoflow train-all --dir x\n":                                                     `no command "train-all"`,
		"ergoflow conduct --dir x\n":                                                       `no command "conduct"`,
		"args: [worker, --join=x, --fast]\n":                                               "worker has no flag --fast",
		"a:\n- args:\n  - coordinator\n  - --fast=1\n":                                     "coordinator has no flag --fast",
		"services: {a: {command: worker --join x --fast}}\n":                               "worker has no flag --fast",
		"healthcheck: {test: [CMD, ergoflow, status, --fast]}\n":                           "status has no flag --fast",
		"Environment=ERGOFLOW_CACHED=/x\n":                                                 "ERGOFLOW_CACHED",
		"env: {ERGOFLOW_WORKER_DIR: x}\n":                                                  "ERGOFLOW_WORKER_DIR",
		"env: {ERGOFLOW_WORKER_JOIN: x, ERGOFLOW_JOIN: y, ERGOFLOW_CACHE: z}\n":            "",
		"ergoflow worker --join x # --fast\n":                                              "",
		"ergoflow serves no one; `cat --fast`\n":                                           "",
		"ergoflow status --dir x | grep --fast\n":                                          "",
	} {
		_, err := c.inText(text)
		_, also := inDocuments(c, text)
		err = errors.Join(err, also, c.variables(text, documented))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
