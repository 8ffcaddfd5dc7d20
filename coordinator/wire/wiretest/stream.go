// Package wiretest encodes a stream of messages as bytes, each message after its length,
// so that a fuzzer can change the messages of a peer and their order.
package wiretest

import (
	"io"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// Join encodes a stream of messages.
func Join[M proto.Message](t testing.TB, messages ...M) []byte {
	t.Helper()
	var stream []byte
	for _, m := range messages {
		raw, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		stream = protowire.AppendBytes(stream, raw)
	}
	return stream
}

// Next removes the first message from a stream, as a gRPC stream's Recv does: io.EOF at
// its end, another error for bytes that are not a message.
func Next[M any, P interface {
	*M
	proto.Message
}](stream *[]byte) (P, error) {
	if len(*stream) == 0 {
		return nil, io.EOF
	}
	raw, n := protowire.ConsumeBytes(*stream)
	if n < 0 {
		return nil, protowire.ParseError(n)
	}
	*stream = (*stream)[n:]
	m := P(new(M))
	return m, proto.Unmarshal(raw, m)
}
