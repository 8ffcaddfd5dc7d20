package gate

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// alone is a configuration without checks.
func alone() Config {
	c := Default()
	c.Normal, c.Untrained = 0, 0
	return c
}

// table has one metric of functions 100, 101, …
func table(row string, values ...float64) Table {
	t := Table{Row: row, Metrics: []Metric{{Name: "w2", Values: values}}}
	for i := range values {
		t.Functions = append(t.Functions, 100+i)
	}
	return t
}

// Closed forms: n functions in all of which the candidate is better have p = 2^−n, so five are
// the fewest that show anything with 95 % confidence.
func TestFewFunctions(t *testing.T) {
	c := alone()
	if c.Needs() != 5 {
		t.Errorf("needs %d functions", c.Needs())
	}
	for n := 1; n <= 8; n++ {
		better, worse := make([]float64, n), make([]float64, n)
		for i := range n {
			better[i], worse[i] = 1, 2+float64(i)
		}
		champion := table("champion", worse...)
		v := Decide(c, table("candidate", better...), &champion, Controls{})
		if p := v.Differences[0].P; p != math.Pow(2, -float64(n)) {
			t.Errorf("%d functions: p = %v", n, p)
		}
		if want := map[bool]Decision{true: Promote, false: Keep}[n >= 5]; v.Decision != want {
			t.Errorf("%d functions: %s", n, v.Decision)
		}
		if n < 5 && !strings.Contains(v.Reasons[0], "at least 5 equations") {
			t.Errorf("%d functions: %q", n, v.Reasons)
		}
		if _, err := json.Marshal(v); err != nil {
			t.Error(err)
		}
	}
}

// Ties keep the champion, also with some functions that differ.
func TestTies(t *testing.T) {
	c := alone()
	c.Margin = 0
	values := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	champion := table("champion", values...)
	if v := Decide(c, table("candidate", values...), &champion, Controls{}); v.Decision != Keep || v.Differences[0].P != 1 || !strings.Contains(v.Reasons[0], "is the same") {
		t.Errorf("equal tables: %+v", v)
	}
	moved := slices.Clone(values)
	moved[0] = 0.5
	if v := Decide(c, table("candidate", moved...), &champion, Controls{}); v.Decision != Keep {
		t.Errorf("better in one of ten functions: %+v", v)
	}
}

// Another metric vetoes only beyond its tolerance.
func TestTolerances(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	with := func(first, second, fraction float64) Table {
		t := table("table", make([]float64, 100)...)
		t.Metrics = append(t.Metrics, Metric{Name: "ks", Values: make([]float64, 100)}, Metric{Name: "ks_rejected", Values: make([]float64, 100), Absolute: true})
		for i := range 100 {
			t.Metrics[0].Values[i] = first * (1 + 0.1*rng.Float64())
			t.Metrics[1].Values[i] = second * (1 + 0.1*rng.Float64())
			if float64(i) < 100*fraction {
				t.Metrics[2].Values[i] = 1
			}
		}
		return t
	}
	champion := with(1, 1, 0.5)
	for name, tt := range map[string]struct {
		candidate Table
		change    func(*Config)
		want      Decision
		reason    string
	}{
		"better":                                {with(0.8, 0.9, 0.4), nil, Promote, "w2 fell by 20"},
		"worse within the tolerance":            {with(0.8, 1.05, 0.55), nil, Promote, "w2 fell"},
		"worse":                                 {with(0.8, 1.3, 0.5), nil, Keep, "ks rose by 30"},
		"worse, tolerated":                      {with(0.8, 1.3, 0.5), func(c *Config) { c.Tolerances = map[string]float64{"ks": 0.5} }, Promote, ""},
		"worse, not tolerated by name":          {with(0.8, 1.05, 0.5), func(c *Config) { c.Tolerances = map[string]float64{"ks": 0.01} }, Keep, "ks rose by"},
		"rejected more often":                   {with(0.8, 1, 0.8), nil, Keep, "ks_rejected rose by 0.3 (0.5 to 0.8)"},
		"below the margin":                      {with(0.8, 1, 0.5), func(c *Config) { c.Margin = 0.3 }, Keep, "not shown to have fallen by the margin of 30 %"},
		"another metric decides":                {with(0.8, 1, 0.5), func(c *Config) { c.Metric = "ks" }, Keep, "ks"},
		"another metric decides, and is better": {with(1, 0.8, 0.5), func(c *Config) { c.Metric = "ks" }, Promote, "ks fell"},
	} {
		c := alone()
		if tt.change != nil {
			tt.change(&c)
		}
		v := Decide(c, tt.candidate, &champion, Controls{})
		if v.Decision != tt.want || !strings.HasPrefix(v.Reasons[0], tt.reason) && !strings.Contains(v.Reasons[0], tt.reason) {
			t.Errorf("%s: %s, %q", name, v.Decision, v.Reasons)
		}
		if len(v.Differences) != 3 || v.Differences[0].Metric != v.Metric {
			t.Errorf("%s: differences %+v", name, v.Differences)
		}
	}
}

// What is above its tolerance without being shown to be is a warning.
func TestWarnsOfWhatIsNotShown(t *testing.T) {
	candidate, champion := table("candidate", 1, 1, 1, 1, 1, 1, 1, 1), table("champion", 2, 2, 2, 2, 2, 2, 2, 2)
	candidate.Metrics = append(candidate.Metrics, Metric{Name: "ks", Values: []float64{1, 1, 1, 1, 1, 1, 1, 9}})
	champion.Metrics = append(champion.Metrics, Metric{Name: "ks", Values: []float64{1, 1, 1, 1, 1, 1, 1, 1}})
	v := Decide(alone(), candidate, &champion, Controls{})
	if v.Decision != Promote || len(v.Warnings) != 1 || !strings.Contains(v.Warnings[0], "ks rose by 100 %") {
		t.Errorf("%s, warnings %q", v.Decision, v.Warnings)
	}
}

// Functions of one equation count once: eight equations with 100 equal values each say no more
// than eight functions.
func TestEquations(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 10))
	candidate, champion := pairs(rng, "log-normal", 8)
	want := Decide(alone(), candidate, &champion, Controls{})
	copies := func(t Table) Table {
		out := Table{Row: t.Row, Metrics: []Metric{{Name: "w2"}}}
		for k := range 100 {
			for i, v := range t.Metrics[0].Values {
				out.Functions, out.Equations = append(out.Functions, 1000+100*i+k), append(out.Equations, i)
				out.Metrics[0].Values = append(out.Metrics[0].Values, v)
			}
		}
		return out
	}
	many := copies(champion)
	got := Decide(alone(), copies(candidate), &many, Controls{})
	if got.Functions != 800 || got.Equations != 8 || math.Abs(got.Differences[0].P-want.Differences[0].P) > 1e-12 || math.Abs(*got.Differences[0].High-*want.Differences[0].High) > 1e-9 {
		t.Errorf("%+v, want %+v", got.Differences[0], want.Differences[0])
	}
}

// The checks refuse a candidate, whatever the champion is.
func TestChecks(t *testing.T) {
	scaled := func(row string, factor float64) *Table {
		values := make([]float64, 40)
		for i := range values {
			values[i] = factor * (1 + float64(i%7)/10)
		}
		t := table(row, values...)
		return &t
	}
	good := Controls{Normal: scaled("normal", 2), Untrained: scaled("untrained", 5)}
	for name, tt := range map[string]struct {
		controls Controls
		want     Decision
		reason   string
	}{
		"good":                       {good, Promote, "no champion"},
		"worse than a normal law":    {Controls{scaled("normal", 0.9), good.Untrained}, Refuse, "w2 of 1.29 is not shown to be below that of the normal law with the reference's moments, 1.16"},
		"equal to a normal law":      {Controls{scaled("normal", 1), good.Untrained}, Refuse, "not shown to be below that of the normal law"},
		"near the untrained network": {Controls{good.Normal, scaled("untrained", 1.9)}, Refuse, "below half that of the untrained network"},
		"no normal law":              {Controls{nil, good.Untrained}, Refuse, "was not evaluated"},
	} {
		for _, champion := range []*Table{nil, scaled("champion", 3)} {
			v := Decide(Default(), *scaled("candidate", 1), champion, tt.controls)
			if v.Decision != tt.want || champion == nil && !strings.Contains(v.Reasons[0], tt.reason) || len(v.Checks) != 3 {
				t.Errorf("%s: %s, %q, %+v", name, v.Decision, v.Reasons, v.Checks)
			}
			if champion != nil && len(v.Differences) != 1 {
				t.Errorf("%s: no differences", name)
			}
		}
	}
	c := Default()
	c.Normal, c.Untrained = 0, 0
	if v := Decide(c, *scaled("candidate", 1), nil, Controls{}); v.Decision != Promote || len(v.Checks) != 1 {
		t.Errorf("without checks: %+v", v)
	}
}

// Tables that cannot be compared refuse the candidate with the reason.
func TestRefusals(t *testing.T) {
	values := []float64{1, 2, 3, 4, 5, 6}
	with := func(change func(*Table)) *Table {
		t := table("table", slices.Clone(values)...)
		if change != nil {
			change(&t)
		}
		return &t
	}
	good := with(nil)
	for name, tt := range map[string]struct {
		candidate, champion *Table
		change              func(*Config)
		reason              string
	}{
		"NaN":                 {with(func(t *Table) { t.Metrics[0].Values[2] = math.NaN() }), good, nil, "w2 NaN for function 102"},
		"two not finite":      {with(func(t *Table) { t.Metrics[0].Values[2], t.Metrics[0].Values[3] = math.Inf(1), math.NaN() }), good, nil, "+Inf for function 102, and 1 more"},
		"champion NaN":        {good, with(func(t *Table) { t.Metrics[0].Values[2] = math.NaN() }), nil, "the champion has w2 NaN"},
		"no functions":        {&Table{}, good, nil, "no functions"},
		"no metrics":          {with(func(t *Table) { t.Metrics = nil }), good, nil, "no metrics"},
		"function twice":      {with(func(t *Table) { t.Functions[1] = 100 }), good, nil, "function 100 twice"},
		"values missing":      {with(func(t *Table) { t.Metrics[0].Values = t.Metrics[0].Values[1:] }), good, nil, "6 functions and 5 values"},
		"equations missing":   {with(func(t *Table) { t.Equations = []int{1} }), good, nil, "equations of 1"},
		"another function":    {with(func(t *Table) { t.Functions[5] = 7 }), good, nil, "not judged on the same functions"},
		"fewer functions":     {with(func(t *Table) { t.Functions, t.Metrics[0].Values = t.Functions[1:], t.Metrics[0].Values[1:] }), good, nil, "1 of the"},
		"metric twice":        {with(func(t *Table) { t.Metrics = append(t.Metrics, t.Metrics[0]) }), good, nil, "w2 twice"},
		"metric of one":       {with(func(t *Table) { t.Metrics = append(t.Metrics, Metric{Name: "ks", Values: values}) }), good, nil, "champion lacks ks"},
		"metric of the other": {good, with(func(t *Table) { t.Metrics = append(t.Metrics, Metric{Name: "ks", Values: values}) }), nil, "candidate lacks ks"},
		"unknown metric":      {good, good, func(c *Config) { c.Metric = "w3" }, `metric: "w3" does not exist; there are w2`},
		"unknown tolerance":   {good, good, func(c *Config) { c.Tolerances = map[string]float64{"w3": 1} }, `tolerances: "w3" does not exist`},
		"margin":              {good, good, func(c *Config) { c.Margin = 1 }, "margin is 1"},
		"NaN margin":          {good, good, func(c *Config) { c.Margin = math.NaN() }, "margin is NaN"},
		"confidence":          {good, good, func(c *Config) { c.Confidence = 1 }, "confidence is 1"},
		"tolerance":           {good, good, func(c *Config) { c.Tolerances = map[string]float64{"w2": -1} }, "tolerances: w2 is -1"},
		"resamples":           {good, good, func(c *Config) { c.Resamples = 18 }, "at least 19"},
		"too many resamples":  {good, good, func(c *Config) { c.Resamples = 1 << 30 }, "at most 99999"},
		"infinite untrained":  {good, good, func(c *Config) { c.Untrained = math.Inf(1) }, "untrained is +Inf"},
		"zero":                {good, good, func(c *Config) { *c = Config{} }, "confidence is 0"},
	} {
		c := alone()
		if tt.change != nil {
			tt.change(&c)
		}
		v := Decide(c, *tt.candidate, tt.champion, Controls{})
		if v.Decision != Refuse || len(v.Reasons) == 0 || !strings.Contains(v.Reasons[0], tt.reason) {
			t.Errorf("%s: %s, %q", name, v.Decision, v.Reasons)
		}
		if v.Checks == nil || v.Differences == nil || v.Warnings == nil {
			t.Errorf("%s: null in JSON: %+v", name, v)
		}
	}
}

// A champion whose values are zero or negative, as annealed divergences can be, has no ratio
// that breaks the comparison.
func TestZeroAndNegativeChampions(t *testing.T) {
	zeros := make([]float64, 9)
	ones := []float64{1, 1, 1, 1, 1, 1, 1, 1, 1}
	minus := []float64{-1, -1, -1, -1, -1, -1, -1, -1, -1}
	for name, tt := range map[string]struct {
		candidate, champion []float64
		want                Decision
		change              float64
	}{
		"zero champion":         {ones, zeros, Keep, 1},
		"both zero":             {zeros, zeros, Keep, 0},
		"zero candidate":        {zeros, ones, Promote, -1},
		"negative champion":     {ones, minus, Keep, 2},
		"candidate is negative": {minus, ones, Promote, -2},
		"negative, a tie":       {minus, minus, Keep, 0},
	} {
		champion := table("champion", tt.champion...)
		v := Decide(alone(), table("candidate", tt.candidate...), &champion, Controls{})
		if v.Decision != tt.want || v.Differences[0].Change != tt.change {
			t.Errorf("%s: %s, %+v", name, v.Decision, v.Differences[0])
		}
		if _, err := json.Marshal(v); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		// The same as another metric, which may only be no worse.
		both := func(values []float64, first float64) Table {
			t := table("table", values...)
			t.Metrics[0].Name = "sinkhorn"
			t.Metrics = append([]Metric{{Name: "w2", Values: []float64{first, first, first, first, first, first, first, first, first}}}, t.Metrics...)
			return t
		}
		champion = both(tt.champion, 2)
		v = Decide(alone(), both(tt.candidate, 1), &champion, Controls{})
		if want := map[bool]Decision{true: Keep, false: Promote}[tt.change > 0]; v.Decision != want {
			t.Errorf("%s, as another metric: %s, %q", name, v.Decision, v.Reasons)
		}
		if _, err := json.Marshal(v); err != nil {
			t.Errorf("%s, as another metric: %v", name, err)
		}
	}
}

// Numbers have three digits, and no exponent where that is readable.
func TestNumbers(t *testing.T) {
	for v, want := range map[float64]string{-0.01234: "−0.0123", 1234.5: "1230", -98765: "−98800", 1e6: "1e+06", 2.5e-7: "2.5e−07", 0: "0"} {
		if got := Number(v); got != want {
			t.Errorf("%v is written %s, want %s", v, got, want)
		}
	}
	if got := (Difference{}).Amount(0.5) + ", " + (Difference{Absolute: true}).Amount(0.5); got != "50 %, 0.5" {
		t.Error(got)
	}
}
