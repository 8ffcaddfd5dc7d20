package table

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"unsafe"

	"github.com/edsrzf/mmap-go"

	"github.com/ergoflow/ergoflow/model/network/deeponet"
	"github.com/ergoflow/ergoflow/model/network/kernels"
	"github.com/ergoflow/ergoflow/model/training/state"
)

// A file holds one table:
//
//	bytes 0–15   "ergoflow-table-1"
//	bytes 16–47  SHA-256 of what the table follows from: network, parameters, solver
//	bytes 48–51  CRC-32C of everything after the header, little-endian
//	bytes 52–63  zero
//	then         float32, little-endian: the packed weights of the layer of each time
const (
	magic      = "ergoflow-table-1"
	headerSize = 64
	suffix     = ".table"
	// mostKept is how many tables a directory keeps: the newest.
	mostKept = 4
)

// cache is a directory of tables. The zero cache keeps none.
type cache struct {
	dir   string
	model [sha256.Size]byte // of network and parameters
}

func newCache(dir string, config deeponet.Config, st *state.State) cache {
	if dir == "" {
		return cache{}
	}
	network, err := json.Marshal(config)
	if err != nil {
		return cache{}
	}
	parameters := st.ParameterHash()
	return cache{dir, sha256.Sum256(append(network, parameters[:]...))}
}

func (c cache) key(s scheme) [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(c.model[:], "%s, %d cells from %g to %g of %d terms", s.name, cells, lo, hi, terms))
}

func (c cache) path(s scheme) string {
	key := c.key(s)
	return filepath.Join(c.dir, hex.EncodeToString(key[:8])+suffix)
}

// read returns the table of a scheme, or nil: a file that is missing, damaged or of another
// table is made again.
func (c cache) read(s scheme, codeSize int) *Table {
	if c.dir == "" {
		return nil
	}
	size := kernels.PackedSize(codeSize, cells*terms)
	content, err := load(c.path(s), c.key(s), 4*size*len(s.times))
	if err != nil {
		slog.Debug("the sampler makes its table again", "file", c.path(s), "reason", err)
		return nil
	}
	t := &Table{scheme: s, file: content}
	numbers := content.numbers()
	for i := range s.times {
		t.layers = append(t.layers, kernels.PackedDense(numbers[i*size:(i+1)*size:(i+1)*size], codeSize, cells*terms))
	}
	return t
}

// mapping is a file in memory. It is unmapped when nothing refers to it any more.
type mapping struct{ bytes mmap.MMap }

// load maps the file of a table with that many bytes of weights.
func load(path string, key [sha256.Size]byte, size int) (*mapping, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() != int64(headerSize+size) {
		return nil, fmt.Errorf("it does not have %d bytes", headerSize+size)
	}
	content, err := mmap.Map(f, mmap.RDONLY, 0)
	if err != nil {
		return nil, err
	}
	m := &mapping{content}
	runtime.AddCleanup(m, func(content mmap.MMap) { _ = content.Unmap() }, content)
	header := content[:headerSize]
	if string(header[:16]) != magic || !bytes.Equal(header[16:48], key[:]) {
		return nil, fmt.Errorf("it is another table")
	}
	if sum := binary.LittleEndian.Uint32(header[48:]); crc32.Checksum(content[headerSize:], castagnoli) != sum {
		return nil, fmt.Errorf("its checksum is wrong")
	}
	return m, nil
}

// numbers are the weights, in the file itself where the processor has its byte order.
func (m *mapping) numbers() []float32 {
	content := m.bytes[headerSize:]
	if !bigEndian {
		return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(content))), len(content)/4)
	}
	numbers := make([]float32, len(content)/4)
	for i := range numbers {
		numbers[i] = math.Float32frombits(binary.LittleEndian.Uint32(content[4*i:]))
	}
	return numbers
}

// write keeps a table, if it can: samples do not depend on it.
func (c cache) write(t *Table) {
	if c.dir == "" {
		return
	}
	path := c.path(t.scheme)
	if err := c.save(path, t); err != nil {
		slog.Debug("the sampler keeps no table", "file", path, "reason", err)
		return
	}
	c.prune()
}

func (c cache) save(path string, t *Table) error {
	if err := os.Mkdir(c.dir, 0o755); err != nil && !os.IsExist(err) {
		return err
	}
	key := c.key(t.scheme)
	header := make([]byte, headerSize)
	copy(header, magic)
	copy(header[16:], key[:])
	sum := uint32(0)
	parts := make([][]byte, len(t.layers))
	for i, layer := range t.layers {
		parts[i] = littleEndian(layer.Packed())
		sum = crc32.Update(sum, castagnoli, parts[i])
	}
	binary.LittleEndian.PutUint32(header[48:], sum)
	// The file is not synced: after a power cut its checksum is wrong, and it is made again.
	f, err := os.CreateTemp(c.dir, "*"+suffix+".new")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	for _, part := range append([][]byte{header}, parts...) {
		if _, err := f.Write(part); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	if err := errors.Join(f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// prune removes all tables but the newest.
func (c cache) prune() {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return
	}
	var files []os.FileInfo
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && filepath.Ext(entry.Name()) == suffix {
			files = append(files, info)
		}
	}
	slices.SortFunc(files, func(a, b os.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	for _, old := range files[min(mostKept, len(files)):] {
		os.Remove(filepath.Join(c.dir, old.Name()))
	}
}

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	bigEndian  = binary.NativeEndian.Uint16([]byte{0, 1}) == 1
)

// littleEndian are the bytes of numbers, in place where the processor has this order.
func littleEndian(numbers []float32) []byte {
	if !bigEndian {
		return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(numbers))), 4*len(numbers))
	}
	var content []byte
	for _, v := range numbers {
		content = binary.LittleEndian.AppendUint32(content, math.Float32bits(v))
	}
	return content
}
