package allreduce

import (
	"testing"

	"github.com/ergoflow/ergoflow"
)

// Workers of two versions are in one ring if their Numerics are the same, so the bytes and the
// schedule of the ring may change with that number alone.
func TestProtocolOfNumerics(t *testing.T) {
	of := map[uint32]uint16{1: 7} // Numerics → protocolVersion
	if want, known := of[ergoflow.Numerics]; !known || want != protocolVersion {
		t.Errorf("the ring's protocol is %d, and with numerics %d it was %d: raise ergoflow.Numerics, and enter both here", protocolVersion, ergoflow.Numerics, want)
	}
}
