package worker

import (
	"errors"
	"regexp"
	"testing"

	"github.com/ergoflow/ergoflow/coordinator/gossip"
	"github.com/ergoflow/ergoflow/internal/trust"
)

// Ids differ from start to start, and name host and port for people.
func TestIdentify(t *testing.T) {
	first, second := identify("10.0.0.2:7071"), identify("10.0.0.2:7071")
	if first == second {
		t.Errorf("twice %s", first)
	}
	if ok, _ := regexp.MatchString(`^[A-Za-z0-9._-]{1,64}-7071-[0-9a-f]{8}$`, string(first)); !ok {
		t.Errorf("id %s", first)
	}
}

// In plain text, addresses beyond loopback need --insecure.
func TestInsecure(t *testing.T) {
	for name, test := range map[string]struct {
		config Config
		want   error
	}{
		"loopback":           {Config{Gossip: "127.0.0.1:0", Listen: "127.0.0.1:0"}, nil},
		"beyond":             {Config{Gossip: "127.0.0.1:0", Listen: "0.0.0.0:0"}, gossip.ErrInsecure},
		"gossip beyond":      {Config{Gossip: "0.0.0.0:0", Listen: "127.0.0.1:0"}, gossip.ErrInsecure},
		"metrics beyond":     {Config{Gossip: "127.0.0.1:0", Listen: "127.0.0.1:0", HTTP: "0.0.0.0:0"}, gossip.ErrInsecure},
		"with --insecure":    {Config{Gossip: "0.0.0.0:0", Listen: "0.0.0.0:0", Insecure: true}, nil},
		"with a certificate": {Config{Gossip: "0.0.0.0:0", Listen: "0.0.0.0:0", Credentials: new(trust.Credentials)}, nil},
	} {
		if err := test.config.check(); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}
