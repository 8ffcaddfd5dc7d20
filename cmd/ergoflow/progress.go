package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// plainEvery is how often progress is a line where there is no terminal.
const plainEvery = 10 * time.Second

// A progress shows how far a stage is, with rate and remaining time: a bar on a
// terminal, a line now and then elsewhere.
type progress struct {
	out   *os.File
	stage string
	unit  string
	total int
	bar   *progressbar.ProgressBar // nil without a terminal

	first     int // what was done already when the stage was first seen
	begin     time.Time
	lastLine  time.Time
	lastValue int
	ended     bool
}

func newProgress(out *os.File, stage, unit string, done, total int) *progress {
	now := time.Now()
	p := &progress{out: out, stage: stage, unit: unit, total: total, first: done, begin: now, lastLine: now, lastValue: -1}
	if term.IsTerminal(int(out.Fd())) {
		p.bar = progressbar.NewOptions(total,
			progressbar.OptionSetWriter(out),
			progressbar.OptionSetDescription(fmt.Sprintf("%-9s", stage)),
			progressbar.OptionSetItsString(unit),
			progressbar.OptionShowIts(),
			progressbar.OptionShowCount(),
			progressbar.OptionSetPredictTime(true),
			progressbar.OptionSetWidth(24),
			progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionSetTheme(progressbar.Theme{Saucer: "█", SaucerHead: "█", SaucerPadding: "░", BarStart: " ", BarEnd: " "}),
		)
	}
	p.set(done, "")
	return p
}

// set says that done of the total is reached; detail is a short remark.
func (p *progress) set(done int, detail string) {
	if p.ended {
		return
	}
	if p.bar != nil {
		p.bar.Describe(fmt.Sprintf("%-9s %s", p.stage, detail))
		p.bar.Set(done)
		return
	}
	now := time.Now()
	if done == p.lastValue || (done < p.total && now.Sub(p.lastLine) < plainEvery) {
		return
	}
	p.lastLine, p.lastValue = now, done
	line := fmt.Sprintf("%s: %d/%d %s", strings.TrimSpace(p.stage), done, p.total, p.unit)
	if elapsed := now.Sub(p.begin).Seconds(); done > p.first && elapsed > 0 {
		rate := float64(done-p.first) / elapsed
		left := time.Duration(float64(p.total-done) / rate * float64(time.Second))
		line += fmt.Sprintf(", %.3g/s, %s left", rate, left.Round(time.Second))
	}
	if detail != "" {
		line += ", " + detail
	}
	fmt.Fprintln(p.out, line)
}

// end leaves the bar as it stands and goes to the next line.
func (p *progress) end() {
	if p.ended {
		return
	}
	p.ended = true
	if p.bar != nil {
		p.bar.Exit()
		io.WriteString(p.out, "\n")
	}
}

// stageBars shows one stage after another: each has its own progress.
type stageBars struct {
	out *os.File
	bar *progress
}

func (b *stageBars) show(stage, unit string, done, total int, detail string) {
	if b.bar == nil || b.bar.stage != stage {
		b.end()
		b.bar = newProgress(b.out, stage, unit, done, total)
	}
	b.bar.set(done, detail)
}

// finish takes the present stage as done.
func (b *stageBars) finish(detail string) {
	if b.bar != nil {
		b.bar.set(b.bar.total, detail)
		b.end()
	}
}

func (b *stageBars) end() {
	if b.bar != nil {
		b.bar.end()
		b.bar = nil
	}
}
