//go:build !linux

package boltfile

import "os"

// reserve does nothing here: a full disk may keep a file from being written.
func reserve(*os.File) error { return nil }
