package deploy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// slurmScript starts Slurm on one node, and waits for ever.
const slurmScript = `set -e
mkdir -p /run/munge /var/spool/slurmctld /var/spool/slurmd
head -c 1024 /dev/urandom > /etc/munge/munge.key
chown munge: /run/munge /var/log/munge /var/lib/munge /etc/munge/munge.key
chmod 400 /etc/munge/munge.key
setpriv --reuid munge --regid munge --clear-groups munged --force
slurmctld -c
slurmd
exec sleep infinity
`

const slurmConf = `ClusterName=test
SlurmctldHost=debian
SlurmUser=root
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
StateSaveLocation=/var/spool/slurmctld
SlurmdSpoolDir=/var/spool/slurmd
SlurmctldLogFile=/var/log/slurmctld.log
SlurmdLogFile=/var/log/slurmd.log
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
NodeName=debian CPUs=2 RealMemory=1000
PartitionName=all Nodes=ALL Default=YES
`

// TestSlurmCluster trains by cluster.sbatch on Slurm's daemons, on one node: the job is requeued
// while it trains, then gets the signal that Slurm sends before a time limit, and the same command
// goes on to the end.
func TestSlurmCluster(t *testing.T) {
	root := debian(t, "slurm", "slurm-wlm", "munge", "iproute2", "procps")
	build(t, filepath.Join(root, "usr/bin/ergoflow"))
	for _, old := range []string{"var/lib/ergoflow", "var/spool/slurmctld", "var/spool/slurmd"} {
		if err := os.RemoveAll(filepath.Join(root, old)); err != nil {
			t.Fatal(err)
		}
	}
	fresh := &machine{t: t, root: root}
	fresh.write("etc/hosts", bootAddress+" debian\n")
	fresh.write("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n")
	fresh.write("etc/slurm/slurm.conf", slurmConf)
	fresh.write("srv/job/cluster.sbatch", read(t, "slurm/cluster.sbatch"))

	m := enter(t, root, inPlace, bootAddress, "mount --rbind /sys/fs/cgroup sys/fs/cgroup", slurmScript)
	m.until("the node is idle", func() bool {
		said, _ := m.try("sinfo", "--noheader", "--format=%T")
		return said == "idle"
	})
	submit := func(more ...string) (job string) {
		t.Helper()
		command := []string{"env", "HOME=/srv/job", "ERGOFLOW_DIR=/var/lib/ergoflow", "sbatch", "--parsable", "--chdir=/srv/job",
			"--nodes=1", "--ntasks-per-node=2"}
		return m.run(append(append(command, more...), "/srv/job/cluster.sbatch", "vn1d", "--preset", "smoke",
			"--set", "data.shards=8", "--set", "training.steps=20000", "--set", "training.checkpoint_every=50")...)
	}
	state := func(job string) string {
		said, _ := m.try("scontrol", "show", "--oneliner", "job", job)
		_, after, _ := strings.Cut(said, "JobState=")
		name, _, _ := strings.Cut(after, " ")
		return name
	}

	// It is requeued: the workers save, and it goes on from there.
	job := submit("--time=30")
	before := m.trains(2, 100)
	m.run("scontrol", "requeue", job)
	m.until("it waits", func() bool { return state(job) == "PENDING" })
	m.until("it starts again", func() bool {
		_, _ = m.try("scontrol", "update", "jobid="+job, "starttime=now") // Slurm would wait two minutes
		return state(job) == "RUNNING"
	})
	after := m.trains(2, 1)
	t.Logf("requeued at step %d or later, two train at step %d", before.Step, after.Step)
	if after.Step < before.Step {
		t.Errorf("step %d after step %d", after.Step, before.Step)
	}

	// SIGTERM, as before the time limit: it ends in order.
	before = m.trains(2, 100)
	m.run("scancel", "--batch", "--signal=TERM", job)
	m.until("it has ended", func() bool { return state(job) == "FAILED" })

	// The same command goes on to the end.
	job = submit("--time=30")
	after = m.trains(2, 1)
	t.Logf("ended at step %d or later, two train at step %d", before.Step, after.Step)
	if after.Step < before.Step {
		t.Errorf("step %d after step %d", after.Step, before.Step)
	}
	m.until("it is complete", func() bool { return state(job) == "COMPLETED" })
	m.run("ergoflow", "verify", "run", "--dir", "/var/lib/ergoflow")

	// The token is in no output.
	for _, name := range []string{"srv/job/slurm-" + job + ".out", "var/lib/ergoflow/coordinator.log"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Error(err)
		}
		token, err := os.ReadFile(filepath.Join(root, "var/lib/ergoflow/token"))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), strings.TrimSpace(string(token))) {
			t.Errorf("%q has the token", name)
		}
	}
}
