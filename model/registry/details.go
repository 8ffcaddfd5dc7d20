package registry

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"

	"go.etcd.io/bbolt"
)

// details are the record of all that does not change of a version. Its configuration is
// stored under its hash: the versions of one schedule have the same one, and each operation
// checks the structure of the whole file.
type details struct {
	Version
	ConfigSum string `json:"config_sha256,omitempty"`
}

// putVersion stores the records of a version.
func (s shelf) putVersion(v Version) error {
	if err := s.in(bucketVersions).Put(key(v.Number), v.outline()); err != nil {
		return err
	}
	d := details{Version: v}
	d.Pinned, d.Tags, d.Aliases, d.Config = false, nil, nil, nil
	if v.Config != nil {
		sum := sha256.Sum256(v.Config)
		if err := s.in(bucketConfigs).Put(sum[:], v.Config); err != nil {
			return err
		}
		d.ConfigSum = hex.EncodeToString(sum[:])
	}
	return s.put(bucketDetails, key(v.Number), d)
}

// whole reads the records of a version.
func (s shelf) whole(n int) (v Version, err error) {
	outline, err := s.version(n)
	if err != nil {
		return v, err
	}
	d, err := s.details(n)
	if err == nil && d.Weights != outline.Weights {
		err = corrupt("the details of version %s are of other weights", outline.Ref())
	}
	if err == nil && d.ConfigSum != "" {
		d.Config, err = s.config(d.ConfigSum)
	}
	d.Pinned, d.Tags = outline.Pinned, outline.Tags
	return d.Version, err
}

func (s shelf) details(n int) (d details, err error) {
	found, err := s.get(bucketDetails, key(n), &d)
	if err == nil && (!found || d.Model != s.model || d.Number != n) {
		err = corrupt("the details of version %s@%d", s.model, n)
	}
	return d, err
}

// config reads a configuration by its hash.
func (s shelf) config(name string) ([]byte, error) {
	sum, _ := hex.DecodeString(name) // what is no hash names nothing
	config := s.in(bucketConfigs).Get(sum)
	if config == nil || !hashes(config, sum) {
		return nil, corrupt("the configuration %.64q of model %s", name, s.model)
	}
	return bytes.Clone(config), nil // the transaction ends before its use
}

func hashes(content, sum []byte) bool {
	got := sha256.Sum256(content)
	return bytes.Equal(got[:], sum)
}

// cleanConfigs removes the configurations that no version has any more.
func (s shelf) cleanConfigs() error {
	used := make(map[string]bool)
	for _, n := range s.numbers() {
		d, err := s.details(n)
		if err != nil {
			return err
		}
		sum, _ := hex.DecodeString(d.ConfigSum)
		used[string(sum)] = true
	}
	var unused [][]byte
	if err := s.in(bucketConfigs).ForEach(func(sum, _ []byte) error {
		if !used[string(sum)] {
			unused = append(unused, bytes.Clone(sum))
		}
		return nil
	}); err != nil {
		return err
	}
	return removeAll(s.in(bucketConfigs), unused)
}

func removeAll(b *bbolt.Bucket, keys [][]byte) error {
	for _, k := range keys {
		if err := b.Delete(k); err != nil {
			return err
		}
	}
	return nil
}
