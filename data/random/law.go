package random

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
)

// Law is a law of two numbers as configurations write it: uniform(lo, hi), normal(mean,
// deviation) or field(length, deviation).
type Law struct {
	Form Form
	A, B float64
}

// Form is the name of a law.
type Form string

// Forms of laws.
const (
	Uniform Form = "uniform" // on [A, B)
	Normal  Form = "normal"  // of mean A and standard deviation B
	Field   Form = "field"   // a Gaussian random field of correlation length A and deviation B
)

var arguments = map[Form]string{Uniform: "lo, hi", Normal: "mean, deviation", Field: "length, deviation"}

var lawForm = regexp.MustCompile(`^\s*([a-z]+)\s*\(\s*([^\s,()]+)\s*,\s*([^\s,()]+)\s*\)\s*$`)

// ParseLaw reads a law of one of the forms. It refuses numbers beyond ±1e30, an empty
// interval, and lengths and deviations that are not positive.
func ParseLaw(text string, forms ...Form) (Law, error) {
	parts := lawForm.FindStringSubmatch(text)
	if parts == nil {
		return Law{}, fmt.Errorf("%.80q is not a law: must be %s", text, either(forms, func(f Form) string { return fmt.Sprintf("%s(%s)", f, arguments[f]) }))
	}
	var v [2]float64
	for k := range v {
		var err error
		if v[k], err = strconv.ParseFloat(parts[2+k], 64); err != nil || math.IsNaN(v[k]) || math.Abs(v[k]) > 1e30 {
			return Law{}, fmt.Errorf("%.80q: %.40q is not a number within ±1e30", text, parts[2+k])
		}
	}
	for _, form := range forms {
		if string(form) != parts[1] {
			continue
		}
		law := Law{form, v[0], v[1]}
		switch {
		case form == Uniform && law.A >= law.B:
			return Law{}, fmt.Errorf("%.80q: lo must be below hi", text)
		case form == Normal && law.B <= 0:
			return Law{}, fmt.Errorf("%.80q: the deviation must be positive", text)
		case form == Field && (law.A <= 0 || law.B <= 0):
			return Law{}, fmt.Errorf("%.80q: length and deviation must be positive", text)
		}
		return law, nil
	}
	return Law{}, fmt.Errorf("%.80q: the law %s is unknown: must be %s", text, parts[1], either(forms, func(f Form) string { return string(f) }))
}

// either lists forms in a sentence.
func either(forms []Form, word func(Form) string) string {
	words := make([]string, len(forms))
	for i, f := range forms {
		words[i] = word(f)
	}
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// String writes the law as ParseLaw reads it.
func (l Law) String() string { return fmt.Sprintf("%s(%v, %v)", l.Form, l.A, l.B) }

// Mean is that of a Uniform or Normal law.
func (l Law) Mean() float64 {
	if l.Form == Uniform {
		return (l.A + l.B) / 2
	}
	return l.A
}

// Draw draws a number of a Uniform or Normal law.
func (l Law) Draw(rng *rand.Rand) float64 {
	if l.Form == Uniform {
		return l.A + (l.B-l.A)*rng.Float64()
	}
	return l.A + l.B*rng.NormFloat64()
}
