package yamltext

import (
	"runtime"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

func TestCheck(t *testing.T) {
	for want, documents := range map[string][]string{
		"": {
			"", "a: 1", "# größer\r\n\n", "a: [[1, 2], {b: 3}]\n",
			"a: " + strings.Repeat("[", 60) + strings.Repeat("]", 60),
			strings.Repeat("- [a]\n", 1000),
			"a:\n" + strings.Repeat("- - 1\n  - 2\n", 1000),
			// No nesting: brackets in quotes, comments and formulas.
			`a: "` + strings.Repeat("[", 1000) + `"`,
			`a: '` + strings.Repeat("{[- ", 1000) + `'`,
			"a: 1 " + strings.Repeat("# [0, 1)\n", 1000),
			"drift: it's " + strings.Repeat("(", 1000),
			"a: |\n" + strings.Repeat("  - [ {\n", 1000),
			"a: x " + strings.Repeat("- ", 1000),
			// No octal numbers, or such that say so.
			"a: 0", "a: 00", "a: 0.5", "a: 0o17", `a: "010"`, "a: x - 010", "a: 1e010",
			// No tags.
			`a: "!b"`, "a: b !c", "a: x != 0 and !(x > 1)",
		},
		"is octal in YAML":             {"a: 010", "a: {b: -007}", "- 0_10\n"},
		"is a tag of YAML":             {"a: !b\n", "a: !!str\n", "a: [1, !b 2]", "a: !!seq [", strings.Repeat("- !a ", 8000) + "a"},
		"more than 65536 bytes":        {strings.Repeat("#", MaxBytes+1)},
		"Git LFS pointer":              {"version https://git-lfs.github.com/spec/v1\noid sha256:0\n"},
		"not text in UTF-8":            {"\x7fELF\x02\x01", "name: [\x1b[2J", "name: \xff\xfe", "f\x00"},
		"nested deeper than 64 levels": deep(1000),
	} {
		for _, document := range documents {
			err := Check([]byte(document))
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%.40q…: error %v, want %q", document, err, want)
			}
		}
	}
	if err := Check([]byte("a: 1\nb: " + strings.Repeat("[", 65))); err == nil || !strings.HasPrefix(err.Error(), "line 2: ") {
		t.Errorf("the place: %v", err)
	}
}

// deep are documents of which the parser needs the square of n.
func deep(n int) []string {
	return []string{
		"a: " + strings.Repeat("[", n),
		"a: " + strings.Repeat("[\n", n),
		"a: " + strings.Repeat("[", n) + strings.Repeat("]", n),
		"a: " + strings.Repeat("{a: ", n),
		"a: it's " + "\nb: " + strings.Repeat("[", n) + "'", // an apostrophe is no quote
		strings.Repeat("- ", n) + "a",
		"x:\n  " + strings.Repeat("- ", n) + "a",
		strings.Repeat("[- ", n),
		strings.Repeat("? - ", n),
		strings.Repeat("[a]: [", n),
	}
}

func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// What is refused costs what its length costs, and so does what is let through and
// as deep as documents get.
func TestMemory(t *testing.T) {
	for _, document := range deep(8000) {
		raw := []byte(document)
		if took := allocated(func() { Check(raw) }); took > 20<<20 {
			t.Errorf("%.20q…: refusing it takes %d MiB", document, took>>20)
		}
	}
	var indented strings.Builder
	for i := 0; indented.Len() < MaxBytes-500; i++ {
		indented.WriteString(strings.Repeat(" ", i) + "-\n")
	}
	for _, document := range []string{
		indented.String(),
		strings.Repeat(strings.Repeat("- ", 64)+"a\n", 500),
		"a: [\n" + strings.Repeat(strings.Repeat("- ", 63)+"\n", 500),
		"a: " + strings.Repeat(strings.Repeat("[", 64)+strings.Repeat("]", 64)+"\n  ", 400),
		"a: " + strings.Repeat("&b ", 10000) + "c",
	} {
		if err := Check([]byte(document)); err != nil {
			t.Fatalf("%.20q…: %v", document, err)
		}
		if took := allocated(func() { yaml.Unmarshal([]byte(document), new(any)) }); took > 100<<20 {
			t.Errorf("%.20q…: parsing it takes %d MiB", document, took>>20)
		}
	}
}
