//go:build !linux

package atomicfile

import "os"

// Reserve does nothing here: writes find out whether there is room.
func (f *File) Reserve(int64) error { return nil }

// Reserve does nothing here, either.
func Reserve(*os.File, string, int64) error { return nil }
