// Package wiretest writes a stream of messages as one string of bytes, each behind
// its length, so that a fuzzer can change what a peer says and in which order.
package wiretest

import (
	"io"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// Join is the stream of messages.
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

// Next takes the first message off a stream, as a gRPC stream's Recv would: io.EOF
// at its end, another error for what is no message.
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
