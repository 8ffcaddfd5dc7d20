package backend

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// wheel is a pinned Python package and the part of it that Install unpacks.
type wheel struct {
	name, version string
	sha256        string // of the .whl file for Linux on x86-64
	// from is a file in the archive or, with a slash at its end, a directory. It
	// becomes the file or directory to, below the directory of the plugin.
	from, to string
}

// maxUnpacked bounds the size of an unpacked wheel; the largest has about 1 GB.
const maxUnpacked = 4 << 30

// download downloads the wheel into dir and checks its hash. It uses pip, which knows
// the user's index, proxies and certificates.
func (w wheel) download(ctx context.Context, python, dir string, log io.Writer) (string, error) {
	args := append([]string{"-m", "pip", "download", "--no-deps", "--no-input",
		"--disable-pip-version-check", "--only-binary=:all:"}, platforms()...)
	pip := exec.CommandContext(ctx, python, append(args, "--dest", dir, w.name+"=="+w.version)...)
	pip.Stdout, pip.Stderr = log, log
	if err := pip.Run(); err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return "", fmt.Errorf("pip download %s==%s: %w", w.name, w.version, err)
	}
	prefix := strings.ReplaceAll(w.name, "-", "_") + "-" + w.version + "-"
	files, err := filepath.Glob(filepath.Join(dir, prefix+"*.whl"))
	if err != nil || len(files) != 1 {
		return "", fmt.Errorf("pip download %s==%s: %d files match %s*.whl", w.name, w.version, len(files), prefix)
	}
	if got, _, err := hashFile(files[0]); err != nil {
		return "", err
	} else if got != w.sha256 {
		return "", fmt.Errorf("%s: SHA-256 is %s instead of the pinned %s", filepath.Base(files[0]), got, w.sha256)
	}
	return files[0], nil
}

// platforms are pip's options for the wheels that glibc 2.27 can load. pip takes a tag only if it
// is named (PEP 600 has one for each version of glibc), and knows that manylinux2014 includes
// what is older.
func platforms() []string {
	args := []string{"--platform", "manylinux2014_x86_64"}
	for glibc := 17; glibc <= 27; glibc++ {
		args = append(args, "--platform", fmt.Sprintf("manylinux_2_%d_x86_64", glibc))
	}
	return args
}

// unpack extracts from of the wheel file below dir.
func (w wheel) unpack(ctx context.Context, file, dir string) error {
	archive, err := zip.OpenReader(file)
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(file), err)
	}
	defer archive.Close()
	extracted := 0
	var total uint64
	for _, entry := range archive.File {
		if strings.HasSuffix(entry.Name, "/") {
			continue
		}
		rest, ok := strings.CutPrefix(entry.Name, w.from)
		if !ok || (rest != "" && !strings.HasSuffix(w.from, "/")) {
			continue
		}
		if total += entry.UncompressedSize64; total > maxUnpacked {
			return fmt.Errorf("%s: unpacked size exceeds %d bytes", filepath.Base(file), uint64(maxUnpacked))
		}
		if !filepath.IsLocal(w.to + rest) {
			return fmt.Errorf("%s: path of entry %q leaves the directory", filepath.Base(file), entry.Name)
		}
		if err := extract(ctx, entry, filepath.Join(dir, filepath.FromSlash(w.to+rest))); err != nil {
			return fmt.Errorf("%s: %s: %w", filepath.Base(file), entry.Name, err)
		}
		extracted++
	}
	if extracted == 0 {
		return fmt.Errorf("%s: it does not contain %s", filepath.Base(file), w.from)
	}
	return nil
}

func extract(ctx context.Context, entry *zip.File, path string) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	in, err := entry.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	// One byte more than in the header, to detect an entry that is longer.
	n, err := io.Copy(out, io.LimitReader(interruptible{ctx, in}, int64(entry.UncompressedSize64)+1))
	if err != nil {
		return err
	}
	if n != int64(entry.UncompressedSize64) {
		return fmt.Errorf("%d bytes instead of %d", n, entry.UncompressedSize64)
	}
	return out.Sync()
}

// interruptible is a reader that stops when its context ends.
type interruptible struct {
	ctx    context.Context
	reader io.Reader
}

func (r interruptible) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.reader.Read(p)
}

func hashFile(path string) (sum string, size int64, err error) {
	file, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer file.Close()
	h := sha256.New()
	if size, err = io.Copy(h, file); err != nil {
		return "", 0, fmt.Errorf("%s: %w", path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), size, nil
}
