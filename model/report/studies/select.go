package studies

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ergoflow/ergoflow/model/experiment"
)

// All has the paper's tables and figures, and those of a direction that the paper
// leaves open. To add a study, add an element; `reproduce` offers those whose
// experiments the program has.
var All = []Study{vn1d, rare1d, cn2d, cn2dTransfer, particles64d, vn1dTime}

// Known has the studies whose experiments this program has.
func Known() []Study {
	return slices.DeleteFunc(slices.Clone(All), func(s Study) bool {
		return slices.ContainsFunc(s.Runs, func(r RunSpec) bool { return !slices.Contains(experiment.Names(), r.Experiment) })
	})
}

// Names lists the known studies.
func Names() []string {
	var names []string
	for _, s := range Known() {
		names = append(names, s.Name)
	}
	return names
}

// Select finds a study by name; "all" means every known one whose experiments
// have the preset.
func Select(name, preset string) ([]Study, error) {
	known := Known()
	if name == "all" {
		some := slices.DeleteFunc(known, func(s Study) bool { return s.checkPreset(preset) != nil })
		for i, s := range some {
			some[i] = s.at(preset)
		}
		if len(some) == 0 {
			return nil, fmt.Errorf("no experiment has a preset called %q", preset)
		}
		return some, nil
	}
	i := slices.IndexFunc(known, func(s Study) bool { return s.Name == name })
	if i < 0 {
		for _, s := range known {
			if slices.ContainsFunc(s.Runs, func(r RunSpec) bool { return r.Experiment == name }) {
				return nil, fmt.Errorf("%s is part of %s: reproduce that", name, s.Name)
			}
		}
		return nil, fmt.Errorf("no study %q (known: %s, all)", name, strings.Join(Names(), ", "))
	}
	return []Study{known[i].at(preset)}, known[i].checkPreset(preset)
}

// at is the study at a preset.
func (s Study) at(preset string) Study {
	if preset == "best" && s.Best != nil {
		return *s.Best
	}
	return s
}

// checkPreset says why the study cannot be made at a preset, or nil.
func (s Study) checkPreset(preset string) error {
	for _, r := range s.Runs {
		if _, err := experiment.ByName(r.Experiment, preset); err != nil {
			return err
		}
	}
	return nil
}
