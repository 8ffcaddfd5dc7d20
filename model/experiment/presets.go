package experiment

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A definition has a constructor for each preset of an experiment.
type definition map[string]func() Experiment

// named are the experiments.
var named = map[string]definition{
	"vn1d":          onLine(vn1d),
	"rare1d":        onLine(rare1d),
	"cn2d":          inPlane(cn2d),
	"cn2d_grid":     inPlane(cn2dGrid),
	"cn2d_transfer": withoutBest(inPlane(cn2dTransfer)),
	"particles64d":  ofParticles(),
	"vn1d_time":     atTimes(),
	"anyd":          inSpace(),
}

// Names lists the experiments in alphabetical order.
func Names() []string { return slices.Sorted(maps.Keys(named)) }

// Presets lists the presets of an experiment in alphabetical order.
func Presets(name string) []string { return slices.Sorted(maps.Keys(named[name])) }

// ByName is the experiment with that name at that preset.
func ByName(name, preset string) (Experiment, error) {
	presets, ok := named[name]
	if !ok {
		return Experiment{}, fmt.Errorf("unknown experiment %q (known: %s)", name, strings.Join(Names(), ", "))
	}
	build, ok := presets[preset]
	if !ok {
		return Experiment{}, fmt.Errorf("unknown preset %q of %s (known: %s)", preset, name, strings.Join(Presets(name), ", "))
	}
	e := build()
	e.Name, e.Preset = name, preset
	return e, nil
}
