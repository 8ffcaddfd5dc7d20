package expression

import (
	"errors"
	"strings"
	"testing"
)

// What people write who know other languages is answered by what to write here, at its
// place.
func TestAdvice(t *testing.T) {
	for _, c := range []struct{ source, want string }{
		{"2x", "write 2*x (1:2)"},
		{"-0.5x", "write 0.5*x"},
		{"2 x", "write 2*x (1:3)"},
		{"2(x-1)", "write 2*(x-1) (1:2)"},
		{"x(x-1)", "write x*(x-1) (1:2)"},
		{"(x-1)(x+1)", "write (x-1)*(x+1) (1:6)"},
		{"sin(x)cos(x)", "write sin(x)*cos(x) (1:7)"},
		{"1 + 3exp(-x^2)", "write 3*exp(-x^2)"},
		{"2e", "write 2*e"},
		{"2pi", "write 2*pi"},
		{"2y", "write 2*y"},
		{"ax", "unknown name ax: write a*x"},
		{"x" + strings.Repeat("(x+1", 20) + strings.Repeat(")", 20), "a sign is missing before (: write * for a product"},
		{"np.sin(x)", "unknown name np: write sin(x) (1:1)"},
		{"x + math.exp(-x)", "unknown name math: write exp(x) (1:5)"},
		{"np.pi*x", "unknown name np: write pi"},
		{"torch.arctan(x)", "write atan(x)"},
		{"np.log1p(x)", "write log(1 + x)"},
		{"ln(x)", "unknown name ln: write log(x) (1:1)"},
		{"ln", "write log(x)"},
		{"Sin(x)", "unknown name Sin: write sin(x)"},
		{"mod(x, 2)", "write x - a*floor(x/a)"},
		{"x % 2", "formulas have no %: write x - a*floor(x/a) (1:3)"},
		{"PI*x", "unknown name PI: write pi"},
		{"π*x", "write pi"},
		{"X", "unknown name X: write x"},
		{"if(x>0,1,2)", "formulas have no if: write cond ? a : b (1:1)"},
		{"1 if x > 0 else 2", "write cond ? a : b (1:3)"},
		{"where(x > 0, 1, 2)", "write cond ? a : b"},
		{"sin x", "write sin(x) (1:5)"},
		{"tanx", "write tan(x)"},
		{"x²", "write ^2 (1:2)"},
		{"−x", "write - (1:1)"},
		{"|x|", "write abs(x)"},
		{"x\n+ 2x", "write 2*x (2:4)"},
		{strings.Repeat(" ", 300) + "2x", "write 2*x (1:302)"},
		{strings.Repeat("x+", 1000) + "x", "it has more than 1000 operators, numbers and names"},
		{"0,5*x", "formulas have no decimal comma: write 0.5 (1:2)"},
		{"-x + 0,25", "write 0.25 (1:7)"},
		{"(0,5)*x", "write 0.5"},
		{"sin(0,5*x)", "write 0.5"},
		{"max((0,5)*x, 1)", "write 0.5"},
		{"max(2*x, 1) - 0,5*x", "write 0.5"},
		{"1.000,5*x", "a comma stands only between the arguments of min, max, pow and atan2 (1:6)"},
		{"-x, -y", "a comma stands only"},
		{"y = -x", "formulas have no =: write the right side alone, -x (1:3)"},
		{"b(x) = -x", "write the right side alone, -x"},
		{"=-x", "write the right side alone, -x (1:1)"},
		{"x =", "write the right side alone (1:3)"},
		{"x = 1 ? 2 : 3", "write == to compare (1:3)"},
		{"x => 1 ? 2 : 3", "write >="},
		{"sin^2(x)", "a power of sin needs brackets: write sin(x)^2 (1:1)"},
		{"2sin**2(x-1)", "write sin(x-1)^2"},
		{"1 - tanh^2 x", "write tanh(x)^2"},
		{"cos^-2(x)", "write cos(x)^-2"},
		{"tan^-1(x)", "write atan(x), or 1/tan(x)"},
		{"log^-1(x)", "write log(x)^-1"},
		{"sin^2", "function"},
		{"x^{2}", "write ( (1:3)"},
		{"sin[x]", "write ("},
		{`\sin(x)`, "write functions as in sin(x) (1:1)"},
		{"log_2(x)", "write log2(x)"},
		{"relu(x)", "write max(x, 0)"},
		{"x > 0 & x < 1 ? 1 : 2", "write and"},
		// No advice where a name is a parameter's, or the formula's fault is another.
		{"k(", "unexpected token EOF"},
		{"2(x", "unexpected token"},
		{"x)(x-1)", "unexpected token"},
		{"ln1", "unknown name ln1"},
		{"'2x'", "text"},
		{"2..3", "list"},
		{"max(0,5*x, y)", "unknown name y"},
		{"foo(0,5)", "unknown name foo"},
		{"pow(0,5", "unexpected token EOF"},
		{"sin", "function"},
	} {
		_, err := CompileIn(c.source, "x", "a", "k")
		if !errors.Is(err, ErrSyntax) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.20q: %v, want ErrSyntax with %q", c.source, err, c.want)
		}
	}
	for _, source := range []string{"if x > 0 { 1 } else { 2 }", "2*ln + mod", "0x10*x", "1e3*x", "PI", "max(0,5*x)", "x > 0 && x < 1 ? 1 : 2", "x == 1 ? 1 : 2", "sin(x)**2"} {
		if _, err := CompileIn(source, "x", "ln", "mod", "PI"); err != nil {
			t.Errorf("%q: %v", source, err)
		}
	}
}
