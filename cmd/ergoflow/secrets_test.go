package main

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/internal/flight"
)

// checkSecrets searches all files that a secured cluster has written for its secrets: the
// token, and the keys of all certificates and of the gossip. They belong where they are kept,
// and the token on the coordinator's standard output.
func (c *hostCluster) checkSecrets() {
	c.t.Helper()
	secrets := map[string]string{"the token": c.token[strings.LastIndexByte(c.token, '.')+1:]}
	isKey := func(path string) bool {
		return strings.HasSuffix(path, "key.pem") || filepath.Base(path) == "gossip.json"
	}
	text, err := os.ReadFile(filepath.Join(c.dir, "gossip.json"))
	if err != nil {
		c.t.Fatal(err)
	}
	keys := regexp.MustCompile(`"([A-Za-z0-9+/]{40,}=*)"`).FindAllSubmatch(text, -1)
	if len(keys) == 0 {
		c.t.Errorf("no key in gossip.json")
	}
	for i, key := range keys {
		name := fmt.Sprintf("the gossip's key %d", i)
		b, err := base64.StdEncoding.DecodeString(string(key[1]))
		if err != nil {
			c.t.Fatal(err)
		}
		secrets[name], secrets[name+" in bytes"] = string(key[1]), string(b)
	}
	places := []string{c.dir, filepath.Dir(c.program)}
	for _, path := range files(c.t, places...) {
		if !strings.HasSuffix(path, "key.pem") {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			c.t.Fatal(err)
		}
		block, _ := pem.Decode(text)
		if block == nil {
			c.t.Fatalf("%s has no key", path)
		}
		secrets[path] = strings.Split(string(text), "\n")[1]
		secrets[path+" in bytes"] = string(block.Bytes[len(block.Bytes)/2:])
	}
	if len(secrets) < 2*(3+len(c.workers)) {
		c.t.Errorf("%d secrets are known of a cluster with %d workers", len(secrets), len(c.workers))
	}
	for _, path := range files(c.t, places...) {
		if isKey(path) || strings.HasSuffix(path, outputSuffix) {
			continue
		}
		text, err := os.ReadFile(path)
		if err == nil && strings.HasSuffix(path, flight.Suffix) {
			text, err = unzipped(text)
		}
		if err != nil {
			c.t.Fatal(err)
		}
		for name, secret := range secrets {
			if bytes.Contains(text, []byte(secret)) {
				c.t.Errorf("%s has the secret of %s", path, name)
			}
		}
	}
}

// unzipped is the text of a dump of a flight recorder.
func unzipped(dump []byte) ([]byte, error) {
	zip, err := gzip.NewReader(bytes.NewReader(dump))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(zip)
}

// files are all regular files below directories.
func files(t *testing.T, dirs ...string) (all []string) {
	t.Helper()
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() {
				all = append(all, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}
