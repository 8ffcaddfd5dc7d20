//go:build !linux

package atomicfile

// Reserve does nothing here: writes find out whether there is room.
func (f *File) Reserve(int64) error { return nil }
