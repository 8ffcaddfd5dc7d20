package deploy

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Podman in a container may not use what the machine's would by default.
const (
	podman    = "podman --storage-driver vfs --cgroup-manager cgroupfs --events-backend file "
	podmanRun = podman + "run --ulimit nofile=1024:1024 --ulimit nproc=1024:1024 --cgroups disabled --network host --read-only --tmpfs /tmp "
)

// imageContext copies what images are made from, as it lies in the repository, into an empty
// directory, with a base image in base.tar. The argument files makes bin/image.
func imageContext(t *testing.T, dir, files string) {
	t.Helper()
	base := debian(t, "base", "passwd")
	const script = `set -e
make -C .. "$2"
rm -rf "$1"; mkdir -p "$1/bin" "$1/deploy"
cp -r ../bin/image "$1/bin"; cp -r container compose "$1/deploy"
tar -C "$3" --exclude=./usr/share/doc --exclude=./usr/share/locale --exclude='./var/cache/apt/*' --exclude='./var/lib/apt/lists/*' -cf "$1/base.tar" .
`
	if out, err := exec.Command("sh", "-c", script, "sh", dir, files, base).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
}

// engine is a machine with buildah and podman, and images of these targets in place of all others.
// The argument files makes bin/image.
func engine(t *testing.T, files string, targets ...string) *machine {
	t.Helper()
	// debootstrap does not find netavark by itself, since podman depends on a name that it provides.
	root := debian(t, "containers", "buildah", "podman", "netavark", "crun", "iproute2", "ca-certificates")
	imageContext(t, filepath.Join(root, "image"), files)
	m := idle(t, root, "")
	m.shell(podman + "rm -af; " + podman + "volume prune -f; " + podman + `rmi -af
buildah="buildah --storage-driver vfs"
c=$($buildah from scratch); $buildah add -q $c /image/base.tar / >/dev/null; $buildah commit -q $c base:latest; $buildah rm $c >/dev/null`)
	for _, target := range targets {
		m.shell("buildah --storage-driver vfs bud --isolation chroot --build-arg BASE=localhost/base:latest -f /image/deploy/container/Containerfile --target " + target + " -t ergoflow:" + target + " /image/bin/image")
	}
	t.Log("\n" + m.shell(podman+"images"))
	return m
}

// idle is a machine that does nothing but what a script, if there is one, begins.
func idle(t *testing.T, root, script string) *machine {
	t.Helper()
	m := enter(t, root, inPlace, bootAddress, ownCgroups, script+"\nexec sleep infinity")
	m.until("its network is up", func() bool {
		said, _ := m.try("ip", "-brief", "address", "show", "cluster")
		return strings.Contains(said, bootAddress)
	})
	return m
}

// shell runs a script in the machine.
func (m *machine) shell(script string) string {
	m.t.Helper()
	return m.run("env", "HOME=/srv", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "sh", "-ec", script)
}

// TestContainers builds the images, and trains in three containers: a coordinator and two
// workers, of which one is drained and one is killed.
func TestContainers(t *testing.T) {
	m := engine(t, "image-files", "cpu", "go")
	inside := m.shell

	// An image without the plugin says which one has it, and computes without.
	said := inside(podmanRun + "--rm localhost/ergoflow:go worker --join 127.0.0.1:1 --backend xla:cpu 2>&1 || true")
	if !strings.Contains(said, "this build has no cgo") || !strings.Contains(said, "target cpu") {
		t.Errorf("without the plugin it says: %s", said)
	}
	inside(podmanRun + "--rm localhost/ergoflow:go doctor --dir /tmp")

	run := func(name, more, command string) {
		t.Helper()
		inside(podmanRun + "-d --name " + name + " -v " + name + ":/var/lib/ergoflow -v store:/srv/ergoflow " + more + " localhost/ergoflow:cpu " + command)
	}
	run("coordinator", "", "coordinator --dir /var/lib/ergoflow --store /srv/ergoflow/shards --listen "+
		bootAddress+":7070 --gossip "+bootAddress+":7946 --join "+bootAddress+":7071")
	var token []string
	m.until("the coordinator prints a token", func() bool {
		token = regexp.MustCompile(`--token (ERGO1\S+)`).FindStringSubmatch(inside(podman + "logs coordinator"))
		return token != nil
	})
	for _, name := range []string{"w0", "w1"} {
		run(name, "-e ERGOFLOW_TOKEN="+token[1], "worker --join "+bootAddress+":7071 --credentials /var/lib/ergoflow/credentials --listen "+
			bootAddress+":0 --gossip "+bootAddress+":0 --threads 1")
	}
	m.command = strings.Fields(podman + "exec coordinator")
	inside(podman + "exec -d coordinator ergoflow train vn1d --preset smoke --dir /var/lib/ergoflow --set data.shards=8 --set training.steps=200000 --set training.checkpoint_every=50")
	m.trains(2, 20)
	if said := inside(podman + "exec w0 id -u"); said != "65532" {
		t.Errorf("it runs as user %s", said)
	}

	inside(podman + "stop --time 30 w1")
	if code := inside(podman + "inspect w1 --format {{.State.ExitCode}}"); code != "0" {
		t.Errorf("the drained worker ends with code %s", code)
	}
	m.trains(1, 20)
	inside(podman + "start w1")
	m.trains(2, 20)
	inside(podman + "kill --signal KILL w0")
	m.trains(1, 20)
	inside(podman + "start w0")
	m.trains(2, 20)
	inside(podman + "rm -af --time 30")
}

var gpuImage = flag.Bool("gpu-image", false, "build the image for GPUs, which takes gigabytes, and start it without a GPU")

// TestGPUImage starts the image for GPUs where there is none. It says so, and ends if it was told
// to use one. Otherwise it computes without.
func TestGPUImage(t *testing.T) {
	if !*gpuImage {
		t.Skip("it downloads and writes gigabytes: `make deploy-test-gpu-image` runs it")
	}
	m := engine(t, "image-files-cuda", "cuda")
	t.Cleanup(func() { _, _ = m.try("sh", "-c", podman+"rmi -af") })
	t.Log("unpacked: " + m.shell("d=$(buildah --storage-driver vfs from localhost/ergoflow:cuda); du -sm $(buildah --storage-driver vfs mount $d); buildah --storage-driver vfs rm $d >/dev/null"))

	const noGPU = "no NVIDIA GPU on this machine"
	run := podmanRun + "--rm localhost/ergoflow:cuda "
	said := m.shell(run + "worker --join 127.0.0.1:1 --backend xla:cuda 2>&1 && exit 1 || true")
	t.Log("\n" + said)
	if !strings.Contains(said, noGPU) || !strings.Contains(said, "--device nvidia.com/gpu=all") {
		t.Errorf("without a GPU it says: %s", said)
	}
	said = m.shell(run + "bench step --preset smoke --steps 1 2>&1")
	t.Log("\n" + said)
	if !strings.Contains(said, noGPU) {
		t.Errorf("without a GPU, and told nothing, it says: %s", said)
	}
	t.Log("\n" + m.shell(run+"backend list"))
	// The plugin loads, and finds no device behind what looks like one.
	said = m.shell(podmanRun + "--rm -v /dev/null:/dev/nvidia0 localhost/ergoflow:cuda worker --join 127.0.0.1:1 --backend xla:cuda 2>&1 && exit 1 || true")
	t.Log("\n" + said)
	if !strings.Contains(said, "No visible GPU devices") {
		t.Errorf("with a device that is none it says: %s", said)
	}
}
