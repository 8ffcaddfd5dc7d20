package hostport

import "testing"

func TestCheck(t *testing.T) {
	for address, ok := range map[string]bool{
		"a:1": true, "127.0.0.1:65535": true, "[::1]:7000": true, "[fe80::1%eth0]:1": true, "gpu-7.example.org:7071": true, "münchen:1": true,
		"": false, "a": false, ":1": false, "a:": false, "a:b": false, "a:0": false, "a:65536": false, "a:-1": false, "::1:7000": false,
		"a b:1": false, "a/b:1": false, "\x1b[31ma:1": false, "\xff:1": false, "\ufffd:1": false, "a\u00a0b:1": false,
	} {
		if err := Check(address); (err == nil) != ok {
			t.Errorf("%q: %v", address, err)
		}
	}
}

func TestIsLoopback(t *testing.T) {
	for address, loopback := range map[string]bool{
		"127.0.0.1:0": true, "[::1]:80": true, "localhost:1": true, "127.9.9.9:1": true,
		"0.0.0.0:1": false, ":1": false, "10.0.0.1:1": false, "example.org:1": false, "127.0.0.1": false,
	} {
		if IsLoopback(address) != loopback {
			t.Errorf("%s: loopback %v", address, !loopback)
		}
	}
}
