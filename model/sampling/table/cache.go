package table

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"unsafe"

	"github.com/ergoflow/ergoflow/internal/atomicfile"
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
	numbers := make([]float32, len(s.times)*size)
	if err := c.load(c.path(s), c.key(s), numbers); err != nil {
		slog.Debug("the sampler makes its table again", "file", c.path(s), "reason", err)
		return nil
	}
	t := &Table{scheme: s}
	for i := range s.times {
		t.layers = append(t.layers, kernels.PackedDense(numbers[i*size:(i+1)*size:(i+1)*size], codeSize, cells*terms))
	}
	return t
}

// load fills numbers from a file of exactly that many.
func (c cache) load(path string, key [sha256.Size]byte, numbers []float32) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var header [headerSize]byte
	if _, err := io.ReadFull(f, header[:]); err != nil {
		return err
	}
	if string(header[:16]) != magic || !bytes.Equal(header[16:48], key[:]) {
		return fmt.Errorf("it is another table")
	}
	content := raw(numbers)
	if _, err := io.ReadFull(f, content); err != nil {
		return err
	}
	if sum := binary.LittleEndian.Uint32(header[48:]); crc32.Checksum(content, castagnoli) != sum {
		return fmt.Errorf("its checksum is wrong")
	}
	if n, _ := f.Read(header[:1]); n > 0 {
		return fmt.Errorf("it is too long")
	}
	littleEndian(content)
	return nil
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
		parts[i] = raw(layer.Packed())
		if bigEndian {
			parts[i] = bytes.Clone(parts[i])
			littleEndian(parts[i])
		}
		sum = crc32.Update(sum, castagnoli, parts[i])
	}
	binary.LittleEndian.PutUint32(header[48:], sum)
	f, err := atomicfile.Create(path)
	if err != nil {
		return err
	}
	defer f.Abort()
	for _, part := range append([][]byte{header}, parts...) {
		if _, err := f.Write(part); err != nil {
			return err
		}
	}
	return f.Commit()
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

// raw are the bytes of numbers, in the processor's order.
func raw(numbers []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(numbers))), 4*len(numbers))
}

// littleEndian turns float32 of the processor's order into little-endian ones, or back.
func littleEndian(content []byte) {
	if !bigEndian {
		return
	}
	for i := 0; i+4 <= len(content); i += 4 {
		slices.Reverse(content[i : i+4])
	}
}
