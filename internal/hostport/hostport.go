// Package hostport checks addresses that other processes and users give.
package hostport

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Check refuses an address that nobody can dial: it must be host:port with a port in
// 1…65535, and a host without spaces, slashes and characters that do not print.
func Check(address string) error {
	host, service, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	if port, err := strconv.ParseUint(service, 10, 16); err != nil || port == 0 {
		return fmt.Errorf("address %q: port %q is not in 1…65535", address, service)
	}
	if host == "" || strings.ContainsFunc(host, isForeign) {
		return fmt.Errorf("address %q: %q is no host", address, host)
	}
	return nil
}

// isForeign reports a character that no host's name has; utf8.RuneError stands for bytes
// that are no text.
func isForeign(r rune) bool {
	return r == utf8.RuneError || r == ' ' || r == '/' || !unicode.IsPrint(r)
}

// IsLoopback reports whether an address to listen on, host:port, is reachable
// from this machine alone. Names are not resolved: only localhost counts.
func IsLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
