package explain

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ergoflow/ergoflow/internal/flight"
)

// Faults that are written by hand, and what is found. All begin at 10 s.
var faults = map[string]struct {
	world int
	play  func(s *stage)
	cause string
	want  Culprit
	says  []string
}{
	"a paused process": {3, func(s *stage) {
		w := s.workers[2]
		s.lose(11.6, w, 1.6, "silent for 1.6s")
		s.workers[0].wait(11.6, w, 2, 1.6)
		s.workers[0].add(11.6, flight.Record{Kind: flight.Silent, Worker: "w0", Peer: "w2", Generation: 7})
		s.coordinator.add(11.7, flight.Record{Kind: flight.Silent, Worker: "w0", Peer: "w2", Generation: 7})
		s.steps(8, 889, 11.8, 15, s.coordinator, s.workers[0], s.workers[1])
		w.add(17, flight.Record{Kind: flight.Paused, Seconds: 7})
	}, causePaused, Culprit{Kind: Worker, Worker: "w2", PID: 102}, []string{"worker w2 (rank 2, pid 102, host h2) stood still for 7.0 s, from 12:03:", "had not sent chunk 7 of step 889: worker w0 (rank 0) waited 1.6 s", "stood still for 1.9 s after step 889"}},

	"a stopped process that does not answer": {2, func(s *stage) {
		w := s.workers[1]
		s.lose(11.6, w, 1.6, "silent for 1.6s")
		s.coordinator.add(11.61, flight.Record{Kind: flight.Process, Worker: "w1", PID: 101, Text: flight.IsStopped})
		s.workers = s.workers[:1]
	}, causeStopped, Culprit{Kind: Worker, Worker: "w1", PID: 101}, []string{"state T", "kill -CONT 101"}},

	"a machine that is suspended": {3, func(s *stage) {
		for _, w := range s.workers[:2] {
			w.Host = "h0"
			w.add(16, flight.Record{Kind: flight.Paused, Seconds: 6})
			s.lose(11.6, w, 1.6, "silent for 1.6s")
		}
	}, causeMachine, Culprit{Kind: Machine, Host: "h0"}, []string{"The machine h0 stood still for 6.0 s", "2 of its processes"}},

	"a silent host": {3, func(s *stage) {
		s.lose(11.6, s.workers[1], 1.6, "silent for 1.6s")
		s.coordinator.add(11.7, flight.Record{Kind: flight.Silent, Worker: "w0", Peer: "w1", Generation: 7})
		s.steps(8, 889, 11.8, 15, s.coordinator, s.workers[0], s.workers[2])
		s.workers = []*actor{s.workers[0], s.workers[2]} // nothing comes from it
	}, causeSilent, Culprit{Kind: Worker, Worker: "w1"}, []string{"no power or no network", "1 other worker, too"}},

	"a stuck device": {3, func(s *stage) {
		for _, w := range s.all() {
			w.ends = 22
		}
		s.workers[0].wait(22, s.workers[1], 1, 12)
		s.workers[2].wait(22, s.workers[1], 1, 12)
		for _, w := range s.workers {
			w.add(22, flight.Record{Kind: flight.Doing, Generation: 7, Step: 889, Seconds: 12, Text: flight.DoingText(flight.PlaceRank, flight.DoesCompute)})
		}
	}, causeDevice, Culprit{Kind: Worker, Worker: "w1"}, []string{"device of worker w1 (rank 1", "for 12.0 s", "usually takes its device 85 ms"}},

	"a device that was stuck": {2, func(s *stage) {
		s.workers[1].add(40, flight.Record{Kind: flight.Slow, Generation: 7, Step: 890, Seconds: 30, Text: "the device; a step usually takes it 0.085 s"})
		s.coordinator.add(39, flight.Record{Kind: flight.Stalled, Generation: 7, Text: "generation 7 has made no step for 1m0s"})
		for _, w := range s.all() {
			w.ends = 45
		}
		s.steps(7, 890, 40, 44)
	}, causeDevice, Culprit{Kind: Worker, Worker: "w1"}, []string{"was stuck: step 890 took it 30.0 s"}},

	"a link that is cut one way": {3, func(s *stage) {
		for _, d := range []struct {
			deaf, mute int
			repeated   float64
		}{{0, 1, 0}, {1, 0, 3}} {
			w, other := s.workers[d.deaf], s.workers[d.mute]
			w.add(11.8, flight.Record{Kind: flight.Link, Generation: 7, Worker: other.ID, Seconds: 1.75, Value: d.repeated})
			s.coordinator.add(11.8, flight.Record{Kind: flight.Silent, Worker: w.ID, Peer: other.ID, Generation: 7})
		}
	}, causeLink, Culprit{Kind: Link, Worker: "w1", Peer: "w0"}, []string{"The link from worker w1 (rank 1) to worker w0 (rank 0)", "3 TCP segments"}},

	"a link that is cut both ways": {3, func(s *stage) {
		for _, d := range [][2]int{{0, 1}, {1, 0}} {
			w, other := s.workers[d[0]], s.workers[d[1]]
			w.add(11.8, flight.Record{Kind: flight.Link, Generation: 7, Worker: other.ID, Seconds: 1.75})
			s.coordinator.add(11.8, flight.Record{Kind: flight.Silent, Worker: w.ID, Peer: other.ID, Generation: 7})
		}
	}, causeLink, Culprit{Kind: Link}, []string{"The link between worker", "do not tell whether one direction"}},

	"a closed port": {3, func(s *stage) {
		s.workers[0].add(10.1, flight.Record{Kind: flight.Broken, Generation: 7, Step: 889, Worker: "w2", Text: "peer lost"})
		for _, id := range []int{0, 1} {
			s.coordinator.add(10.2, flight.Record{Kind: flight.Checked, Worker: s.workers[id].ID, Peer: "w2", Text: "dial tcp 10.0.0.9:7072: connect: connection refused"})
		}
	}, causePort, Culprit{Kind: Worker, Worker: "w2"}, []string{"data port of worker w2", "2 other workers were refused"}},

	"a shard store that does not answer": {2, func(s *stage) {
		s.workers[0].wait(20, s.workers[1], 1, 10)
		s.workers[0].add(20, flight.Record{Kind: flight.Doing, Generation: 7, Step: 889, Seconds: 10, Text: flight.DoingText(flight.PlaceRank, flight.DoesCompute)})
		s.workers[1].add(20, flight.Record{Kind: flight.Doing, Generation: 7, Step: 889, Seconds: 10, Text: flight.DoingText(flight.PlaceRank, flight.DoesRead)})
	}, causeStore, Culprit{Kind: Disk}, []string{"Worker w1 (rank 1, pid 101, host h1) waits for its batch"}},

	"a slow disk": {2, func(s *stage) {
		s.coordinator.add(5, flight.Record{Kind: flight.Stored, Seconds: 0.02})
		s.coordinator.add(13, flight.Record{Kind: flight.Slow, Seconds: 3, Text: "writing /data/coordinator.db"})
		s.lose(13.1, s.workers[0], 0, "the stream broke") // a consequence
	}, causeSlowDisk, Culprit{Kind: Disk, Place: "/data/coordinator.db"}, []string{"took 3.0 s", "Checkpoints before that took 20 ms"}},

	"a full disk": {2, func(s *stage) {
		s.coordinator.add(10, flight.Record{Kind: flight.Full, Value: 3 << 20, Text: "the checkpoint at step 890 is not stored: the disk is full, it needs 3 MiB in /data"})
	}, causeFullDisk, Culprit{Kind: Disk, Place: "/data"}, []string{"is full since 12:03:10.000"}},

	"a loss that is not finite": {2, func(s *stage) {
		for i := range 3 { // the coordinator tries again
			for _, w := range s.workers {
				at := 10 + float64(i)
				s.coordinator.add(at, flight.Record{Kind: flight.Complains, Worker: w.ID, Generation: 7, Step: 889, Text: "update of step 889: training diverged: the loss is NaN"})
				w.add(at, flight.Record{Kind: flight.Diverged, Generation: 7, Step: 889, Text: "update of step 889: training diverged: the loss is NaN"})
			}
		}
	}, causeDiverged, Culprit{Kind: Model}, []string{"after step 889", "2 workers tell the same"}},

	"a clock that jumps": {2, func(s *stage) {
		s.workers[1].add(10, flight.Record{Kind: flight.Clock, Seconds: -3600})
		s.steps(7, 890, 10, 19)
	}, causeClock, Culprit{Kind: Worker, Worker: "w1"}, []string{"jumped backwards by 1h0m0s", "Training went on"}},

	"a process that the kernel ended for want of memory": {2, func(s *stage) {
		s.workers[1].add(9.5, flight.Record{Kind: flight.Memory, Value: 95, Limit: 100, Text: "95 B are used of 100 B, the limit of the cgroup"})
		s.workers[1].ends = 9.6
		s.lose(10, s.workers[1], 0.1, "the stream broke")
		s.coordinator.add(10.1, flight.Record{Kind: flight.Process, Worker: "w1", PID: 101, Text: flight.OutOfMem + ": Memory cgroup out of memory: Killed process 101 (ergoflow)"})
	}, causeMemory, Culprit{Kind: Worker, Worker: "w1"}, []string{"The kernel ended the process of worker w1", "95 B are used"}},

	"a process on another host whose memory was used up": {2, func(s *stage) {
		s.workers[1].add(9.5, flight.Record{Kind: flight.Memory, Value: 95, Limit: 100, Text: "95 B are used of 100 B, the limit of the cgroup"})
		s.workers[1].ends = 9.6
		s.lose(10, s.workers[1], 0.1, "the stream broke")
	}, causeMemory, Culprit{Kind: Worker, Worker: "w1"}, []string{"nearly used up"}},

	"a process whose cgroup ran out of memory": {2, func(s *stage) {
		s.workers[1].ends = 9.6
		s.coordinator.Host = "h1"
		s.lose(10, s.workers[1], 0.1, "the stream broke")
		s.coordinator.add(10.5, flight.Record{Kind: flight.Memory, Text: flight.KernelEnded + " for want of memory; 40 B are used of 100 B, the limit of the cgroup"})
	}, causeMemory, Culprit{Kind: Worker, Worker: "w1"}, []string{"process of its cgroup", "The coordinator recorded it"}},

	"a killed process": {2, func(s *stage) {
		s.workers[1].ends = 10
		s.lose(10, s.workers[1], 0.1, "the stream broke")
		s.coordinator.add(10.1, flight.Record{Kind: flight.Process, Worker: "w1", PID: 101, Text: flight.IsGone})
	}, causeEnded, Culprit{Kind: Worker, Worker: "w1"}, []string{"ended at 12:03:10.000 UTC without leaving"}},

	"a worker with an error of its own": {2, func(s *stage) {
		s.coordinator.add(10, flight.Record{Kind: flight.Unfit, Worker: "w1", Text: "corrupt shard 3"})
	}, causeError, Culprit{Kind: Worker, Worker: "w1"}, []string{"corrupt shard 3"}},

	"a killed coordinator, started again": {2, func(s *stage) {
		for _, w := range s.workers {
			w.add(10, flight.Record{Kind: flight.Left, Seconds: 10, Text: "session with coordinator c:1: rpc error: code = Unavailable desc = error reading from server: EOF"})
		}
		s.coordinator.PID, s.coordinator.records = 2, nil
		s.coordinator.add(12, flight.Record{Kind: flight.Unclean, PID: 1})
	}, causeKilled, Culprit{Kind: Coordinator, PID: 1}, []string{"ended at 12:03:10.000 UTC, and not in order", "sessions of 2 workers broke"}},

	"a killed coordinator that is not back": {2, func(s *stage) {
		for _, w := range s.workers {
			w.add(10, flight.Record{Kind: flight.Left, Seconds: 10, Text: "session with coordinator c:1: rpc error: code = Unavailable desc = error reading from server: EOF"})
		}
		s.coordinator.ends = 5
		s.coordinator.records = s.coordinator.records[:40]
	}, causeKilled, Culprit{Kind: Coordinator}, []string{"No coordinator has stored a dump since"}},

	"a silent coordinator": {2, func(s *stage) {
		for _, w := range s.workers {
			w.ends = 25
			w.add(20, flight.Record{Kind: flight.Left, Text: "session with coordinator c:1: the coordinator is silent for 10s"})
		}
		s.coordinator.ends = 5
	}, causeCoordinator, Culprit{Kind: Coordinator}, []string{"fell silent for 2 workers at about 12:03:"}},
}

func TestFaults(t *testing.T) {
	for name, f := range faults {
		t.Run(name, func(t *testing.T) {
			s := trained(f.world)
			f.play(s)
			check(t, Explain(s.dumps()), f.cause, f.want, f.says)
		})
	}
}

func check(t *testing.T, v Verdict, cause string, want Culprit, says []string) {
	t.Helper()
	text := strings.Join(v.Sentences, "\n") + "\n" + v.Hint
	if !v.Decided || !v.Stopped || v.Cause != cause {
		t.Fatalf("the cause is %q (decided: %t), want %q\n%s\n%v", v.Cause, v.Decided, cause, text, v.Candidates)
	}
	c := v.Culprit
	if c.Kind != want.Kind || want.Worker != "" && c.Worker != want.Worker || want.Peer != "" && c.Peer != want.Peer || want.PID != 0 && c.PID != want.PID || want.Host != "" && c.Host != want.Host || c.Place != want.Place {
		t.Errorf("the culprit is %+v, want %+v\n%s", *c, want, text)
	}
	for _, words := range says {
		if !strings.Contains(text, words) {
			t.Errorf("it does not say %q:\n%s", words, text)
		}
	}
	if len(v.Sentences) > maxSentences || len(v.Evidence) == 0 || v.Hint == "" {
		t.Errorf("%d sentences, %d records of evidence, hint %q", len(v.Sentences), len(v.Evidence), v.Hint)
	}
	for _, sentence := range v.Sentences {
		if !strings.HasSuffix(sentence, ".") || strings.HasSuffix(sentence, "..") {
			t.Errorf("no sentence: %q", sentence)
		}
	}
}

// Clocks that differ by seconds change nothing: times are those of the coordinator's clock. Nor
// does the order in which dumps are read.
func TestClocksDiffer(t *testing.T) {
	for name, f := range faults {
		t.Run(name, func(t *testing.T) {
			s := trained(f.world, 7*time.Second, -4*time.Second, 90*time.Second)
			f.play(s)
			dumps := s.dumps()
			rng := rand.New(rand.NewPCG(1, 2))
			rng.Shuffle(len(dumps), func(i, j int) { dumps[i], dumps[j] = dumps[j], dumps[i] })
			v := Explain(dumps)
			if name == "a silent coordinator" || name == "a killed coordinator that is not back" || name == "a killed coordinator, started again" {
				return // there is no step in common with a coordinator that lives
			}
			check(t, v, f.cause, f.want, f.says)
			if f.cause == causePaused && v.At.Sub(base.Add(10*time.Second)).Abs() > 50*time.Millisecond {
				t.Errorf("it began at %v", v.At)
			}
		})
	}
}

// A process makes several dumps, which have records in common.
func TestDumpsOverlap(t *testing.T) {
	for name, f := range faults {
		t.Run(name, func(t *testing.T) {
			s := trained(f.world)
			f.play(s)
			var dumps []*flight.Dump
			for _, a := range s.all() {
				half := a.dump()
				half.Header.Since = 9
				half.Records = slices.Clone(half.Records[:len(half.Records)/2])
				dumps = append(dumps, half, a.dump())
			}
			check(t, Explain(dumps), f.cause, f.want, f.says)
		})
	}
}

// Without a fault nothing stopped. Workers that join, and a coordinator that ends in order, are
// none.
func TestHealthy(t *testing.T) {
	for name, play := range map[string]func(*stage){
		"nothing happens": func(*stage) {},
		"it is dumped in the middle of a step": func(s *stage) {
			for _, w := range s.workers {
				w.ends = 10.05
				w.add(10.05, flight.Record{Kind: flight.Doing, Generation: 7, Step: 889, Seconds: 0.05, Text: flight.DoingText(flight.PlaceRank, flight.DoesCompute)})
			}
			s.workers[0].wait(10.05, s.workers[1], 1, 0.02)
		},
		"a worker leaves": func(s *stage) {
			s.workers[1].add(10, flight.Record{Kind: flight.Left, Text: "session with coordinator c:1: left the cluster: drained"})
			s.workers[1].add(10, flight.Record{Kind: flight.Ends, Text: "left the cluster: drained"})
			s.steps(8, 890, 10, 20, s.coordinator, s.workers[0])
		},
		"all end": func(s *stage) {
			s.coordinator.add(10, flight.Record{Kind: flight.Ends, Text: "in order"})
			s.workers[0].add(10, flight.Record{Kind: flight.Left, Text: "session with coordinator c:1: rpc error: code = Unavailable desc = EOF"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := trained(2)
			play(s)
			v := Explain(s.dumps())
			if v.Stopped || v.Decided || len(v.Sentences) != 1 || !strings.HasPrefix(v.Sentences[0], "Nothing stopped: ") {
				t.Errorf("%+v", v)
			}
		})
	}
	if v := Explain(nil); v.Stopped || v.Sentences[0] != "There are no dumps." {
		t.Errorf("without dumps: %+v", v)
	}
}

// What the records do not decide has no culprit.
func TestUndecided(t *testing.T) {
	for name, c := range map[string]struct {
		play       func(*stage)
		candidates int
	}{
		"a complaint about another that nobody shares": {func(s *stage) {
			s.coordinator.add(10, flight.Record{Kind: flight.Complains, Worker: "w0", Peer: "w1", Generation: 7, Step: 889, Text: "peer lost: its stream ended"})
		}, 0},
		"a rank that waits for the coordinator": {func(s *stage) {
			s.workers[0].add(20, flight.Record{Kind: flight.Doing, Generation: 7, Step: 889, Seconds: 10, Text: "rank: waits for the coordinator"})
		}, 0},
		"a clock that jumped, and a stall": {func(s *stage) {
			s.workers[0].add(10, flight.Record{Kind: flight.Clock, Seconds: 5})
			s.coordinator.add(14, flight.Record{Kind: flight.Stalled, Text: "generation 7 has made no step for 1m0s"})
		}, 1},
		"memory that is scarce, and a stall": {func(s *stage) {
			s.workers[0].add(10, flight.Record{Kind: flight.Memory, Text: "95 B are used of 100 B"})
			s.coordinator.add(14, flight.Record{Kind: flight.Stalled, Text: "generation 7 has made no step for 1m0s"})
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := trained(2)
			c.play(s)
			v := Explain(s.dumps())
			if !v.Stopped || v.Decided || v.Culprit != nil || v.Cause != "" || len(v.Candidates) != c.candidates || v.Hint == "" {
				t.Errorf("%+v", v)
			}
		})
	}
}

// Dumps of two runs are not mixed: the last to stop is explained.
func TestTwoRuns(t *testing.T) {
	s, other := trained(2), trained(2)
	faults["a paused process"].play(trained(3))
	s.workers[1].add(17, flight.Record{Kind: flight.Paused, Seconds: 7})
	s.lose(11.6, s.workers[1], 1.6, "silent for 1.6s")
	for i, w := range other.workers {
		w.ID, w.run, w.PID = "x"+w.ID[1:], "run-b", 200+i
		w.add(5, flight.Record{Kind: flight.Paused, Seconds: 4})
	}
	dumps := s.dumps()
	for _, w := range other.workers {
		dumps = append(dumps, w.dump())
	}
	v := Explain(dumps)
	check(t, v, causePaused, Culprit{Kind: Worker, Worker: "w1"}, nil)
	if v.Run != "run-a" || len(v.Notes) != 1 || !strings.Contains(v.Notes[0], "run-b") {
		t.Errorf("run %q, notes %v", v.Run, v.Notes)
	}
}

// Of two incidents the last is explained.
func TestLastIncident(t *testing.T) {
	s := trained(3)
	faults["a full disk"].play(s)
	for _, a := range s.all() {
		a.ends = 100
	}
	s.steps(7, 890, 10, 90)
	w := s.workers[1]
	s.lose(91.6, w, 1.6, "silent for 1.6s")
	w.add(97, flight.Record{Kind: flight.Paused, Seconds: 7})
	check(t, Explain(s.dumps()), causePaused, Culprit{Kind: Worker, Worker: "w1"}, []string{"from 12:04:29.99"})
}

// An incident of long ago is explained, with a note.
func TestLongAgo(t *testing.T) {
	s := trained(2)
	faults["a full disk"].play(s)
	for _, a := range s.all() {
		a.ends = 7210
	}
	v := Explain(s.dumps())
	check(t, v, causeFullDisk, Culprit{Kind: Disk, Place: "/data"}, nil)
	if len(v.Notes) != 1 || v.Notes[0] != "this was on 2026-11-27, 2h0m0s before the last dump; the dumps have no sign of a stop since" {
		t.Errorf("notes: %q", v.Notes)
	}
}
