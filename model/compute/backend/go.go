package backend

import (
	"fmt"
	"runtime"

	"github.com/gomlx/compute/gobackend"
)

// openGo opens the pure Go backend. Operations run one after the other: in parallel
// mode a ready node holds a worker slot while the matrix product inside it waits for
// another slot, so that graphs like ours deadlock. Each product still runs in parallel.
func openGo() (*Backend, error) {
	c, err := gobackend.New("ops_sequential")
	if err != nil {
		return nil, fmt.Errorf("backend go: %w", err)
	}
	return &Backend{Name: Go, Device: processor(), compute: c}, nil
}

// processor describes the CPU for people.
func processor() string {
	return fmt.Sprintf("%s, %d threads", runtime.GOARCH, runtime.GOMAXPROCS(0))
}
