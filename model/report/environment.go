package report

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/ergoflow/ergoflow"
)

// Environment describes the program and the machine of a run.
type Environment struct {
	Version  string `json:"version"` // of this program, with the commit where it is known
	Go       string `json:"go"`
	Platform string `json:"platform"`
	CPU      string `json:"cpu"`
	Cores    int    `json:"cores"` // usable by this process
	Memory   string `json:"memory"`
	Workers  int    `json:"workers"` // processes that trained; 0 if unknown
}

// Here describes this process and machine. Unknown fields are empty.
func Here() Environment {
	e := Environment{
		Version:  ergoflow.Build(),
		Go:       runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
		CPU:      procField("/proc/cpuinfo", "model name"),
		Cores:    runtime.GOMAXPROCS(0),
	}
	var kib float64
	if _, err := fmt.Sscanf(procField("/proc/meminfo", "MemTotal"), "%f kB", &kib); err == nil {
		e.Memory = fmt.Sprintf("%.1f GiB", kib/(1<<20))
	}
	return e
}

// procField is the first value of "name : value" in a file of /proc.
func procField(path, name string) string {
	f, err := os.Open(path)
	if err != nil {
		return "" // not Linux
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if key, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
