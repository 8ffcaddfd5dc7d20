package trust

import (
	"io/fs"
	"os"
	"slices"
)

// stamp tells versions of files apart without reading them.
type stamp []fs.FileInfo

func stampOf(paths ...string) (stamp, error) {
	var s stamp
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		s = append(s, info)
	}
	return s, nil
}

// equal reports whether no file was replaced or written meanwhile.
func (s stamp) equal(other stamp) bool {
	return slices.EqualFunc(s, other, func(a, b fs.FileInfo) bool {
		return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
	})
}
