package boltfile

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"go.etcd.io/bbolt"
)

// bbolt has checksums of its two meta records alone. Values that decide where a run
// continues carry their own.
const (
	sumBegin = `,"sum":"`
	sumSize  = 8 // bytes of SHA-256
	sumEnd   = `"}`
)

// Seal adds to a JSON object, as its last field, the checksum of its bytes without that
// field. Decoders of older builds ignore the field.
func Seal(object []byte) []byte {
	body, isObject := bytes.CutSuffix(object, []byte("}"))
	if !isObject {
		return object
	}
	sum := sha256.Sum256(object)
	return fmt.Appendf(bytes.Clone(body), `%s%x%s`, sumBegin, sum[:sumSize], sumEnd)
}

// Unseal returns what Seal was given. It fails if a byte of it has changed. Values of older
// builds have no checksum, and are returned as they are.
func Unseal(value []byte) ([]byte, error) {
	const length = len(sumBegin) + 2*sumSize + len(sumEnd)
	at := len(value) - length
	if at < 0 || !bytes.HasPrefix(value[at:], []byte(sumBegin)) || !bytes.HasSuffix(value, []byte(sumEnd)) {
		return value, nil
	}
	object := append(bytes.Clone(value[:at]), '}')
	sum := sha256.Sum256(object)
	if hex.EncodeToString(sum[:sumSize]) != string(value[at+len(sumBegin):len(value)-len(sumEnd)]) {
		return nil, fmt.Errorf("%w: a value does not have its checksum", ErrCorrupt)
	}
	return object, nil
}

// maxFindings bounds the findings that Check returns.
const maxFindings = 10

// Check runs bbolt's own check of the whole tree, which compares the keys of pages with
// those above them.
func Check(tx *bbolt.Tx) error {
	var findings []error
	for err := range tx.Check() {
		if len(findings) < maxFindings { // the channel must be read to its end
			findings = append(findings, fmt.Errorf("%w: %w", ErrCorrupt, err))
		}
	}
	return errors.Join(findings...)
}
