package hosts

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A Network is a switch and the hosts on it. Its methods end the test if the machine
// refuses an operation.
type Network struct {
	t     *testing.T
	hosts int
	names string              // file that is mounted on /etc/hosts; empty: none
	known map[string][]string // in that file: name → addresses
}

// A Host has a network of its own. Hosts share files and processes.
type Host struct {
	Name    string
	Address string // on the switch
	device  string // of the host's cable, at the switch
	t       *testing.T
}

const (
	subnet = "10.77.0." // inside the namespaces only
	// burst is how many bytes leave a limited host at once: a few of the kernel's largest
	// segments.
	burst = "256kb"
)

// New makes a switch and connects the calling process to it. The test must be Isolated.
func New(t *testing.T) *Network {
	t.Helper()
	run(t, "ip", "link", "add", "name", "switch", "type", "bridge")
	run(t, "ip", "address", "add", subnet+"254/24", "dev", "switch")
	run(t, "ip", "link", "set", "dev", "switch", "up")
	return &Network{t: t}
}

// Host adds a host. The name is at most 15 bytes long.
func (n *Network) Host(name string) *Host {
	n.t.Helper()
	h := n.add(name)
	run(n.t, "ip", "link", "add", "name", name, "type", "veth", "peer", "name", "eth0", "netns", name)
	n.connect(h, name)
	return h
}

// add adds a host without a cable.
func (n *Network) add(name string) *Host {
	n.t.Helper()
	n.hosts++
	run(n.t, "ip", "netns", "add", name)
	return &Host{Name: name, Address: fmt.Sprint(subnet, n.hosts), t: n.t}
}

// connect connects a device with the switch, and gives the host's end of that cable, eth0, its
// address.
func (n *Network) connect(h *Host, device string) {
	n.t.Helper()
	h.device = device
	run(n.t, "ip", "link", "set", "dev", device, "master", "switch", "up")
	run(n.t, "ip", "-n", h.Name, "address", "add", h.Address+"/24", "dev", "eth0")
	run(n.t, "ip", "-n", h.Name, "link", "set", "dev", "eth0", "up")
	run(n.t, "ip", "-n", h.Name, "link", "set", "dev", "lo", "up")
}

// Names has the hosts know a name with several addresses, as DNS would say it. Called again
// it replaces what they know of that name, also for processes that run.
func (n *Network) Names(name string, addresses ...string) {
	n.t.Helper()
	first := n.names == ""
	if first {
		n.known = make(map[string][]string)
		n.names = filepath.Join(n.t.TempDir(), "hosts")
	}
	n.known[name] = addresses
	var text strings.Builder
	for name, addresses := range n.known {
		for _, address := range addresses {
			fmt.Fprintf(&text, "%s %s\n", address, name)
		}
	}
	if err := os.WriteFile(n.names, []byte(text.String()), 0o644); err != nil { // in place: it is mounted
		n.t.Fatal(err)
	}
	if first {
		run(n.t, "mount", "--bind", n.names, "/etc/hosts") // the mount ends with this process
	}
}

// Command is a program that runs on the host. The process that starts executes it in its
// own place.
func (h *Host) Command(ctx context.Context, program string, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "ip", append([]string{"netns", "exec", h.Name, program}, args...)...)
}

// Unplug pulls the host's cable: packets are lost, and no process gets an error.
func (h *Host) Unplug() {
	h.t.Helper()
	run(h.t, "ip", "link", "set", "dev", h.device, "down")
}

// Plug plugs the cable in again.
func (h *Host) Plug() {
	h.t.Helper()
	run(h.t, "ip", "link", "set", "dev", h.device, "up")
}

// Hide gives the host a second address, to which the others have no route: a process there
// can connect to others, and others cannot connect to it.
func (h *Host) Hide(address string) {
	h.t.Helper()
	run(h.t, "ip", "-n", h.Name, "address", "add", address+"/32", "dev", "lo")
}

// Assign gives the host another address on the switch, and Unassign takes it back. It may be
// moved to another host: those that Forget find it there.
func (h *Host) Assign(address string) {
	h.t.Helper()
	run(h.t, "ip", "-n", h.Name, "address", "add", address+"/24", "dev", "eth0")
}

// Unassign ends Assign.
func (h *Host) Unassign(address string) {
	h.t.Helper()
	run(h.t, "ip", "-n", h.Name, "address", "del", address+"/24", "dev", "eth0")
}

// Forget has the host ask again which host has which address.
func (h *Host) Forget() {
	h.t.Helper()
	run(h.t, "ip", "-n", h.Name, "neighbour", "flush", "dev", "eth0")
}

// Drop makes the host send packets for an address to another host, which discards them:
// there is no answer, as behind a firewall.
func (h *Host) Drop(address string, at *Host) {
	h.t.Helper()
	run(h.t, "ip", "-n", h.Name, "route", "add", address+"/32", "via", at.Address)
}

// Blackhole makes the host discard packets for an address, as a router with a lost route
// does. Senders on the host get an error.
func (h *Host) Blackhole(address string) {
	h.t.Helper()
	run(h.t, "ip", "-n", h.Name, "route", "add", "blackhole", address+"/32")
}

// Reroute ends Drop and Blackhole.
func (h *Host) Reroute(address string) {
	h.t.Helper()
	run(h.t, "ip", "-n", h.Name, "route", "del", address+"/32")
}

// Limit bounds the rates at which the host sends and receives, in tc's notation, such as
// "20mbit". Unlimit removes the bound.
func (h *Host) Limit(rate string) {
	h.t.Helper()
	limit := []string{"root", "tbf", "rate", rate, "burst", burst, "latency", "100ms"}
	run(h.t, "tc", append([]string{"-n", h.Name, "qdisc", "replace", "dev", "eth0"}, limit...)...)
	run(h.t, "tc", append([]string{"qdisc", "replace", "dev", h.device}, limit...)...)
}

// LimitTo bounds the rate at which the host sends to others, all together, in tc's notation. What it
// sends to the rest has another rate. It replaces Limit for what the host sends.
func (h *Host) LimitTo(rate string, rest string, others ...*Host) {
	h.t.Helper()
	tc := func(args ...string) { h.t.Helper(); run(h.t, "tc", append([]string{"-n", h.Name}, args...)...) }
	tc("qdisc", "replace", "dev", "eth0", "root", "handle", "1:", "htb", "default", "1")
	tc("class", "add", "dev", "eth0", "parent", "1:", "classid", "1:1", "htb", "rate", rest, "burst", burst)
	tc("class", "add", "dev", "eth0", "parent", "1:", "classid", "1:2", "htb", "rate", rate, "burst", burst)
	for _, other := range others {
		tc("filter", "add", "dev", "eth0", "parent", "1:", "protocol", "ip", "u32", "match", "ip", "dst", other.Address+"/32", "flowid", "1:2")
	}
}

// Unlimit ends Limit.
func (h *Host) Unlimit() {
	h.t.Helper()
	run(h.t, "tc", "-n", h.Name, "qdisc", "del", "dev", "eth0", "root")
	run(h.t, "tc", "qdisc", "del", "dev", h.device, "root")
}

func run(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}
