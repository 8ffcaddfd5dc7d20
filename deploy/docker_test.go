package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// natsImage stands for the image that compose.yaml names: the same server, and the wget of its
// health check.
const natsImage = `FROM debian:bookworm-slim
COPY nats-server /usr/bin/
COPY busybox /usr/bin/wget
ENTRYPOINT ["/usr/bin/nats-server"]
`

// TestDocker runs deploy/compose by Docker and its Compose: the images are built from the file, a
// coordinator and two workers train with the jobs in a NATS server, a worker is drained, one is
// killed, one is added, and the coordinator starts again.
func TestDocker(t *testing.T) {
	root := debianOf(t, "trixie", "docker", "docker.io", "docker-cli", "docker-compose", "docker-buildx", "iptables", "iproute2", "ca-certificates", "openssl", "busybox-static")
	dir := filepath.Join(root, "ergoflow")
	imageContext(t, dir, "image-files")
	nats := filepath.Join(dir, "nats")
	if err := os.MkdirAll(nats, 0o755); err != nil {
		t.Fatal(err)
	}
	goBuild := exec.Command("go", "build", "-o", filepath.Join(nats, "nats-server"), "github.com/nats-io/nats-server/v2")
	goBuild.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := goBuild.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := os.WriteFile(filepath.Join(nats, "Dockerfile"), []byte(natsImage), 0o644); err != nil {
		t.Fatal(err)
	}
	images := filepath.Join(root, "var/lib/docker") // gigabytes
	if err := os.RemoveAll(images); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(images) })

	m := idle(t, root, "dockerd --log-level warn --storage-driver vfs --exec-opt native.cgroupdriver=cgroupfs &")
	m.until("Docker is up", func() bool {
		_, err := m.try("docker", "info")
		return err == nil
	})
	m.shell("cp /bin/busybox /ergoflow/nats; docker import /ergoflow/base.tar debian:bookworm-slim; docker build -t nats:2.15.2-alpine /ergoflow/nats; /ergoflow/deploy/compose/certificates.sh")
	const compose = "docker compose --progress quiet --file /ergoflow/deploy/compose/compose.yaml "
	t.Cleanup(func() { _, _ = m.try("sh", "-c", compose+"kill") })
	m.shell(compose + "up --build --detach --scale worker=2")
	m.command = strings.Fields(compose + "exec --no-TTY coordinator")
	m.shell(compose + "exec --no-TTY --detach coordinator ergoflow train vn1d --preset smoke --dir /var/lib/ergoflow --set data.shards=8 --set training.steps=1000000 --set training.checkpoint_every=50")
	m.trains(2, 20)
	t.Log("\n" + m.shell("docker --version; "+compose+"version; docker images; "+compose+"ps --all"))
	t.Log("\n" + m.shell(strings.Join(m.command, " ")+" ergoflow status --dir /var/lib/ergoflow"))

	m.shell("docker stop --time 30 ergoflow-worker-2")
	if code := m.shell("docker inspect --format {{.State.ExitCode}} ergoflow-worker-2"); code != "0" {
		t.Errorf("the drained worker ends with code %s", code)
	}
	m.trains(1, 20)
	m.shell("docker start ergoflow-worker-2")
	m.trains(2, 20)
	m.shell("docker kill ergoflow-worker-1")
	m.trains(1, 20)
	m.shell(compose + "up --detach --scale worker=3")
	m.trains(3, 20)
	for _, name := range []string{"ergoflow-worker-1", "ergoflow-worker-2", "ergoflow-worker-3"} {
		t.Logf("%s had joined %v after its container's start", name, joined(m, name))
	}
	m.shell(compose + "restart coordinator")
	m.trains(3, 20)
	m.shell(compose + "stop worker")
	for _, name := range []string{"ergoflow-worker-1", "ergoflow-worker-2", "ergoflow-worker-3"} {
		if code := m.shell("docker inspect --format {{.State.ExitCode}} " + name); code != "0" {
			t.Errorf("%s ends with code %s", name, code)
		}
	}
	t.Log("\n" + m.shell(strings.Join(m.command, " ")+" ergoflow verify run --dir /var/lib/ergoflow"))
	m.shell(compose + "down --volumes")
}

// joined is the time from a container's start until the coordinator welcomed its worker.
func joined(m *machine, name string) time.Duration {
	m.t.Helper()
	started, err := time.Parse(time.RFC3339Nano, m.shell("docker inspect --format {{.State.StartedAt}} "+name))
	if err != nil {
		m.t.Fatal(err)
	}
	log := m.shell("docker logs --since " + started.Format(time.RFC3339Nano) + " " + name + " 2>&1")
	found := regexp.MustCompile(`time=(\S+) .*msg=joined`).FindStringSubmatch(log)
	if found == nil {
		m.t.Fatalf("the log of %s does not say when it has joined:\n%s", name, log)
	}
	at, err := time.Parse(time.RFC3339Nano, found[1])
	if err != nil {
		m.t.Fatal(err)
	}
	return at.Sub(started).Round(time.Millisecond)
}
