package gitlfs

import (
	"errors"
	"testing"
)

func TestCheck(t *testing.T) {
	pointer := "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"
	for _, head := range []string{pointer, pointer[:Head]} {
		if err := Check([]byte(head)); !errors.Is(err, ErrPointer) {
			t.Errorf("%q: %v", head, err)
		}
	}
	for _, head := range []string{"", pointer[:Head-1], "version 1", "\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order'"} {
		if err := Check([]byte(head)); err != nil {
			t.Errorf("%q: %v", head, err)
		}
	}
}
