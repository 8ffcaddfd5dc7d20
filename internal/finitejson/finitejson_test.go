package finitejson

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"
)

var inf, nan = math.Inf(1), math.NaN()

// orNull is a number that its type writes as null.
type orNull float64

func (n orNull) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(n)) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

type part struct {
	W2     float64  `json:"w2,omitzero"`
	Narrow float32  `json:"narrow,omitempty"`
	Maybe  *float64 `json:"maybe,omitempty"`
}

type embedded struct{ Shared float64 }

type document struct {
	embedded
	Name     string             `json:"name"`
	Parts    []part             `json:"parts"`
	Pair     [2]float64         `json:"pair"`
	By       map[string]float64 `json:"by,omitempty"`
	Any      any                `json:"any,omitempty"`
	Own      orNull             `json:"own"`
	When     time.Time          `json:"when,omitzero"`
	Left     float64            `json:"-"`
	hidden   float64
	Warnings []string `json:"warnings,omitempty"`
}

func TestMarshal(t *testing.T) {
	when := time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		value    any
		text     string
		warnings []string
	}{
		"number": {inf, `null`, []string{"the number is +Inf: null in JSON"}},
		"list":   {[]float64{1, nan, 2.5e-7}, `[1,null,2.5e-7]`, []string{"[1] is NaN: null in JSON"}},
		"map": {map[string]any{"b": float32(math.Inf(-1)), "a": []any{1, nan}}, `{"a":[1,null],"b":null,"warnings":["a[1] is NaN: null in JSON","b is -Inf: null in JSON"]}`,
			[]string{"a[1] is NaN: null in JSON", "b is -Inf: null in JSON"}},
		"map with warnings": {map[string]any{"warnings": 1, "b": inf}, `{"b":null,"warnings":1}`, []string{"b is +Inf: null in JSON"}},
		"no key":            {struct{ X float64 }{inf}, `{"X":null,"warnings":["X is +Inf: null in JSON"]}`, []string{"X is +Inf: null in JSON"}},
		"document": {
			&document{embedded: embedded{nan}, Name: "2.7182818284590455e-301 <\"\\\"", Parts: []part{{W2: inf, Maybe: &nan}, {Narrow: float32(inf), Maybe: new(float64)}},
				Pair: [2]float64{inf, 1}, By: map[string]float64{"x": 1, "y": -inf}, Any: part{W2: nan}, Own: orNull(nan), When: when, Left: nan, hidden: nan, Warnings: []string{"first"}},
			`{"Shared":null,"name":"2.7182818284590455e-301 \u003c\"\\\"","parts":[{"w2":null,"maybe":null},{"narrow":null,"maybe":0}],"pair":[null,1],"by":{"x":1,"y":null},"any":{"w2":null},"own":null,"when":"2026-11-25T00:00:00Z",` +
				`"warnings":["first","Shared is NaN: null in JSON","parts[0].w2 is +Inf: null in JSON","parts[0].maybe is NaN: null in JSON","parts[1].narrow is +Inf: null in JSON","pair[0] is +Inf: null in JSON","by.y is -Inf: null in JSON","any.w2 is NaN: null in JSON"]}`,
			[]string{"Shared is NaN: null in JSON", "parts[0].w2 is +Inf: null in JSON", "parts[0].maybe is NaN: null in JSON", "parts[1].narrow is +Inf: null in JSON", "pair[0] is +Inf: null in JSON", "by.y is -Inf: null in JSON", "any.w2 is NaN: null in JSON"},
		},
		"its own type": {map[string]orNull{"a": orNull(nan), "b": orNull(inf)}, `{"a":null,"b":null,"warnings":["b is +Inf: null in JSON"]}`, []string{"b is +Inf: null in JSON"}},
	} {
		got, warnings, err := Marshal(tt.value, "")
		if err != nil || string(got) != tt.text || !slices.Equal(warnings, tt.warnings) {
			t.Errorf("%s:\n%s\nwarnings %q (%v), want\n%s\nwarnings %q", name, got, warnings, err, tt.text, tt.warnings)
		}
	}
}

// The value that is written stays as it is.
func TestMarshalLeavesTheValue(t *testing.T) {
	value := func() *document {
		return &document{Parts: []part{{W2: inf, Maybe: new(float64)}}, By: map[string]float64{"x": inf}, Any: &part{W2: -inf}}
	}
	v := value()
	if _, _, err := Marshal(v, ""); err != nil || !reflect.DeepEqual(v, value()) {
		t.Errorf("%+v, %v", v, err)
	}
}

// What is finite is written as encoding/json does.
func TestMarshalOfFinite(t *testing.T) {
	v := document{Name: "<&>\u2028", Parts: []part{{W2: 1e-7, Narrow: 0.1}, {W2: 1e21}}, By: map[string]float64{"b": 1, "a": 2}, Any: map[string]any{"x": nil}}
	for indent, plain := range map[string]func() ([]byte, error){
		"":   func() ([]byte, error) { return json.Marshal(v) },
		"  ": func() ([]byte, error) { return json.MarshalIndent(v, "", "  ") },
	} {
		want, err := plain()
		if err != nil {
			t.Fatal(err)
		}
		if got, warnings, err := Marshal(v, indent); err != nil || warnings != nil || string(got) != string(want) {
			t.Errorf("%s, warnings %q, %v; want %s", got, warnings, err, want)
		}
	}
}

// Values that have no JSON for another reason are errors.
func TestMarshalRefuses(t *testing.T) {
	type loop struct {
		Next *loop
		X    float64
	}
	around := &loop{X: inf}
	around.Next = around
	for name, v := range map[string]any{"channel": make(chan int), "function": func() {}, "loop": around} {
		if _, _, err := Marshal(v, ""); err == nil {
			t.Errorf("%s has JSON", name)
		}
	}
}

func TestUnmarshal(t *testing.T) {
	v := document{embedded: embedded{1}, Name: "a", Parts: []part{{W2: inf, Narrow: 1, Maybe: new(float64)}, {W2: 3}}, Pair: [2]float64{inf, 1},
		By: map[string]float64{"x": 1, "y": nan}}
	encoded, _, err := Marshal(v, "  ")
	if err != nil {
		t.Fatal(err)
	}
	var got document
	if err := Unmarshal(encoded, &got); err != nil {
		t.Fatal(err)
	}
	for name, number := range map[string]float64{"parts[0].w2": got.Parts[0].W2, "pair[0]": got.Pair[0], "by.y": got.By["y"]} {
		if !math.IsNaN(number) {
			t.Errorf("%s is %v, want NaN", name, number)
		}
	}
	if got.Shared != 1 || got.Name != "a" || got.Parts[0].Narrow != 1 || *got.Parts[0].Maybe != 0 || got.Parts[1].W2 != 3 || got.Parts[1].Maybe != nil || got.Pair[1] != 1 || got.By["x"] != 1 || len(got.Warnings) != 3 {
		t.Errorf("%+v", got)
	}
	if err := Unmarshal([]byte(`{"Shared": null, "parts": null, "own": 2}`), &got); err != nil || !math.IsNaN(got.Shared) || got.Parts != nil || got.Own != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []string{"", "{", `{"name": 3}`, `[null]`} {
		if err := Unmarshal([]byte(bad), &got); err == nil {
			t.Errorf("read %q", bad)
		}
	}
}
