package boltfile

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"syscall"

	"github.com/ergoflow/ergoflow/internal/filelock"
	"github.com/ergoflow/ergoflow/internal/gitlfs"
)

// bbolt's file format, version 2, as far as the check needs it. A page is a
// header of 16 bytes (id 8, flags 2, count 2, overflow 4) and count elements of
// 16 bytes: in a branch (position 4, key size 4, page 8), in a leaf (flags 4,
// position 4, key size 4, value size 4), positions from the element's start. The
// first key follows the last element.
// Pages 0 and 1 hold meta records: magic 4, version 4, page size 4, flags 4,
// root page 8, sequence 8, freelist 8, high-water mark 8, transaction 8, and
// FNV-1a of all these 8. Integers have the machine's byte order; that is little-endian
// wherever this program runs.
const (
	boltMagic   = 0xED0CDAED
	boltVersion = 2
	pageHeader  = 16
	element     = 16
	metaSize    = 64
	flagBranch  = 1
	flagLeaf    = 2
	leafBucket  = 1
	maxDepth    = 64
	newPages    = 4 // of a file without buckets: two meta records, free list, root
)

// inspector walks all pages that the newest valid meta record reaches, with ReadAt, and
// checks every number. bbolt walks the same pages when it opens a file without a stored
// free list, and would panic in a goroutine of its own.
type inspector struct {
	file     *os.File
	pageSize int64
	pages    uint64 // high-water mark
	seen     map[uint64]bool
	metas    int      // valid meta records
	buffers  [][]byte // of the pages from the root to the present one
}

// inspect checks the file's structure: sizes, page numbers and types, bounds of
// keys and values, their order. The warning is that of DB.
func inspect(path string) (warning string, err error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	if err := lock(file); err != nil {
		return "", err
	}
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	if info.Size() == 0 { // bbolt would take it for a new file; ours are never empty
		return "", fmt.Errorf("%w: it is empty", ErrCorrupt)
	}
	head := make([]byte, gitlfs.Head)
	n, _ := file.ReadAt(head, 0) // the records below are read again
	if err := gitlfs.Check(head[:n]); err != nil {
		return "", err
	}
	in := &inspector{file: file, seen: make(map[uint64]bool)}
	root, err := in.meta(info.Size())
	if err == nil {
		err = in.page(root, 0)
	}
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if in.metas < 2 {
		warning = fmt.Sprintf("%s: one of its two meta records is damaged: it is read as the other has it, and its newest change may be missing", path)
	}
	return warning, nil
}

// lock waits for the shared lock, which a writer excludes; closing the file
// releases it.
func lock(file *os.File) error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), lockTimeout, ErrLocked)
	defer cancel()
	return filelock.Wait(ctx, file, syscall.LOCK_SH)
}

// meta reads both meta records and returns the root page of the newer valid one.
func (in *inspector) meta(size int64) (root uint64, err error) {
	var txid uint64
	found := false
	// The second record lies one page in; the first, where valid, tells how far.
	for _, offset := range []int64{0, int64(os.Getpagesize())} {
		if offset > 0 && found {
			offset = in.pageSize
		}
		b := make([]byte, metaSize)
		if _, err := in.file.ReadAt(b, offset+pageHeader); err != nil {
			continue
		}
		h := fnv.New64a()
		h.Write(b[:56])
		le := binary.LittleEndian
		pageSize := int64(le.Uint32(b[8:]))
		if le.Uint32(b) != boltMagic || le.Uint32(b[4:]) != boltVersion || le.Uint64(b[56:]) != h.Sum64() ||
			pageSize < 1024 || pageSize > 1<<20 {
			continue
		}
		if id := le.Uint64(b[48:]); !found || id > txid {
			txid, root = id, le.Uint64(b[16:])
			in.pageSize, in.pages = pageSize, le.Uint64(b[40:])
		}
		found = true
		in.metas++
	}
	switch {
	case !found:
		return 0, errors.New("neither of its first two pages is valid; it is not a bbolt file, or was overwritten")
	case in.pages > uint64(size/in.pageSize):
		return 0, fmt.Errorf("it was cut off: it has %d bytes and needs %d", size, int64(in.pages)*in.pageSize)
	}
	return root, nil
}

// window is the part of the file that was read last: a page, whatever lies in its overflow
// excepted. One read a page is several times faster than one for each key.
type window struct {
	offset int64
	bytes  []byte
}

// read returns n bytes at offset, from the window where it has them.
func (in *inspector) read(w window, offset, n int64) ([]byte, error) {
	if at := offset - w.offset; at >= 0 && at+n <= int64(len(w.bytes)) {
		return w.bytes[at : at+n], nil
	}
	b := make([]byte, n)
	_, err := in.file.ReadAt(b, offset)
	return b, err
}

// page checks one page and all below it.
func (in *inspector) page(id uint64, depth int) error {
	if id < 2 || id >= in.pages {
		return fmt.Errorf("page %d is not one of %d", id, in.pages)
	}
	if depth > maxDepth {
		return fmt.Errorf("page %d lies more than %d deep", id, maxDepth)
	}
	offset := int64(id) * in.pageSize
	for len(in.buffers) <= depth {
		in.buffers = append(in.buffers, make([]byte, in.pageSize))
	}
	w := window{offset, in.buffers[depth]} // pages above this one have their own
	if _, err := in.file.ReadAt(w.bytes, offset); err != nil {
		return fmt.Errorf("page %d: %w", id, err)
	}
	header := w.bytes[:pageHeader]
	if got := binary.LittleEndian.Uint64(header); got != id {
		return fmt.Errorf("page %d calls itself %d", id, got)
	}
	overflow := uint64(binary.LittleEndian.Uint32(header[12:]))
	if overflow >= in.pages-id {
		return fmt.Errorf("page %d runs over the end", id)
	}
	for i := range overflow + 1 {
		if in.seen[id+i] {
			return fmt.Errorf("page %d is used twice", id+i)
		}
		in.seen[id+i] = true
	}
	return in.elements(w, header, id, offset, (int64(overflow)+1)*in.pageSize, depth)
}

// elements checks the content of a page, or of a page inlined in a value, of
// size bytes at offset.
func (in *inspector) elements(w window, header []byte, id uint64, offset, size int64, depth int) error {
	flags := binary.LittleEndian.Uint16(header[8:])
	count := int64(binary.LittleEndian.Uint16(header[10:]))
	if flags != flagBranch && flags != flagLeaf {
		return fmt.Errorf("page %d has the unknown type %#x", id, flags)
	}
	// An empty bucket is in its parent's page, in no more bytes than it needs. Only a new file
	// has an empty page, its root.
	mayBeEmpty := flags == flagLeaf && (size == pageHeader || depth == 0 && in.pages == newPages)
	if count == 0 && !mayBeEmpty || pageHeader+count*element > size {
		return fmt.Errorf("page %d cannot have %d elements", id, count)
	}
	table, err := in.read(w, offset+pageHeader, count*element)
	if err != nil {
		return fmt.Errorf("page %d: %w", id, err)
	}
	var last []byte
	for i := range count {
		e := table[i*element:][:element]
		var position, keySize, valueSize, child uint64
		le := binary.LittleEndian
		if flags == flagBranch {
			position, keySize, child = uint64(le.Uint32(e)), uint64(le.Uint32(e[4:])), le.Uint64(e[8:])
		} else {
			position, keySize, valueSize = uint64(le.Uint32(e[4:])), uint64(le.Uint32(e[8:])), uint64(le.Uint32(e[12:]))
		}
		at := pageHeader + i*element + int64(position)
		if i == 0 && at != pageHeader+count*element {
			// Nothing else says how many elements there are: with fewer the last ones are lost.
			return fmt.Errorf("page %d: its first key is not that of %d elements", id, count)
		}
		if at+int64(keySize+valueSize) > size || keySize > 1<<15 {
			return fmt.Errorf("page %d: element %d runs over the end", id, i)
		}
		key, err := in.read(w, offset+at, int64(keySize))
		if err != nil {
			return fmt.Errorf("page %d: element %d: %w", id, i, err)
		}
		if i > 0 && bytes.Compare(last, key) >= 0 {
			return fmt.Errorf("page %d: element %d is out of order", id, i)
		}
		last = key
		switch {
		case flags == flagBranch:
			if err := in.page(child, depth+1); err != nil {
				return err
			}
		case le.Uint32(e)&leafBucket != 0:
			if err := in.bucket(w, id, offset+at+int64(keySize), int64(valueSize), depth+1); err != nil {
				return fmt.Errorf("bucket %.32q: %w", key, err)
			}
		}
	}
	return nil
}

// bucket checks a bucket's record: its root page (8 bytes), a sequence (8), and
// where the root is zero the page itself.
func (in *inspector) bucket(w window, id uint64, offset, size int64, depth int) error {
	if size < 16 || depth > maxDepth {
		return fmt.Errorf("page %d: no bucket in %d bytes", id, size)
	}
	record, err := in.read(w, offset, min(size, 16+pageHeader))
	if err != nil {
		return fmt.Errorf("page %d: %w", id, err)
	}
	if root := binary.LittleEndian.Uint64(record); root != 0 {
		return in.page(root, depth)
	}
	if size < 16+pageHeader {
		return fmt.Errorf("page %d: no bucket in %d bytes", id, size)
	}
	return in.elements(w, record[16:], id, offset+16, size-16, depth)
}
