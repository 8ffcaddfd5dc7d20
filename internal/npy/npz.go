package npy

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"strings"
)

// deflated bounds how many bytes one byte of a zip file becomes, in that format's method.
const deflated = 1032

// isArchive reports whether a file begins like NumPy's .npz, a zip of .npy files.
func isArchive(head []byte) bool {
	begin := string(head[:min(len(head), 4)])
	return begin == "PK\x03\x04" || begin == "PK\x05\x06" // the second without a file
}

// decodeArchive reads the only array of an .npz file of the given size.
func decodeArchive(r io.ReaderAt, size int64) (Array[float64], error) {
	archive, err := zip.NewReader(r, size)
	if err != nil {
		return Array[float64]{}, formatError(".npz: %w", err)
	}
	if n := len(archive.File); n != 1 {
		return Array[float64]{}, formatError("the .npz file has %d arrays (%s), want one: write it with numpy.save", n, names(archive.File))
	}
	entry := archive.File[0]
	length := entry.UncompressedSize64
	if entry.CompressedSize64 > uint64(size) || length > deflated*(entry.CompressedSize64+1) {
		return Array[float64]{}, formatError(".npz: %.80q of %d bytes in %d", entry.Name, length, entry.CompressedSize64)
	}
	content, err := entry.Open()
	if err != nil {
		return Array[float64]{}, formatError(".npz: %.80q: %w", entry.Name, err)
	}
	defer content.Close()
	a, err := decode(content, int64(length))
	if err != nil {
		return Array[float64]{}, fmt.Errorf("%.80q in it: %w", entry.Name, err)
	}
	if n, err := content.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) { // it compares the checksum
		return Array[float64]{}, formatError(".npz: %.80q does not have the length and the checksum that it should have", entry.Name)
	}
	return a, nil
}

// names lists the first arrays of an archive.
func names(files []*zip.File) string {
	const most = 10
	var all []string
	for _, f := range files[:min(len(files), most)] {
		all = append(all, fmt.Sprintf("%.40q", strings.TrimSuffix(f.Name, ".npy")))
	}
	if len(files) > most {
		all = append(all, "…")
	}
	return strings.Join(all, ", ")
}
