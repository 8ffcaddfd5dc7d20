package expression

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/expr-lang/expr/file"
)

const (
	conditional = "cond ? a : b"
	remainder   = "x - a*floor(x/a)"
)

// otherNames are names of other languages and what formulas call them. A function's name
// stands with its argument.
var otherNames = map[string]string{
	"ln": "log(x)", "mod": remainder, "fmod": remainder, "remainder": remainder,
	"arcsin": "asin(x)", "arccos": "acos(x)", "arctan": "atan(x)", "arctan2": "atan2(y, x)",
	"sgn": "sign(x)", "fabs": "abs(x)", "power": "x^a", "square": "x^2", "minimum": "min(x, a)", "maximum": "max(x, a)",
	"log1p": "log(1 + x)", "expm1": "exp(x) - 1", "heaviside": "x > 0 ? 1 : 0",
	"if": conditional, "where": conditional, "iif": conditional, "else": conditional,
	"log_2": "log2(x)", "log_10": "log10(x)", "lg": "log10(x)", "sec": "1/cos(x)", "csc": "1/sin(x)", "cot": "1/tan(x)",
	"asinh": "log(x + sqrt(x^2 + 1))", "arcsinh": "log(x + sqrt(x^2 + 1))", "atanh": "log((1 + x)/(1 - x))/2", "arctanh": "log((1 + x)/(1 - x))/2",
	"relu": "max(x, 0)", "clip": "min(max(x, a), b)", "sigmoid": "1/(1 + exp(-x))", "softplus": "log(1 + exp(x))", "hypot": "sqrt(x^2 + y^2)",
	"π": "pi",
}

// otherSigns are signs that formulas do not have and what to write instead.
var otherSigns = map[string]string{
	"%": remainder, "|": "abs(x)", "²": "^2", "³": "^3", "·": "*", "×": "*", "÷": "/", "−": "-", "–": "-",
	"√": "sqrt(x)", "≤": "<=", "≥": ">=", "≠": "!=", "=>": ">=", "=<": "<=", "&": "and",
	"{": "(", "}": ")", "[": "(", "]": ")", `\`: "functions as in sin(x)",
}

// inverses are functions whose power −1 may mean another function.
var inverses = map[string]string{"sin": "asin", "cos": "acos", "tan": "atan"}

// words are the numbers, names and signs of a formula.
var words = regexp.MustCompile(`0[xXbBoO][0-9a-fA-F_]+|(?:\d[\d_]*(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?|[\pL_][\pL\pM\d_]*|\.\.|==|!=|<=|>=|=>|=<|\|\||&&|\*\*|\S`)

// word is a part of a formula, at source[from:to].
type word struct {
	text     string
	from, to int
}

func (w word) isNumber() bool {
	return w.text[0] >= '0' && w.text[0] <= '9' || w.text[0] == '.' && len(w.text) > 1 && w.text != ".."
}

func (w word) isName() bool { return letter.MatchString(w.text) }

var letter = regexp.MustCompile(`^[\pL_]`)

// reader looks for what people write who know other languages.
type reader struct {
	source    string
	variables []string
	words     []word
}

// advise finds the first place of a formula that cannot be read where it is known what to
// write instead, and says so in place of the error err of the library.
func advise(source string, variables []string, err error) error {
	if strings.ContainsAny(source, "'\"`") { // the words of a text are not the formula's
		return err
	}
	r := reader{source: source, variables: variables}
	for _, at := range words.FindAllStringIndex(source, -1) {
		r.words = append(r.words, word{source[at[0]:at[1]], at[0], at[1]})
	}
	for i, w := range r.words {
		message := r.advice(i)
		if message == "" {
			continue
		}
		from := utf8.RuneCountInString(source[:w.from])
		return &file.Error{Location: file.Location{From: from, To: from + utf8.RuneCountInString(w.text)}, Message: message}
	}
	return err
}

// advice is about word i; empty if nothing is wrong with it.
func (r reader) advice(i int) string {
	w := r.words[i]
	if write := otherSigns[w.text]; write != "" {
		return fmt.Sprintf("formulas have no %s: write %s", w.text, write)
	}
	switch w.text {
	case "=":
		return r.equals(i)
	case ",":
		return r.comma(i)
	}
	if r.function(w.text) {
		if message := r.power(i); message != "" {
			return message
		}
	}
	if i > 0 {
		if message := r.product(i); message != "" {
			return message
		}
	}
	if !w.isName() || r.value(w.text) || r.function(w.text) {
		return ""
	}
	if i+2 < len(r.words) && r.words[i+1].text == "." && r.words[i+2].isName() { // np.sin
		write := r.known(r.words[i+2].text)
		if member := r.words[i+2].text; r.value(member) {
			write = member
		}
		if write != "" {
			return fmt.Sprintf("unknown name %s: write %s", w.text, write)
		}
	}
	write := r.known(w.text)
	switch {
	case write == conditional:
		return fmt.Sprintf("formulas have no %s: write %s", w.text, write)
	case write == "":
		write = r.split(w.text)
	}
	if write == "" {
		return ""
	}
	return fmt.Sprintf("unknown name %s: write %s", w.text, write)
}

// equals is about the sign =, word i: of y = -x the right side is the formula.
func (r reader) equals(i int) string {
	right := strings.TrimSpace(r.source[r.words[i].to:])
	switch {
	case strings.Contains(r.source, "?"):
		return "formulas have no =: write == to compare"
	case right == "" || len(right) > maxExcerpt/3:
		return "formulas have no =: write the right side alone"
	}
	return "formulas have no =: write the right side alone, " + right
}

// comma is about the comma i, where it stands between no two arguments: 0,5*x.
func (r reader) comma(i int) string {
	if name := r.call(i); name != "" {
		if _, unary := environment[name].(func(float64) float64); !unary {
			return ""
		}
	}
	if i > 0 && i+1 < len(r.words) {
		left, right := r.words[i-1], r.words[i+1]
		if digits.MatchString(left.text) && digits.MatchString(right.text) && left.to+1 == right.from {
			return fmt.Sprintf("formulas have no decimal comma: write %s.%s", left.text, right.text)
		}
	}
	return "a comma stands only between the arguments of min, max, pow and atan2"
}

// call is the name before the innermost bracket around word i; empty if it has none.
func (r reader) call(i int) string {
	depth := 0
	for j := i - 1; j > 0; j-- {
		depth += r.closes(j)
		if depth >= 0 {
			continue
		}
		if name := r.words[j-1]; name.isName() && !r.value(name.text) {
			return name.text
		}
		break
	}
	return ""
}

var digits = regexp.MustCompile(`^\d+$`)

// power is about a power of a function, word i: sin^2(x), sin^2 x.
func (r reader) power(i int) string {
	if i+2 >= len(r.words) || r.words[i+1].text != "^" && r.words[i+1].text != "**" {
		return ""
	}
	name, last := r.words[i].text, i+2
	if r.words[last].text == "-" {
		last++
	}
	if last+1 >= len(r.words) || !r.words[last].isNumber() {
		return ""
	}
	exponent := r.source[r.words[i+2].from:r.words[last].to]
	operand := r.after(last + 1)
	switch {
	case operand == "" || r.closes(last+1) == 0 && !r.value(operand):
		return ""
	case len(operand) > maxExcerpt/3:
		operand = "(x)"
	case r.closes(last+1) == 0:
		operand = "(" + operand + ")"
	}
	if inverse := inverses[name]; inverse != "" && exponent == "-1" {
		return fmt.Sprintf("a power of %s needs brackets: write %s%s, or 1/%s%s", name, inverse, operand, name, operand)
	}
	return fmt.Sprintf("a power of %s needs brackets: write %s%s^%s", name, name, operand, exponent)
}

// product is about two words that follow one another and are no formula: 2x, 2(x-1),
// (x-1)(x+1), sin x.
func (r reader) product(i int) string {
	left, right := r.words[i-1], r.words[i]
	begins := right.isNumber() || right.text == "(" || r.value(right.text) || r.function(right.text) || r.known(right.text) != "" || left.isNumber() && right.isName()
	if !begins || keywords[right.text] {
		return ""
	}
	switch {
	case left.isNumber(), left.text == ")", r.value(left.text):
	case r.function(left.text) && right.text != "(":
		return fmt.Sprintf("%s needs brackets: write %s(%s)", left.text, left.text, right.text)
	default:
		return ""
	}
	a, b := r.before(i), r.after(i)
	switch {
	case a == "" || b == "":
		return "" // brackets without a partner: the library says so
	case len(a)+len(b) > maxExcerpt/3:
		return fmt.Sprintf("a sign is missing before %s: write * for a product", right.text)
	}
	return fmt.Sprintf("a sign is missing: write %s*%s", a, b)
}

// before is the operand that ends with word i-1; empty if a bracket is missing.
func (r reader) before(i int) string {
	first := i - 1
	for depth := 0; ; first-- {
		if first < 0 {
			return ""
		}
		if depth += r.closes(first); depth == 0 {
			break
		}
	}
	if first > 0 && r.words[first].text == "(" && r.function(r.words[first-1].text) {
		first--
	}
	return r.source[r.words[first].from:r.words[i-1].to]
}

// after is the operand that begins with word i; empty if a bracket is missing.
func (r reader) after(i int) string {
	last := i
	if r.words[i].isName() && !r.value(r.words[i].text) && i+1 < len(r.words) && r.words[i+1].text == "(" {
		last++
	}
	for depth := 0; last < len(r.words); last++ {
		if depth += r.closes(last); depth == 0 {
			return r.source[r.words[i].from:r.words[last].to]
		}
	}
	return ""
}

// closes is 1 for a closing bracket and -1 for an opening one.
func (r reader) closes(i int) int {
	switch r.words[i].text {
	case ")":
		return 1
	case "(":
		return -1
	}
	return 0
}

// value reports whether a name is a variable or a constant.
func (r reader) value(name string) bool {
	_, constant := environment[name].(float64)
	return constant || slices.Contains(r.variables, name)
}

func (r reader) function(name string) bool { return environment[name] != nil && !r.value(name) }

// known is what to write for a name of another language; empty if it has none.
func (r reader) known(name string) string {
	lower := strings.ToLower(name)
	switch {
	case r.value(name):
		return ""
	case otherNames[lower] != "":
		return otherNames[lower]
	case r.function(lower):
		return lower + "(x)"
	case r.value(lower) && (len(name) > 1 || slices.Contains(r.variables, lower)):
		return lower
	}
	return ""
}

// split is a name that is two: ax is a*x where both are variables, tanx is tan(x).
func (r reader) split(name string) string {
	for i := 1; i < len(name); i++ {
		left, right := name[:i], name[i:]
		switch {
		case !r.value(right):
		case r.value(left):
			return left + "*" + right
		case r.function(left):
			return left + "(" + right + ")"
		}
	}
	return ""
}
