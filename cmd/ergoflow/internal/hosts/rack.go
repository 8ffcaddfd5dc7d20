package hosts

import "testing"

// A Rack is hosts on a switch of their own. One cable connects that with the network's switch, and
// all that goes from the rack's hosts to others passes it.
type Rack struct {
	network *Network
	name    string // of its switch
	t       *testing.T
}

// Rack adds a rack whose cable carries a rate in each direction, in tc's notation. The name is at most
// 11 bytes long.
func (n *Network) Rack(name, rate string) *Rack {
	n.t.Helper()
	run(n.t, "ip", "link", "add", "name", name, "type", "bridge")
	run(n.t, "ip", "link", "set", "dev", name, "up")
	up, down := name+"-up", name+"-dn"
	run(n.t, "ip", "link", "add", "name", up, "type", "veth", "peer", "name", down)
	run(n.t, "ip", "link", "set", "dev", up, "master", name, "up")
	run(n.t, "ip", "link", "set", "dev", down, "master", "switch", "up")
	for _, device := range []string{up, down} {
		limit(n.t, rate, device)
	}
	return &Rack{n, name, n.t}
}

// Host adds a host to the rack. The name is at most 15 bytes long.
func (r *Rack) Host(name string) *Host {
	r.t.Helper()
	return r.network.wired(name, r.name)
}
