package flight

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/ergoflow/ergoflow"
)

// Format names the format of dumps in their first line.
const Format = formatPrefix + "1"

const (
	formatPrefix = "ergoflow-flight-"
	newestFormat = 1
)

// Bounds of a dump that is read. One that a recorder writes has at most 13,312 records and the
// few that are known at the moment of the dump, of 11 KiB at most; MaxDump is compressed.
const (
	MaxDump    = 8 << 20
	maxLine    = 16 << 10
	maxRecords = 20_000
)

var (
	// ErrFormat: it is no dump, or one of a later version.
	ErrFormat = errors.New("not a flight dump of this version")
	// ErrCut: the dump ends before its end. What came before is valid.
	ErrCut = errors.New("the dump is cut off or damaged")
	// ErrLarge: the dump has more than a recorder writes.
	ErrLarge = errors.New("the dump is larger than any that a recorder writes")
)

// A Dump is what a recorder held.
type Dump struct {
	Header  Header
	Records []Record // in the order of their numbers
}

// Header is the first line of a dump.
type Header struct {
	Format   string    `json:"format"`
	Process  Identity  `json:"process"`
	Run      string    `json:"run,omitempty"` // hash of the run that the process works for
	Occasion string    `json:"occasion"`
	At       time.Time `json:"at"` // by the wall clock of the process
	Since    float64   `json:"t"`  // seconds since the process began, by its monotonic clock
	Trace    string    `json:"trace,omitempty"`
}

// end is the last line of a dump.
type end struct {
	Records *int `json:"end"`
}

// Encode returns the dump as a file has it.
func (d *Dump) Encode() ([]byte, error) {
	var out bytes.Buffer
	zip, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	encoder := json.NewEncoder(zip)
	err = encoder.Encode(d.Header)
	for i := range d.Records {
		if err == nil {
			err = encoder.Encode(&d.Records[i])
		}
	}
	n := len(d.Records)
	if err == nil {
		err = encoder.Encode(end{&n})
	}
	if err = errors.Join(err, zip.Close()); err != nil {
		return nil, fmt.Errorf("encode a flight dump: %w", err)
	}
	return out.Bytes(), nil
}

// ReadHeader reads the first line of an encoded dump.
func ReadHeader(encoded []byte) (Header, error) {
	h, _, err := begin(bytes.NewReader(encoded))
	return h, err
}

// begin reads the first line. The lines after it follow.
func begin(from io.Reader) (h Header, lines *bufio.Scanner, err error) {
	zip, err := gzip.NewReader(from)
	if err != nil {
		return h, nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	lines = bufio.NewScanner(zip)
	lines.Buffer(nil, maxLine)
	if !lines.Scan() {
		return h, nil, fmt.Errorf("%w: it has no first line", ErrFormat)
	}
	err = json.Unmarshal(lines.Bytes(), &h)
	if number, isDump := strings.CutPrefix(h.Format, formatPrefix); err == nil && isDump {
		if n, err := strconv.Atoi(number); err == nil && n > newestFormat {
			return h, nil, fmt.Errorf("%w: %w", ErrFormat, ergoflow.CheckFormat("the dump", n, newestFormat))
		}
	}
	if err != nil || h.Format != Format {
		return h, nil, fmt.Errorf("%w: its format is %.40q", ErrFormat, h.Format)
	}
	h.clean()
	return h, lines, nil
}

// Read reads a dump. With ErrCut it returns what came before the damage; with any other error
// nil. It holds at most maxRecords records and reads at most MaxDump bytes.
func Read(from io.Reader) (*Dump, error) {
	limited := &io.LimitedReader{R: from, N: MaxDump + 1}
	h, lines, err := begin(limited)
	if err != nil {
		return nil, err
	}
	d := &Dump{Header: h}
	for lines.Scan() {
		var last end
		if bytes.HasPrefix(lines.Bytes(), []byte(`{"end":`)) {
			if json.Unmarshal(lines.Bytes(), &last) == nil && last.Records != nil && *last.Records == len(d.Records) {
				return d, nil
			}
			return d, fmt.Errorf("%w: it has %d records, and its last line says otherwise", ErrCut, len(d.Records))
		}
		if len(d.Records) == maxRecords {
			return nil, fmt.Errorf("%w: more than %d records", ErrLarge, maxRecords)
		}
		var e Record
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return d, fmt.Errorf("%w: record %d", ErrCut, len(d.Records)+1)
		}
		e.clean()
		d.Records = append(d.Records, e)
	}
	switch {
	case limited.N == 0:
		return nil, fmt.Errorf("%w: more than %d bytes", ErrLarge, MaxDump)
	case errors.Is(lines.Err(), bufio.ErrTooLong):
		return nil, fmt.Errorf("%w: a line of more than %d bytes", ErrLarge, maxLine)
	}
	return d, fmt.Errorf("%w: it ends after %d records", ErrCut, len(d.Records))
}

// clean bounds what a header brings.
func (h *Header) clean() {
	h.Occasion, h.Run, h.Trace = Clean(h.Occasion), clip(h.Run, 64), clip(h.Trace, 256)
	p := &h.Process
	p.Role, p.Host, p.Version = clip(p.Role, 32), clip(p.Host, 128), clip(p.Version, 128)
	e := Record{Worker: p.ID}
	e.clean()
	p.ID = e.Worker
}
