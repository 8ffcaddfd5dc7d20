package memory

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Usage is how much of a limit is used.
type Usage struct {
	Bytes  uint64 // without pages of files, which the kernel takes back when it needs to
	Limit  Limit
	Killed uint64 // processes of this cgroup that the kernel has ended for want of memory
}

const cgroups = "/sys/fs/cgroup"

// Used returns how much is used of the limit that Find returns: by the cgroup, or by all
// processes of the machine.
func Used() (u Usage, err error) {
	if u.Limit, err = Find(); err != nil {
		return u, err
	}
	group, v2 := ownCgroup()
	if group != "" {
		u.Killed = killed(group, v2)
	}
	if u.Limit.Source == machineSource {
		u.Bytes, err = machineUsed()
		return u, err
	}
	if group == "" {
		return u, errors.New("the cgroup of this process cannot be found")
	}
	u.Bytes, err = cgroupUsed(group, v2)
	return u, err
}

// ownCgroup is the directory of this process's cgroup for memory; empty: there is none.
func ownCgroup() (dir string, v2 bool) {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", false
	}
	for line := range strings.Lines(string(text)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		v2 := parts[0] == "0" && parts[1] == ""
		root := filepath.Join(cgroups, "memory")
		if v2 {
			root = cgroups
		} else if parts[1] != "memory" {
			continue
		}
		for _, dir := range []string{filepath.Join(root, parts[2]), root} { // a container may see its own as the root
			if _, err := os.Stat(filepath.Join(dir, usageFile(v2))); err == nil {
				return dir, v2
			}
		}
	}
	return "", false
}

func usageFile(v2 bool) string {
	if v2 {
		return "memory.current"
	}
	return "memory.usage_in_bytes"
}

func cgroupUsed(dir string, v2 bool) (uint64, error) {
	text, err := os.ReadFile(filepath.Join(dir, usageFile(v2)))
	if err != nil {
		return 0, err
	}
	used, err := strconv.ParseUint(string(bytes.TrimSpace(text)), 10, 64)
	if err != nil {
		return 0, err
	}
	prefix := ""
	if !v2 {
		prefix = "total_"
	}
	pages := field(filepath.Join(dir, "memory.stat"), prefix+"inactive_file") + field(filepath.Join(dir, "memory.stat"), prefix+"active_file")
	return used - min(used, pages), nil
}

func killed(dir string, v2 bool) uint64 {
	if v2 {
		return field(filepath.Join(dir, "memory.events"), "oom_kill")
	}
	return field(filepath.Join(dir, "memory.oom_control"), "oom_kill")
}

// field is a number in a file of lines "name number", and 0 where it is missing.
func field(path, name string) uint64 {
	f, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		words := strings.Fields(lines.Text())
		if len(words) >= 2 && words[0] == name {
			n, _ := strconv.ParseUint(words[1], 10, 64) // 0 where it is none
			return n
		}
	}
	return 0
}

func machineUsed() (uint64, error) {
	const path = "/proc/meminfo"
	total, available := field(path, "MemTotal:"), field(path, "MemAvailable:")
	if total == 0 || available > total {
		return 0, errors.New(path + " does not say how much memory is used")
	}
	return (total - available) << 10, nil
}
