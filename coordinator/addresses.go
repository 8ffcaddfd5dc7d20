package coordinator

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ergoflow/ergoflow/internal/atomicfile"
)

// ErrNotRunning: no coordinator runs on the directory.
var ErrNotRunning = errors.New("no coordinator runs here")

// Addresses is the content of coordinator.json: where a running coordinator is.
type Addresses struct {
	PID     int    `json:"pid"`
	Version string `json:"version"`
	Control string `json:"control"`        // host:port of the control service
	Gossip  string `json:"gossip"`         // host:port to join
	Join    string `json:"join,omitempty"` // host:port to join by certificate or token; empty in plain text
	HTTP    string `json:"http,omitempty"` // host:port of the page and the metrics; empty: none
	NATS    string `json:"nats"`           // URL of the job queue, without credentials
	// NATSDomain is the domain of JetStream there; empty: the server's own.
	NATSDomain string `json:"nats_domain,omitempty"`
	// Plaintext is the host:port of the gossip of workers in plain text, where a secured
	// coordinator accepts them.
	Plaintext string `json:"plaintext,omitempty"`
}

const addressesFile = "coordinator.json"

// ReadAddresses returns the addresses of the coordinator that runs on a directory of this
// machine. It fails with ErrNotRunning where their file is missing.
func ReadAddresses(dir string) (a Addresses, err error) {
	path := filepath.Join(dir, addressesFile)
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return a, fmt.Errorf("%w: %s is missing", ErrNotRunning, path)
	}
	if err == nil {
		err = json.Unmarshal(b, &a)
	}
	if err != nil {
		return Addresses{}, fmt.Errorf("read %s: %w", path, err)
	}
	return a, nil
}

// write writes the file atomically.
func (a Addresses) write(dir string) error {
	b, err := json.MarshalIndent(a, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(dir, addressesFile), append(b, '\n'))
}

func removeAddresses(dir string) error { return os.Remove(filepath.Join(dir, addressesFile)) }

// CheckpointPath is the file of a coordinator's checkpoints.
func CheckpointPath(dir string) string { return filepath.Join(dir, "checkpoints.db") }
