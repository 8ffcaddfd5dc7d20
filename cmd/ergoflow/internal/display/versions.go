package display

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ergoflow/ergoflow/coordinator"
)

// maxNamed bounds the workers of one version that are named.
const maxNamed = 3

// versions says which workers run another version than the coordinator; empty: none.
func versions(st coordinator.Status) string {
	others := make(map[string][]string)
	for _, w := range st.Workers {
		if w.Version != st.Version && w.Version != "" { // older coordinators do not say it
			others[w.Version] = append(others[w.Version], string(w.ID))
		}
	}
	if len(others) == 0 {
		return ""
	}
	parts := []string{st.Version + ": the coordinator"}
	if same := len(st.Workers) - count(others); same > 0 {
		parts[0] += fmt.Sprintf(" and %d of %d workers", same, len(st.Workers))
	}
	for _, version := range slices.Sorted(maps.Keys(others)) {
		names := others[version]
		slices.Sort(names)
		text := strings.Join(names[:min(len(names), maxNamed)], ", ")
		if more := len(names) - maxNamed; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		parts = append(parts, version+": "+text)
	}
	return strings.Join(parts, "; ")
}

func count(lists map[string][]string) (n int) {
	for _, list := range lists {
		n += len(list)
	}
	return n
}
