//go:build linux && cgo && amd64

package products

import (
	"github.com/gomlx/compute"
	"github.com/gomlx/go-xla/compute/xla"
)

// Targets are the custom calls in the main function of a program.
func Targets(f compute.Function) (targets []any) {
	for _, s := range program(f.(function).Function.(*xla.Function)).Statements {
		if target := s.Attributes["call_target_name"]; target != nil {
			targets = append(targets, target)
		}
	}
	return targets
}
