package wire

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

func flightHeader(size int64) *FlightPart {
	return &FlightPart{Part: &FlightPart_Header{Header: &FlightHeader{Worker: "a", Size: size}}}
}

func flightData(b ...byte) *FlightPart { return &FlightPart{Part: &FlightPart_Data{Data: b}} }

// receiver gives parts one after the other, then an error.
func receiver(parts []*FlightPart, end error) func() (*FlightPart, error) {
	return func() (*FlightPart, error) {
		if len(parts) == 0 {
			return nil, end
		}
		next := parts[0]
		parts = parts[1:]
		return next, nil
	}
}

// What is sent comes back, in parts that fit a message.
func TestFlight(t *testing.T) {
	for _, size := range []int{1, flightPart, 2*flightPart + 7} {
		want := bytes.Repeat([]byte{7, 8, 9}, size)[:size]
		var sent []*FlightPart
		if err := SendFlight(func(p *FlightPart) error { sent = append(sent, p); return nil }, &FlightHeader{Worker: "a"}, want); err != nil {
			t.Fatal(err)
		}
		got, err := ReadFlight(sent[0].GetHeader(), 4*flightPart, receiver(sent[1:], io.EOF))
		if err != nil || !bytes.Equal(got, want) || len(sent) != 1+(size+flightPart-1)/flightPart {
			t.Errorf("%d bytes: %d in %d messages, %v", size, len(got), len(sent), err)
		}
	}
	broken := errors.New("broken")
	if err := SendFlight(func(*FlightPart) error { return broken }, &FlightHeader{}, []byte{1}); !errors.Is(err, broken) {
		t.Error(err)
	}
}

// A dump that is not as announced is refused, before it takes memory.
func TestFlightRefused(t *testing.T) {
	for name, test := range map[string]struct {
		header *FlightPart
		parts  []*FlightPart
	}{
		"no header":       {flightData(1), nil},
		"nothing":         {flightHeader(0), nil},
		"negative":        {flightHeader(-1), nil},
		"too large":       {flightHeader(101), nil},
		"it ends":         {flightHeader(3), []*FlightPart{flightData(1, 2)}},
		"too much":        {flightHeader(1), []*FlightPart{flightData(1, 2)}},
		"an empty part":   {flightHeader(2), []*FlightPart{flightData()}},
		"a second header": {flightHeader(2), []*FlightPart{flightData(1), flightHeader(2)}},
	} {
		if got, err := ReadFlight(test.header.GetHeader(), 100, receiver(test.parts, io.EOF)); !errors.Is(err, ErrFlight) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	broken := errors.New("broken")
	if _, err := ReadFlight(flightHeader(2).GetHeader(), 100, receiver(nil, broken)); !errors.Is(err, broken) {
		t.Error(err)
	}
}
