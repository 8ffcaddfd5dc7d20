package worker

import (
	"regexp"
	"testing"
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
