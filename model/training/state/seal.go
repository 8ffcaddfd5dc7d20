package state

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/ergoflow/ergoflow/internal/safetensors"
	"github.com/ergoflow/ergoflow/model/network/parameters"
)

// The metadata's keys of an export's SHA-256. Exports have the first: of the content,
// whatever the order of the file (contentSum). Those of older builds have the second, of the file
// without this entry, and so of the bytes in the store.
const (
	contentSeal = "content_sha256"
	fileSeal    = "sha256"
)

// Seal adds the seal to an encoded state. With it Decode detects any change; outside
// the store nothing else would. Equal bytes get equal seals.
func Seal(encoded []byte) ([]byte, error) {
	file, err := safetensors.Decode(encoded)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	metadata := without(file)
	metadata[contentSeal] = contentSum(file)
	return safetensors.Encode(file.Tensors(), metadata)
}

// ErrUnsealed means that an export has no seal, so that a change cannot be detected.
var ErrUnsealed = errors.New("it has no SHA-256 of itself")

// Unseal removes the seal and restores the order of Encode, which other programs change:
// the result has the bytes that the store had. It checks that there is a seal, and nothing
// that Decode checks.
func Unseal(encoded []byte, layout parameters.Layout) ([]byte, error) {
	file, err := safetensors.Decode(encoded)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	metadata := without(file)
	if len(metadata) == len(file.Metadata()) {
		return nil, ErrUnsealed
	}
	place := make(map[string]int)
	for i, name := range names(layout) {
		place[name] = i
	}
	tensors := slices.Clone(file.Tensors())
	slices.SortStableFunc(tensors, func(a, b safetensors.Tensor) int { return cmp.Compare(place[a.Name], place[b.Name]) })
	return safetensors.Encode(tensors, metadata)
}

// names are those of a state's tensors in the order of Encode.
func names(layout parameters.Layout) []string {
	var all []string
	for _, vector := range new(State).vectors(outer) {
		for _, t := range layout {
			all = append(all, vector.prefix+t.Name)
		}
	}
	return slices.Concat(all, []string{"losses"}, ledgerTensors)
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
func checkSeal(file *safetensors.File) (err error) {
	want, sealed := file.Metadata()[contentSeal]
	got := ""
	if sealed {
		got = contentSum(file)
	} else if want, sealed = file.Metadata()[fileSeal]; sealed {
		if got, err = fileSum(file); err != nil {
			return err
		}
	}
	if got != want {
		return fmt.Errorf("SHA-256 is %s, the file says %.64s", got, want)
	}
	return nil
}

// contentSum is the SHA-256 of the metadata without seals and of the tensors, both in the
// order of their names, in hexadecimal. The bytes are the number of entries of metadata,
// every key and value, the number of tensors, and of every tensor its name, dtype, number
// of dimensions, their sizes, and data. Texts and data come after their length in bytes.
// Numbers have eight bytes, little-endian.
func contentSum(file *safetensors.File) string {
	sum := sha256.New()
	number := func(n int) { sum.Write(binary.LittleEndian.AppendUint64(nil, uint64(n))) }
	bytes := func(b []byte) { number(len(b)); sum.Write(b) }
	metadata := without(file)
	number(len(metadata))
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		bytes([]byte(key))
		bytes([]byte(metadata[key]))
	}
	tensors := slices.SortedFunc(slices.Values(file.Tensors()), func(a, b safetensors.Tensor) int { return cmp.Compare(a.Name, b.Name) })
	number(len(tensors))
	for _, t := range tensors {
		bytes([]byte(t.Name))
		bytes([]byte(t.DType))
		number(len(t.Shape))
		for _, d := range t.Shape {
			number(d)
		}
		bytes(t.Data)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// fileSum is the SHA-256 of the file without its seal, in the order of the file.
func fileSum(file *safetensors.File) (string, error) {
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

// without is the file's metadata without seals.
func without(file *safetensors.File) map[string]string {
	metadata := make(map[string]string)
	maps.Copy(metadata, file.Metadata())
	delete(metadata, contentSeal)
	delete(metadata, fileSeal)
	return metadata
}
