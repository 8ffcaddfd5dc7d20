package state

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/ergoflow/ergoflow/internal/safetensors"
)

// seal is the metadata's key of an export's SHA-256: that of the file without this
// entry, and so of the bytes in the store.
const seal = "sha256"

// Seal adds the seal to an encoded state. With it Decode detects any change; outside
// the store nothing else would. Equal bytes get equal seals.
func Seal(encoded []byte) ([]byte, error) {
	file, err := safetensors.Decode(encoded)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	sum, err := sumWithout(file)
	if err != nil {
		return nil, err
	}
	metadata := without(file)
	metadata[seal] = sum
	return safetensors.Encode(file.Tensors(), metadata)
}

// ErrUnsealed means that an export has no seal, so that a change cannot be detected.
var ErrUnsealed = errors.New("it has no SHA-256 of itself")

// Unseal removes the seal: the result has the bytes that the store had. It checks that
// there is a seal, and nothing that Decode checks.
func Unseal(encoded []byte) ([]byte, error) {
	file, err := safetensors.Decode(encoded)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if _, sealed := file.Metadata()[seal]; !sealed {
		return nil, ErrUnsealed
	}
	return safetensors.Encode(file.Tensors(), without(file))
}

// Config is the configuration that an encoded state carries. Like Decode it refuses
// bytes that do not fit their seal: a changed configuration may name another network,
// and Decode would get that network's layout.
func Config(encoded []byte) (json.RawMessage, error) {
	file, err := safetensors.Decode(encoded)
	if err == nil {
		err = checkSeal(file)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	config := json.RawMessage(file.Metadata()["config"])
	if !json.Valid(config) {
		return nil, fmt.Errorf("%w: it carries no configuration", ErrCorrupt)
	}
	return config, nil
}

// checkSeal compares a file with its seal; one without is from another program, an
// older build or a store.
func checkSeal(file *safetensors.File) error {
	want, sealed := file.Metadata()[seal]
	if !sealed {
		return nil
	}
	if got, err := sumWithout(file); err != nil {
		return err
	} else if got != want {
		return fmt.Errorf("SHA-256 is %s, the file says %.64s", got, want)
	}
	return nil
}

// sumWithout is the SHA-256 of the file without its seal.
func sumWithout(file *safetensors.File) (string, error) {
	infos := make([]safetensors.Info, len(file.Tensors()))
	for i, t := range file.Tensors() {
		infos[i] = t.Info
	}
	sum := sha256.New()
	w, err := safetensors.NewWriter(sum, infos, without(file))
	if err != nil {
		return "", err
	}
	for _, t := range file.Tensors() {
		if _, err := w.Write(t.Data); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// without is the file's metadata without its seal.
func without(file *safetensors.File) map[string]string {
	metadata := make(map[string]string)
	maps.Copy(metadata, file.Metadata())
	delete(metadata, seal)
	return metadata
}
