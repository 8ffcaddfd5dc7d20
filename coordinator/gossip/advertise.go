package gossip

import (
	"errors"
	"net"
)

// Advertise turns the address of a listener into one that others can dial: a
// listener on all interfaces is reached at the first address of this machine
// that is not loopback.
func Advertise(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	if ip := net.ParseIP(host); host != "" && (ip == nil || !ip.IsUnspecified()) {
		return address
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return address
	}
	var first net.IP // of IPv4 if there is one
	for _, a := range own {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() && (first == nil || first.To4() == nil && n.IP.To4() != nil) {
			first = n.IP
		}
	}
	if first == nil {
		return address
	}
	return net.JoinHostPort(first.String(), port)
}

// ErrInsecure: other hosts can reach the address, and nothing protects it.
var ErrInsecure = errors.New("listening beyond loopback without credentials")

// Insecurity is what a process says at its start that listens beyond loopback in plain text.
const Insecurity = "this process speaks plain text (--insecure): everybody who reaches its ports can join, read checkpoints, submit runs and change gradients"

// HalfSecured is what a coordinator says at its start, and `ergoflow doctor`, while a cluster
// changes from plain text.
const HalfSecured = "this cluster still accepts plain text (--accept-plaintext): everybody who reaches its ports can join, read checkpoints and change gradients"
