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

// seal is the key of a metadata entry of exports: the SHA-256 of the file without
// this entry, which is the file in the store.
const seal = "sha256"

// Seal adds the seal to an encoded state. It lets Decode notice any change; the
// store has checksums of its own, other places have none. Equal bytes get equal seals.
func Seal(encoded []byte) ([]byte, error) {
	file, err := safetensors.Decode(encoded)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	sum, err := hashWithoutSeal(file)
	if err != nil {
		return nil, err
	}
	metadata := metadataWithoutSeal(file)
	metadata[seal] = sum
	return safetensors.Encode(file.Tensors(), metadata)
}

// ErrUnsealed means that a file has no seal, so that a change in it would stay
// unnoticed.
var ErrUnsealed = errors.New("it has no SHA-256 of its content")

// Unseal removes the seal: the bytes are again those of the store that the state was
// exported from. It checks that there is a seal, not that it is right: Decode does.
func Unseal(encoded []byte) ([]byte, error) {
	file, err := safetensors.Decode(encoded)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if _, sealed := file.Metadata()[seal]; !sealed {
		return nil, ErrUnsealed
	}
	return safetensors.Encode(file.Tensors(), metadataWithoutSeal(file))
}

// Config returns the configuration in an encoded state. Like Decode it refuses bytes
// that do not match their seal: the layout that Decode gets follows from the
// configuration, so Decode could not notice a configuration of another network.
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
		return nil, fmt.Errorf("%w: it has no configuration", ErrCorrupt)
	}
	return config, nil
}

// checkSeal compares a file with its seal. A file without one is from another
// program, an older build or a store.
func checkSeal(file *safetensors.File) error {
	want, sealed := file.Metadata()[seal]
	if !sealed {
		return nil
	}
	if got, err := hashWithoutSeal(file); err != nil {
		return err
	} else if got != want {
		return fmt.Errorf("SHA-256 is %s, the file says %.64s", got, want)
	}
	return nil
}

// hashWithoutSeal is the SHA-256 of the file without its seal.
func hashWithoutSeal(file *safetensors.File) (string, error) {
	infos := make([]safetensors.Info, len(file.Tensors()))
	for i, t := range file.Tensors() {
		infos[i] = t.Info
	}
	sum := sha256.New()
	w, err := safetensors.NewWriter(sum, infos, metadataWithoutSeal(file))
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

func metadataWithoutSeal(file *safetensors.File) map[string]string {
	metadata := make(map[string]string) // Metadata may be nil
	maps.Copy(metadata, file.Metadata())
	delete(metadata, seal)
	return metadata
}
