package deploy

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// arm64Script makes Linux run programs for arm64, $1, by an emulator, $2, in this user namespace
// alone. It goes on with the other arguments.
const arm64Script = `set -e
mount -t binfmt_misc none /proc/sys/fs/binfmt_misc
printf %s ':arm64:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00:\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:'"$1"':F' > /proc/sys/fs/binfmt_misc/register
shift
exec "$@"
`

// TestARM64 runs the program of the package for arm64 by an emulator: it prints exact laws,
// simulates, and trains and evaluates a network with its own cluster.
func TestARM64(t *testing.T) {
	needRoots(t)
	qemu := tool(t, "qemu-aarch64-static") // Debian's qemu-user-static
	dir := t.TempDir()
	if out, err := exec.Command("dpkg-deb", "-x", packaged(t, "arm64"), dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	in := func(command ...string) (string, error) {
		words := append([]string{"--user", "--map-root-user", "--mount", "sh", "-c", arm64Script, "sh", qemu}, command...)
		cmd := exec.Command("unshare", words...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
	if said, err := in("true"); err != nil {
		t.Skipf("this kernel has no binfmt_misc for a user namespace: %v\n%s", err, said)
	}
	for _, test := range []struct{ command, want string }{
		{"version", "linux/arm64"},
		{`exact --drift -2*(x-1) --diffusion 1`, "mean 1, variance 0.25, skewness 0, kurtosis 3"},
		{`simulate --drift -2*(x-1) --diffusion 1 -o y.npy`, "mean 1.001 ± 0.006, variance 0.2495"}, // as on amd64
		{`run vn1d --preset smoke --backend go --workers 2 --dir run`, "report.html"},
		{`verify run --dir run`, "was used exactly once"},
		{`sample --checkpoint run --drift -2*(x-1) --diffusion 1 -o x.npy`, "x.npy: 4096 samples"},
	} {
		said, err := in(append([]string{filepath.Join(dir, "usr/bin/ergoflow")}, strings.Fields(test.command)...)...)
		if err != nil || !strings.Contains(said, test.want) {
			t.Fatalf("ergoflow %s: %v\n%s", test.command, err, said)
		}
		lines := strings.Split(said, "\n")
		t.Logf("ergoflow %s: %s", test.command, lines[len(lines)-1])
	}
}
