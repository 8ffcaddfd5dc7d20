package wire

import (
	"errors"
	"fmt"
	"io"
	"slices"
)

// ErrFlight means that the received bytes are not the dump of a flight recorder that its header
// announced.
var ErrFlight = errors.New("not the dump that was announced")

// flightPart is how many bytes of a dump one message has.
const flightPart = 1 << 20

// SendFlight sends a dump, first its header, to which it adds the size.
func SendFlight(send func(*FlightPart) error, h *FlightHeader, encoded []byte) error {
	h.Size = int64(len(encoded))
	err := send(&FlightPart{Part: &FlightPart_Header{Header: h}})
	for part := range slices.Chunk(encoded, flightPart) {
		if err != nil {
			return err
		}
		err = send(&FlightPart{Part: &FlightPart_Data{Data: part}})
	}
	return err
}

// ReadFlight receives the parts after a header, whose size is at most that many bytes. What they
// have beyond or below it is ErrFlight. An error of receive is returned as it is.
func ReadFlight(h *FlightHeader, most int64, receive func() (*FlightPart, error)) ([]byte, error) {
	size := h.GetSize()
	if h == nil || size < 1 || size > most {
		return nil, fmt.Errorf("%w: its header says %d bytes, not 1 to %d", ErrFlight, size, most)
	}
	var encoded []byte // it grows as bytes arrive: a header alone takes no memory
	for int64(len(encoded)) < size {
		part, err := receive()
		data := part.GetData()
		switch {
		case errors.Is(err, io.EOF):
			return nil, fmt.Errorf("%w: it ends after %d of %d bytes", ErrFlight, len(encoded), size)
		case err != nil:
			return nil, err
		case len(data) == 0, int64(len(encoded)+len(data)) > size:
			return nil, fmt.Errorf("%w: a part of %d bytes after %d of %d", ErrFlight, len(data), len(encoded), size)
		}
		encoded = append(encoded, data...)
	}
	return encoded, nil
}
