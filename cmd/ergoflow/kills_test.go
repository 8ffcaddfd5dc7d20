package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ergoflow/ergoflow/cmd/ergoflow/internal/conduct"
	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/model/training/state"
)

var (
	killsCount = flag.Int("kills", 0, "how many processes TestKills kills; 0 skips it")
	killsSeed  = flag.Uint64("kills.seed", 1, "seed of the moments within the phases")
)

const (
	killSteps = 60
	killEvery = 15 // steps between checkpoints
)

// killed is the experiment of TestKills: every phase lasts long enough to be hit.
var killed = []string{
	"--set", "model.deeponet.trunk_width=128", "--set", "data.shards=8", "--set", "data.training.burn_in=20000",
	"--set", fmt.Sprintf("training.steps=%d", killSteps), "--set", fmt.Sprintf("training.checkpoint_every=%d", killEvery),
}

// A killPhase is a part of a run; in says that a status is of it. A nil in is the time
// before the coordinator answers.
type killPhase struct {
	name string
	in   func(coordinator.Status) bool
}

var killPhases = []killPhase{
	{"start", nil},
	{"join", func(st coordinator.Status) bool { return len(st.Workers) > 0 }},
	{"generate", func(st coordinator.Status) bool { return st.State == "generating" && st.Shards.Done > 0 }},
	{"compile", func(st coordinator.Status) bool {
		return len(st.Workers) > 0 && slices.Contains([]string{"preparing", "prepared"}, st.Workers[0].State)
	}},
	{"train", training(2, killEvery/2)},
	{"checkpoint", func(st coordinator.Status) bool {
		return st.State == "training" && st.Step%killEvery == 0 && st.Step > 0
	}},
	{"end", func(st coordinator.Status) bool { return st.Step >= killSteps-1 }},
}

// killVictims are the processes of a local run. The data server is part of the coordinator.
var killVictims = []string{"coordinator", "worker", "train"}

// TestKills kills each process of a local run in each phase, one in each run, and runs the
// same command again where the killed process was the command itself. Every run must end
// with code 0, prove that it learned from every block once, and have the parameters of the
// undisturbed run, to rounding.
func TestKills(t *testing.T) {
	if *killsCount == 0 {
		t.Skip("each kill takes a run of its own, several seconds: `make kills COUNT=200` runs them")
	}
	undisturbed := t.TempDir()
	trainLocally(t, undisturbed, 1, killed...)
	want := final(t, undisturbed)
	hits, late := make(map[string]int), make(map[string]int)
	for i := range *killsCount {
		phase, victim := killPhases[i%len(killPhases)], killVictims[i/len(killPhases)%len(killVictims)]
		what := fmt.Sprintf("%s in %s", victim, phase.name)
		rng := rand.New(rand.NewPCG(*killsSeed, uint64(i)))
		passed := t.Run(fmt.Sprintf("%d %s", i, what), func(t *testing.T) {
			if kill(t, phase, victim, rng, want) {
				hits[what]++
			} else {
				late[what]++
			}
		})
		say("%4d  %-24s %t", i, what, passed)
	}
	total := 0
	for _, what := range slices.Sorted(maps.Keys(hits)) {
		say("killed the %-24s %3d times, missed it %d times", what, hits[what], late[what])
		total += hits[what]
	}
	say("%d kills in %d runs", total, *killsCount)
}

// kill trains with two workers, kills the victim in a phase, and checks the end. It
// reports whether it found the victim in the phase.
func kill(t *testing.T, phase killPhase, victim string, rng *rand.Rand, want *state.State) bool {
	dir := t.TempDir()
	more := killed
	if phase.name == "compile" {
		more = slices.Concat(killed, []string{"--backend", "auto"}) // XLA, where it is installed
	}
	c := startCluster(t, dir, 2, more...)
	t.Cleanup(func() { // of a failed test
		c.cmd.Process.Signal(syscall.SIGTERM)
		<-c.done
	})
	pids, hit := c.strike(phase, victim, time.Duration(rng.IntN(60))*time.Millisecond)
	if hit && victim == "train" {
		<-c.done
		gone(t, pids)
		c = startCluster(t, dir, 2, more...)
	}
	c.end()
	equalToRounding(t, "after a SIGKILL", final(t, dir), want)
	return hit
}

// strike waits for the phase and a little more, and kills the victim. It returns the
// children's ids. A victim that is not found any more is not hit.
func (c *cluster) strike(phase killPhase, victim string, delay time.Duration) (children []int, hit bool) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	for !c.reached(ctx, phase, victim) {
		select {
		case <-c.done:
			return nil, false
		case <-ctx.Done():
			c.t.Fatalf("waited too long for the phase %s\n%s", phase.name, logs(c.dir))
		case <-time.After(5 * time.Millisecond): // other processes are polled
		}
	}
	time.Sleep(delay) // each run strikes at another moment of the phase
	processes := childrenOf(c.cmd.Process.Pid)
	for _, pids := range processes {
		children = append(children, pids...)
	}
	processes["train"] = []int{c.cmd.Process.Pid}
	found := processes[victim]
	select {
	case <-c.done:
		return children, false
	default:
	}
	if len(found) == 0 {
		return children, false
	}
	return children, syscall.Kill(found[0], syscall.SIGKILL) == nil
}

// reached reports whether the phase has begun. The phase start has when the victim runs.
func (c *cluster) reached(ctx context.Context, phase killPhase, victim string) bool {
	if phase.in == nil {
		return victim == "train" || len(childrenOf(c.cmd.Process.Pid)[victim]) > 0
	}
	addresses, err := coordinator.ReadAddresses(c.dir)
	if err != nil {
		return false
	}
	client, err := conduct.Dial(conduct.Endpoint{Addr: addresses.Control})
	if err != nil {
		c.t.Fatal(err)
	}
	defer client.Close()
	for ctx.Err() == nil {
		st, err := client.Status(ctx, "")
		if err != nil {
			return false
		}
		if phase.in(st) {
			return true
		}
		time.Sleep(2 * time.Millisecond) // another process's status is polled; a phase may be short
	}
	return false
}

// childrenOf are the ids of a process's children by their subcommands.
func childrenOf(parent int) map[string][]int {
	found := make(map[string][]int)
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // fails for a bad pattern alone
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		_, after, _ := bytes.Cut(stat, []byte(") "))
		fields := strings.Fields(string(after))
		if len(fields) < 2 || fields[0] == "Z" || fields[1] != strconv.Itoa(parent) {
			continue
		}
		line, err := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		arguments := strings.Split(string(line), "\x00")
		pid, number := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err == nil && number == nil && len(arguments) > 1 {
			found[arguments[1]] = append(found[arguments[1]], pid)
		}
	}
	return found
}
