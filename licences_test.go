package ergoflow

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/licensecheck"
)

var update = flag.Bool("update", false, "write THIRD_PARTY_LICENSES instead of comparing with it")

// Licences, by SPDX identifier, that ask of an Apache-2.0 program no more than their text
// and their names, or at most the source of their own files (MPL-2.0). OFL-1.1 is of the
// fonts that figures are drawn with.
var allowed = []string{
	"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC-BY-4.0", "CC0-1.0", "FTL",
	"ISC", "MIT", "MPL-2.0", "OFL-1.1", "Unlicense", "Zlib",
}

// Modules that offer a choice of licences, and the file with the one that was chosen.
var chosen = map[string]string{
	"github.com/golang/freetype": "licenses/ftl.txt", // or the GPL
}

// Code of others that is no Go module, and is embedded: name, version and the file with its
// licence.
var vendored = []struct{ name, version, licence string }{
	{"uPlot", "1.6.32", "internal/webpage/static/uplot/LICENSE"},
}

var (
	licenceFile = regexp.MustCompile(`(?i)^((un)?licen[cs]e|copying|notice)`)
	// Names of what is printed and not judged: notices, and gonum's directory with the
	// licences of code that it took from elsewhere, most of which is not in the binary.
	notice = regexp.MustCompile(`(?i)((^|/)notice|^third_party_licenses/)`)
)

// THIRD_PARTY_LICENSES has the version, licence and texts of every module in the binary,
// and every licence is known and allowed.
func TestThirdPartyLicences(t *testing.T) {
	const path = "THIRD_PARTY_LICENSES"
	want := thirdParty(t)
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// The list comes before the texts.
	listed, _, _ := strings.Cut(string(got), "\n\n=")
	linked, _, _ := strings.Cut(want, "\n\n=")
	for _, line := range missing(linked, listed) {
		t.Errorf("%s lacks %q", path, line)
	}
	for _, line := range missing(listed, linked) {
		t.Errorf("%s has %q, which is not so", path, line)
	}
	if string(got) != want {
		t.Errorf("%s differs from what the modules say: run make licences", path)
	}
}

// missing has the lines of a that b lacks.
func missing(a, b string) []string {
	return slices.DeleteFunc(strings.Split(a, "\n"), func(line string) bool {
		return slices.Contains(strings.Split(b, "\n"), line)
	})
}

// Texts that are under no allowed licence, or under none that is known, are refused.
func TestLicencesRefused(t *testing.T) {
	ours, err := os.ReadFile("LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ text, problem string }{
		"allowed":   {string(ours), ""},
		"copyleft":  {"https://www.gnu.org/licenses/gpl-3.0-standalone.html", "GPL-3.0"},
		"unknown":   {"You may use this software on Tuesdays.", "unknown"},
		"mostly so": {string(ours) + strings.Repeat("\nYou may use this software on Tuesdays alone.", 400), "unknown"},
	} {
		_, err := identify([]byte(c.text))
		if (err == nil) != (c.problem == "") || err != nil && !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%s: %v, want %q", name, err, c.problem)
		}
	}
}

// thirdParty is the file THIRD_PARTY_LICENSES as go.mod and the module cache would have it.
func thirdParty(t *testing.T) string {
	files := linkedFiles(t)
	var modules, texts strings.Builder
	users := make(map[string][]string) // of a text
	for _, m := range slices.SortedFunc(maps.Keys(files), func(a, b module) int { return cmp.Compare(a.path, b.path) }) {
		var ids []string
		for _, file := range slices.Sorted(maps.Keys(files[m])) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			name, _ := filepath.Rel(m.dir, file)
			users[string(text)] = append(users[string(text)], m.path+" ("+name+")")
			if notice.MatchString(name) {
				continue
			}
			found, err := identify(text)
			if err != nil {
				t.Errorf("%s %s: %s: %v", m.path, m.version, name, err)
			}
			ids = append(ids, found...)
		}
		if len(files[m]) == 0 {
			t.Errorf("%s %s has no file with a licence", m.path, m.version)
		}
		slices.Sort(ids)
		fmt.Fprintf(&modules, "%s %s %s\n", m.path, m.version, strings.Join(slices.Compact(ids), " AND "))
	}
	for _, v := range vendored {
		text, err := os.ReadFile(v.licence)
		if err != nil {
			t.Fatal(err)
		}
		ids, err := identify(text)
		if err != nil {
			t.Errorf("%s %s: %v", v.name, v.version, err)
		}
		users[string(text)] = append(users[string(text)], v.name+" ("+filepath.Base(v.licence)+")")
		fmt.Fprintf(&modules, "%s %s %s\n", v.name, v.version, strings.Join(ids, " AND "))
	}
	for _, text := range slices.SortedFunc(maps.Keys(users), func(a, b string) int { return cmp.Compare(users[a][0], users[b][0]) }) {
		fmt.Fprintf(&texts, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(users[text], "\n"), strings.TrimSpace(text))
	}
	return `The program ergoflow holds the modules below, and at the end of the list other code
that is embedded: path or name, version and licences. Their texts follow, each once. Go's
runtime and standard library have the licence of golang.org/x/sys. "make licences" writes
this file.

` + modules.String() + texts.String()
}

// identify names the licences of a text by their SPDX identifiers. It fails where a
// quarter of the text is no licence that it knows, and where a licence is not allowed.
func identify(text []byte) ([]string, error) {
	coverage := licensecheck.Scan(text)
	var ids, refused []string
	for _, match := range coverage.Match {
		if !slices.Contains(allowed, match.ID) {
			refused = append(refused, match.ID)
		}
		ids = append(ids, match.ID)
	}
	if refused != nil {
		return ids, fmt.Errorf("licences that are not allowed: %v", refused)
	}
	// The address of a licence is as good as its text.
	if address := len(ids) == 1 && coverage.Match[0].IsURL; coverage.Percent < 75 && !address {
		return ids, fmt.Errorf("unknown licence: %.0f %% of the text is known: %v", coverage.Percent, ids)
	}
	return ids, nil
}

type module struct{ path, version, dir string }

// linkedFiles has, for each module in the binary, with cgo or without, the licence files in
// the directories of its packages and above them.
func linkedFiles(t *testing.T) map[module]map[string]bool {
	files := make(map[module]map[string]bool)
	for _, cgo := range []string{"0", "1"} {
		list := exec.Command("go", "list", "-deps", "-f",
			"{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Version}}\t{{.Dir}}\t{{$.Dir}}{{end}}{{end}}", "./cmd/ergoflow")
		list.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "GOEXPERIMENT=simd", "CGO_ENABLED="+cgo)
		list.Stderr = os.Stderr
		out, err := list.Output()
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(out)) {
			f := strings.Split(strings.TrimSpace(line), "\t")
			if len(f) != 4 { // of the standard library, or ours
				continue
			}
			m := module{f[0], f[1], f[2]}
			if files[m] == nil {
				files[m] = make(map[string]bool)
				taken, err := filepath.Glob(filepath.Join(m.dir, "THIRD_PARTY_LICENSES", "*"))
				if err != nil {
					t.Fatal(err)
				}
				for _, file := range taken {
					files[m][file] = true
				}
			}
			if file, ok := chosen[m.path]; ok {
				files[m][filepath.Join(m.dir, file)] = true
				continue
			}
			for dir := f[3]; strings.HasPrefix(dir, m.dir); dir = filepath.Dir(dir) {
				entries, err := os.ReadDir(dir)
				if err != nil {
					t.Fatal(err)
				}
				for _, entry := range entries {
					if entry.Type().IsRegular() && licenceFile.MatchString(entry.Name()) {
						files[m][filepath.Join(dir, entry.Name())] = true
					}
				}
			}
		}
	}
	return files
}
