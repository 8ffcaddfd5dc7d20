package npy

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
)

// Writable reports what would keep Write from making the file, without making
// it: for programs that compute for long before they write.
func Writable(path string) error {
	if path == "" {
		return errors.New("write: no file name")
	}
	target, err := Target(path)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	f, err := create(target)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// Target is the file that a rename onto path should replace: path itself, or what
// it leads to where it is a symbolic link, which stays. It fails where that is
// there and is no regular file, such as a terminal, which a rename would replace too.
func Target(path string) (string, error) {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.Mode().IsRegular():
		return filepath.EvalSymlinks(path)
	case err == nil:
		return "", errors.New("it is there and is no file that could be replaced")
	case !errors.Is(err, fs.ErrNotExist):
		return "", err
	}
	if _, err := os.Lstat(path); err == nil {
		return "", errors.New("it is a symbolic link to nothing")
	}
	return path, nil
}

// create makes a temporary file beside path.
func create(path string) (*os.File, error) {
	return os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*.tmp")
}

// Write writes a one- or two-dimensional array as '<f4' in C order. The file
// appears complete or not at all: it is written under a temporary name beside
// path's Target and renamed.
func Write(path string, a Array) (err error) {
	elements := 1
	for _, d := range a.Shape {
		elements *= d
	}
	if n := len(a.Shape); n < 1 || n > 2 || elements != len(a.Data) {
		return fmt.Errorf("write %s: shape %v for %d elements", path, a.Shape, len(a.Data))
	}
	target, err := Target(path)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	f, err := create(target)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close() // no effect if it is closed already
			_ = os.Remove(f.Name())
		}
	}()
	if err := encode(f, a); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := f.Chmod(0o644); err != nil { // CreateTemp makes it private
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), target)
}

func encode(w io.Writer, a Array) error {
	dims := fmt.Sprintf("(%d,)", a.Shape[0])
	if len(a.Shape) == 2 {
		dims = fmt.Sprintf("(%d, %d)", a.Shape[0], a.Shape[1])
	}
	text := "{'descr': '<f4', 'fortran_order': False, 'shape': " + dims + ", }"
	// Spaces and a final newline align the data to 64 bytes.
	padding := 63 - (10+len(text))%64
	b := bufio.NewWriterSize(w, 1<<16)
	b.WriteString(magic + "\x01\x00")
	b.Write(binary.LittleEndian.AppendUint16(nil, uint16(len(text)+padding+1)))
	fmt.Fprintf(b, "%s%*s", text, padding+1, "\n")
	var element [4]byte
	for _, v := range a.Data {
		binary.LittleEndian.PutUint32(element[:], math.Float32bits(v))
		b.Write(element[:])
	}
	return b.Flush() // the first error of all the writes
}
