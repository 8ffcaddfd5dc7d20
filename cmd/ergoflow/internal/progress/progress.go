// Package progress shows how far a command is: a bar on a terminal, a line now and
// then elsewhere.
package progress

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// plainEvery is how often progress is a line where there is no terminal.
const plainEvery = 10 * time.Second

// A Bar shows how far a stage is, with rate and remaining time.
type Bar struct {
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

// New shows a stage with total units of work, of which done are complete already.
func New(out *os.File, stage, unit string, done, total int) *Bar {
	now := time.Now()
	p := &Bar{out: out, stage: stage, unit: unit, total: total, first: done, begin: now, lastLine: now, lastValue: -1}
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
	p.Set(done, "")
	return p
}

// Set says that done of the total is reached; detail is a short remark, such as the loss.
func (p *Bar) Set(done int, detail string) {
	if p.ended {
		return
	}
	if p.bar != nil {
		p.bar.Describe(fmt.Sprintf("%-9s %s", p.stage, detail))
		_ = p.bar.Set(done)
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

// End leaves the bar as it stands and goes to the next line.
func (p *Bar) End() {
	if p.ended {
		return
	}
	p.ended = true
	if p.bar != nil {
		_ = p.bar.Exit()
		fmt.Fprintln(p.out)
	}
}

// Stages shows one stage after another, each with a bar of its own.
type Stages struct {
	Out *os.File
	bar *Bar
}

// Show shows the stage, and ends the one before it.
func (b *Stages) Show(stage, unit string, done, total int, detail string) {
	if b.bar == nil || b.bar.stage != stage {
		b.End()
		b.bar = New(b.Out, stage, unit, done, total)
	}
	b.bar.Set(done, detail)
}

// Shown reports whether a stage is under way.
func (b *Stages) Shown() bool { return b.bar != nil }

// Finish takes the present stage as done.
func (b *Stages) Finish(detail string) {
	if b.bar != nil {
		b.bar.Set(b.bar.total, detail)
		b.End()
	}
}

// End leaves the present stage as it stands.
func (b *Stages) End() {
	if b.bar != nil {
		b.bar.End()
		b.bar = nil
	}
}
