package expression

import (
	"os"
	"strings"
	"testing"
)

// The list has every function, constant and operator, and nothing else; every form compiles, and
// docs/families.md has them all.
func TestNames(t *testing.T) {
	page, err := os.ReadFile("../../../docs/families.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	text := ""
	for _, n := range Names() {
		if listed[n.Name] || n.Meaning == "" {
			t.Errorf("%+v", n)
		}
		listed[n.Name] = true
		text += " " + n.Form + " " + n.Meaning
		source := strings.NewReplacer("not p", "not (x > 0)", "p and q", "x > 0 and a > 0", "p or q", "x > 0 or a > 0").Replace(n.Form)
		if strings.ContainsAny(source, "<=>") && n.Name != "?" { // a condition
			source = "(" + source + ") ? 1 : 0"
		}
		if _, err := CompileIn(source, "x", "y", "a", "b"); err != nil {
			t.Errorf("%s: %v", n.Name, err)
		}
		_, known := environment[n.Name]
		if known == (n.Kind == Operator) {
			t.Errorf("%s is a %s", n.Name, n.Kind)
		}
		if row := "| `" + strings.ReplaceAll(n.Form, "|", `\|`) + "` | " + strings.ReplaceAll(n.Meaning, "|", `\|`) + " |"; !strings.Contains(string(page), row) {
			t.Errorf("docs/families.md lacks the row\n%s", row)
		}
	}
	for name := range environment {
		if !listed[name] {
			t.Errorf("%s is not in the list", name)
		}
	}
	for operator := range operators {
		if !strings.Contains(text, operator) {
			t.Errorf("the list does not name the operator %s", operator)
		}
	}
}
