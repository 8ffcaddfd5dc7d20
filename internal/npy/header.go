package npy

import (
	"encoding/binary"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
)

const (
	magic     = "\x93NUMPY"
	maxHeader = 10_000 // bytes; NumPy's own bound
)

type header struct {
	dtype    dtype
	fortran  bool
	shape    []int
	elements int
}

// The keys may come in any order; NumPy itself writes them sorted.
var (
	dictionary = regexp.MustCompile(`^\{.*\}\s*$`)
	descr      = regexp.MustCompile(`'descr'\s*:\s*'([^']*)'`)
	order      = regexp.MustCompile(`'fortran_order'\s*:\s*(True|False)`)
	shape      = regexp.MustCompile(`'shape'\s*:\s*\(([^()]*)\)`)
)

// readHeader returns the header and the number of bytes before the data.
func readHeader(r io.Reader, size int64) (header, int64, error) {
	var b [12]byte
	if _, err := io.ReadFull(r, b[:10]); err != nil || string(b[:6]) != magic {
		return header{}, 0, formatError("it does not begin with \\x93NUMPY")
	}
	before, n := int64(10), int64(binary.LittleEndian.Uint16(b[8:]))
	switch b[6] {
	case 1:
	case 2, 3: // 3 has names of fields in UTF-8, of records
		if _, err := io.ReadFull(r, b[10:12]); err != nil {
			return header{}, 0, formatError("truncated")
		}
		before, n = 12, int64(binary.LittleEndian.Uint32(b[8:]))
	default:
		return header{}, 0, formatError("version %d.%d", b[6], b[7])
	}
	if n > maxHeader || before+n > size {
		return header{}, 0, formatError("header of %d bytes in a file of %d", n, size)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(r, text); err != nil {
		return header{}, 0, formatError("truncated")
	}
	h, err := parseHeader(string(text))
	return h, before + n, err
}

func parseHeader(text string) (header, error) {
	text = strings.TrimRight(text, " \n")
	found := func(e *regexp.Regexp) string {
		m := e.FindStringSubmatch(text)
		if m == nil {
			return ""
		}
		return m[1]
	}
	if !dictionary.MatchString(text) || !order.MatchString(text) || !shape.MatchString(text) {
		return header{}, formatError("header %.100q", text)
	}
	d, err := parseDType(found(descr))
	if err != nil {
		return header{}, err
	}
	h := header{dtype: d, fortran: found(order) == "True", elements: 1}
	for d := range strings.SplitSeq(strings.TrimSuffix(strings.TrimSpace(found(shape)), ","), ",") {
		size, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(d), "L")) // Python 2 wrote 3L
		if err != nil || size < 0 {
			return header{}, formatError("shape (%.100s), want at least one dimension", found(shape))
		}
		if size > 0 && h.elements > math.MaxInt/8/size {
			return header{}, formatError("shape (%.100s) overflows", found(shape))
		}
		h.shape = append(h.shape, size)
		h.elements *= size
	}
	return h, nil
}
