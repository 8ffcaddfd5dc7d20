package registry

import (
	"crypto/rand"
	"fmt"
	"os"
)

// Holder is a process that holds the lock of a model's retrainings, or wants it.
type Holder struct {
	Host    string `json:"host"`
	Machine string `json:"machine,omitempty"` // /etc/machine-id; empty where unknown, as in most containers
	Boot    string `json:"boot,omitempty"`    // a number of the machine's start; empty where unknown
	Space   string `json:"space,omitempty"`   // namespace of the process numbers
	PID     int    `json:"pid"`
	Started uint64 `json:"started,omitempty"` // when the process started, in clock ticks since the machine did
	ID      string `json:"id"`                // random: tells two holds of one process apart
	What    string `json:"what,omitempty"`    // that it does, for people
}

// Self is this process as a holder that does what.
func Self(what string) Holder {
	host, _ := os.Hostname() // for people, and together with the machine's id alone
	h := Holder{Host: host, PID: os.Getpid(), ID: rand.Text(), What: what}
	h.Machine, h.Boot, h.Space = machine()
	h.Started, _ = process(h.PID)
	return h
}

func (h Holder) String() string {
	s := fmt.Sprintf("process %d on %s", h.PID, h.Host)
	if h.What != "" {
		s += " (" + h.What + ")"
	}
	return s
}

// sameBoot reports whether two holders are processes of one machine since one start.
func (h Holder) sameBoot(other Holder) bool { return h.Boot != "" && h.Boot == other.Boot }

// rebooted reports whether other's machine has been started again since other ran. That two
// machines have one name is no evidence: clones do.
func (h Holder) rebooted(other Holder) bool {
	return h.Machine != "" && h.Machine == other.Machine && h.Host == other.Host &&
		h.Boot != "" && other.Boot != "" && h.Boot != other.Boot
}

// gone reports whether other is a process of this machine that has ended.
func (h Holder) gone(other Holder) bool {
	if !h.sameBoot(other) || h.Space == "" || h.Space != other.Space {
		return false
	}
	started, running := process(other.PID)
	return !running || started != other.Started
}
