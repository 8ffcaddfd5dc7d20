package display

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/coordinator/machine"
)

// training is the status of a run with n workers. Those with larger names are slower, wait less
// and have smaller ranks.
func training(n int) coordinator.Status {
	loss := 0.5
	st := coordinator.Status{Status: machine.Status{
		State: machine.StateTraining, Run: "abcdef0123456789", Experiment: "vn1d/demo", Step: 7, Steps: 10, Loss: &loss, Generation: 3, WorldSize: n,
		Shards:  machine.ShardStatus{Done: 5, Total: 5},
		Goodput: &machine.Goodput{Seconds: 10, Useful: 8, Lost: []machine.Loss{{Cause: machine.Forming, Seconds: 2, Why: "a worker joined"}}},
	}, Gossip: "127.0.0.1:1", Reason: "generation 3 goes"}
	for i := range n {
		st.Workers = append(st.Workers, machine.WorkerStatus{ID: ergoflow.WorkerID(fmt.Sprintf("w-%02d", i)), Rank: n - 1 - i, Step: ergoflow.Step(i), State: "training",
			Pace: float64(i+1) / 1000, Timing: machine.Timing{Wait: float64(n-i) / 1000}, Device: "cpu"})
	}
	return st
}

// names are the workers of a text in the order of their lines.
func names(text string) string {
	var found []string
	for line := range strings.Lines(text) {
		if name, _, _ := strings.Cut(strings.TrimSpace(ansi.Strip(line)), " "); strings.HasPrefix(name, "w-") {
			found = append(found, name)
		}
	}
	return strings.Join(found, " ")
}

func TestOrder(t *testing.T) {
	st := training(3)
	st.Workers[0].Rank, st.Workers[1].State = -1, "aside"
	for text, want := range map[string]string{
		"rank": "w-02 w-01 w-00", "-rank": "w-00 w-01 w-02", "name": "w-00 w-01 w-02", "-name": "w-02 w-01 w-00",
		"step": "w-02 w-01 w-00", "pace": "w-02 w-01 w-00", "wait": "w-00 w-01 w-02", "state": "w-01 w-00 w-02", "-state": "w-00 w-02 w-01",
	} {
		o, err := ParseOrder(text)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := Text(&b, st, o); err != nil {
			t.Fatal(err)
		}
		if got := names(b.String()); got != want || o.String() != text {
			t.Errorf("by %s: %s, want %s", o, got, want)
		}
	}
	for _, text := range []string{"", "-", "ranks", "--rank", strings.Repeat("x", 100)} {
		if _, err := ParseOrder(text); !errors.Is(err, ErrOrder) {
			t.Errorf("order %q: %v", text, err)
		}
	}
}

// Whatever the size, a screen has as many lines as it is high, none wider than it is, its last
// line is about the keys, and scrolling shows every worker.
func TestScreenFits(t *testing.T) {
	now := time.Unix(100, 0)
	st := training(30)
	st.Failure = "wide: 漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字"
	for _, off := range []trouble{{}, {since: time.Unix(90, 0), err: errors.New("refused\nby\x1b[2Jsomebody")}} {
		for _, width := range []int{0, 1, 2, 7, 12, 21, 40, 80, 129} {
			for height := range 45 {
				v := view{where: "--dir x", status: st, heard: now, now: now, trouble: off, width: width, height: height}
				seen := make(map[string]bool)
				for last := -1; ; v.top++ {
					text, top := v.screen()
					lines := strings.Split(text, "\n")
					if len(lines) != max(1, height) {
						t.Fatalf("%d×%d: %d lines", width, height, len(lines))
					}
					for _, line := range lines {
						if n := ansi.StringWidth(line); n > width {
							t.Fatalf("%d×%d: a line of %d columns: %q", width, height, n, line)
						}
					}
					if strings.Contains(text, "\x1b[2J") {
						t.Fatal("a worker's text moves the cursor")
					}
					if width > 20 && !strings.Contains(lines[len(lines)-1], "workers") {
						t.Fatalf("%d×%d: the last line is %q", width, height, lines[len(lines)-1])
					}
					for _, name := range strings.Fields(names(text)) {
						seen[name] = true
					}
					if top == last {
						break
					}
					last = top
				}
				if height > 12 && width > 10 && len(seen) != 30 {
					t.Fatalf("%d×%d: scrolling shows %d of 30 workers", width, height, len(seen))
				}
			}
		}
	}
}

func TestScreen(t *testing.T) {
	now := time.Date(2026, 11, 27, 12, 0, 4, 0, time.Local)
	v := view{where: "--dir x", status: training(2), heard: now, now: now, width: 60, height: 18}
	text, _ := v.screen()
	want := `ergoflow status --dir x  12:00:04
state       training
run         vn1d/demo (abcdef012345)
shards      5 of 5
step        7 of 10
loss        0.5
generation  3, world size 2
goodput     80.0 % of 10s in useful steps
  forming   20.0 %: a worker joined
last        generation 3 goes

worker  rank  step  shards  pace  wait  state     device  r…
w-01    0     1     0       2 ms  1 ms  training  cpu     -…
w-00    1     0     0       1 ms  2 ms  training  cpu     -…



2 workers by rank · q quit, ↑↓ scroll, sort: r rank, n name…`
	if got := ansi.Strip(text); got != want {
		t.Errorf("the screen is\n%s\nwant\n%s", got, want)
	}
	v.trouble = trouble{since: now.Add(-14 * time.Second), err: errors.New("connection refused")}
	v.width, v.height = 120, 8
	text, _ = v.screen()
	if got := ansi.Strip(text); !strings.Contains(got, "does not answer since 11:59:50 (14s); what follows is older: connection refused\n") || names(got) != "w-01 w-00" {
		t.Errorf("a small screen without an answer is\n%s", got)
	}
}

// press gives keys to a model, and returns its screen.
func press(t *testing.T, m tea.Model, keys ...tea.Key) (tea.Model, string) {
	t.Helper()
	for _, k := range keys {
		m, _ = m.Update(tea.KeyPressMsg(k))
	}
	text, _ := m.(screenModel).view.screen()
	return m, text
}

// Keys sort, the same key reverses, and others scroll, not beyond the last worker.
func TestKeys(t *testing.T) {
	var m tea.Model = screenModel{view: view{status: training(9), order: Order{}}}
	m, _ = m.Update(tea.WindowSizeMsg{Width: 100, Height: 8})
	for _, step := range []struct {
		key  tea.Key
		want string
	}{
		{tea.Key{Code: 'n', Text: "n"}, "w-00 w-01 w-02 w-03"},
		{tea.Key{Code: tea.KeyDown}, "w-01 w-02 w-03 w-04"},
		{tea.Key{Code: 'j', Text: "j"}, "w-02 w-03 w-04 w-05"},
		{tea.Key{Code: tea.KeyUp}, "w-01 w-02 w-03 w-04"},
		{tea.Key{Code: tea.KeyPgDown}, "w-05 w-06 w-07 w-08"},
		{tea.Key{Code: tea.KeyDown}, "w-05 w-06 w-07 w-08"},
		{tea.Key{Code: tea.KeyUp}, "w-04 w-05 w-06 w-07"},
		{tea.Key{Code: tea.KeyHome}, "w-00 w-01 w-02 w-03"},
		{tea.Key{Code: tea.KeyEnd}, "w-05 w-06 w-07 w-08"},
		{tea.Key{Code: 'n', Text: "n"}, "w-03 w-02 w-01 w-00"},
		{tea.Key{Code: tea.KeyHome}, "w-08 w-07 w-06 w-05"},
		{tea.Key{Code: 'x', Text: "x"}, "w-08 w-07 w-06 w-05"},
		{tea.Key{Code: 'n', Text: "n"}, "w-00 w-01 w-02 w-03"},
	} {
		var text string
		if m, text = press(t, m, step.key); names(text) != step.want {
			t.Errorf("after %s: %s, want %s", step.key, names(text), step.want)
		}
	}
	for _, key := range []tea.Key{{Code: 'q', Text: "q"}, {Code: 'c', Mod: tea.ModCtrl}, {Code: tea.KeyEscape}} {
		if _, cmd := m.Update(tea.KeyPressMsg(key)); cmd == nil || cmd() != tea.Quit() {
			t.Errorf("%s does not end the watch", key)
		}
	}
}

// A coordinator that fails, or only hangs, is said to be away since its last answer; its next one
// ends that.
func TestAway(t *testing.T) {
	heard := time.Unix(100, 0)
	var m tea.Model = screenModel{following: Following{Every: time.Second}, view: view{status: training(1), heard: heard, now: heard, width: 100, height: 20}}
	at := func(seconds int, msg func(time.Time) tea.Msg) trouble {
		m, _ = m.Update(msg(heard.Add(time.Duration(seconds) * time.Second)))
		return m.(screenModel).view.trouble
	}
	tick := func(at time.Time) tea.Msg { return clock(at) }
	fails := func(at time.Time) tea.Msg { return answer{err: errors.New("refused"), at: at} }
	speaks := func(at time.Time) tea.Msg { return answer{status: training(2), at: at} }
	if off := at(4, tick); !off.since.IsZero() {
		t.Errorf("after 4 s: %+v", off)
	}
	if off := at(5, tick); off.since != heard || off.err != nil {
		t.Errorf("after 5 s: %+v", off)
	}
	if off := at(8, fails); off.since != heard || off.err == nil {
		t.Errorf("after an error: %+v", off)
	}
	if off := at(9, speaks); !off.since.IsZero() || len(m.(screenModel).view.status.Workers) != 2 {
		t.Errorf("after an answer: %+v", off)
	}
	if off := at(10, fails); off.since != heard.Add(9*time.Second) {
		t.Errorf("after another error: %+v", off)
	}
}

// Without a terminal there is a block in each interval, one line while the coordinator is away,
// and an end with the context.
func TestBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		calls := 0
		f := Following{Every: time.Minute, Ask: func(context.Context) (coordinator.Status, error) {
			calls++
			if calls == 6 {
				cancel()
			}
			if calls >= 2 && calls <= 4 {
				return coordinator.Status{}, errors.New("connection refused")
			}
			return training(2), nil
		}}
		var b strings.Builder
		begin := time.Now()
		if err := Blocks(ctx, f, training(1), &b); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(begin); d != 6*time.Minute {
			t.Errorf("it took %v", d)
		}
		if got := names(b.String()); got != "w-00 w-01 w-00 w-01 w-00" { // one worker, then two, away, two
			t.Errorf("the workers are %s", got)
		}
		since := begin.Add(time.Minute).Format(time.RFC3339)
		if text := b.String(); strings.Count(text, "does not answer since "+since+": connection refused") != 1 || strings.Count(text, "does not answer") != 1 {
			t.Errorf("the text is\n%s", text)
		}
	})
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("the pipe is closed") }

func TestBlocksEndWithTheirReader(t *testing.T) {
	if err := Blocks(t.Context(), Following{}, training(1), failing{}); err == nil {
		t.Error("it writes on")
	}
}

// The line about checkpoints in the bucket says what is there, or why it is not.
func TestArchive(t *testing.T) {
	begun := time.Date(2026, 11, 28, 1, 2, 3, 0, time.UTC)
	for want, a := range map[string]*coordinator.Archive{
		"":                                      nil,
		"none was copied since the coordinator": {Store: "s3://b", Cluster: "lab"},
		"cluster lab in s3://b: step 100 of 0123456789ab since 2026-11-28T01:02:03Z": {Store: "s3://b", Cluster: "lab", Run: "0123456789abcdef", Step: 100, Time: begun},
		"on the coordinator's disk alone: access denied":                             {Store: "s3://b", Cluster: "lab", Run: "0123", Step: 100, Time: begun, Problem: "access denied"},
	} {
		var out strings.Builder
		if err := Text(&out, coordinator.Status{Archive: a}, Order{}); err != nil {
			t.Fatal(err)
		}
		if has := strings.Contains(out.String(), "archive"); has != (want != "") || !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}
