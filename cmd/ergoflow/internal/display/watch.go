package display

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ergoflow/ergoflow/coordinator"
)

// Following says what a watch follows.
type Following struct {
	Where string // the cluster, as commands take it
	Every time.Duration
	Order Order
	// Ask asks the coordinator for its status. It is called again after it has failed.
	Ask func(context.Context) (coordinator.Status, error)
}

// late is how long a coordinator may take to answer before a watch says that it does not.
const late = 3 * time.Second

// Watch follows a cluster on the whole of a terminal, until a person ends it or ctx ends. first is
// its status now. The terminal is as before when it returns.
func Watch(ctx context.Context, f Following, first coordinator.Status, in, out *os.File) error {
	asking, stop := context.WithCancel(ctx)
	defer stop()
	now := time.Now()
	m := screenModel{following: f, ctx: asking, view: view{where: f.Where, status: first, heard: now, now: now, order: f.Order}}
	_, err := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out), tea.WithoutSignalHandler()).Run()
	if ctx.Err() != nil && !errors.Is(err, tea.ErrProgramPanic) {
		err = nil // it ended as it should
	}
	if err != nil {
		err = fmt.Errorf("the screen of the status: %w", err)
	}
	return err
}

// screenModel is what bubbletea runs.
type screenModel struct {
	following Following
	ctx       context.Context // of Ask
	view      view
}

type (
	clock  time.Time
	answer struct {
		status coordinator.Status
		err    error
		at     time.Time
	}
	due struct{} // to ask again
)

// Init implements tea.Model.
func (m screenModel) Init() tea.Cmd { return tea.Batch(tick(), m.later()) }

func tick() tea.Cmd { return tea.Tick(time.Second, func(t time.Time) tea.Msg { return clock(t) }) }

func (m screenModel) later() tea.Cmd {
	return tea.Tick(m.following.Every, func(time.Time) tea.Msg { return due{} })
}

func (m screenModel) ask() tea.Msg {
	st, err := m.following.Ask(m.ctx)
	return answer{st, err, time.Now()}
}

// Update implements tea.Model.
func (m screenModel) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.view.width, m.view.height = msg.Width, msg.Height
	case tea.KeyPressMsg:
		return m.press(msg.String())
	case clock:
		m.view.now = time.Time(msg)
		if m.view.since.IsZero() && m.view.now.Sub(m.view.heard) > m.following.Every+late {
			m.view.since = m.view.heard
		}
		return m, tick()
	case due:
		return m, m.ask
	case answer:
		m.view = m.view.answered(msg)
		return m, m.later()
	}
	return m, nil
}

// answered is the view after an answer, or after none.
func (v view) answered(a answer) view {
	v.now = a.at
	if a.err != nil {
		if v.since.IsZero() {
			v.since = v.heard
		}
		v.err = a.err
		return v
	}
	v.status, v.heard, v.trouble = a.status, a.at, trouble{}
	return v
}

func (m screenModel) press(key string) (tea.Model, tea.Cmd) {
	_, m.view.top = m.view.screen() // where the rows end
	switch key {
	case "q", "ctrl+c", "esc":
		return m, tea.Quit
	case "down", "j":
		m.view.top++
	case "up", "k":
		m.view.top = max(0, m.view.top-1)
	case "pgdown", "space":
		m.view.top += max(1, m.view.height/2)
	case "pgup":
		m.view.top = max(0, m.view.top-max(1, m.view.height/2))
	case "home":
		m.view.top = 0
	case "end":
		m.view.top = len(m.view.status.Workers)
	default:
		m.view.order, _ = m.view.order.press(key)
	}
	return m, nil
}

// View implements tea.Model.
func (m screenModel) View() tea.View {
	text, _ := m.view.screen()
	v := tea.NewView(text)
	v.AltScreen = true
	return v
}

// Blocks follows a cluster where there is no terminal: one block of text in each interval, until
// ctx ends. first is its status now. A coordinator that does not answer is a line, and its return
// another.
func Blocks(ctx context.Context, f Following, first coordinator.Status, out io.Writer) error {
	heard := time.Now()
	var off trouble
	st, err := first, error(nil)
	for ctx.Err() == nil {
		now := time.Now()
		switch {
		case err == nil:
			off, heard = trouble{}, now
			if _, err := fmt.Fprintf(out, "%s\n", now.Format(time.RFC3339)); err != nil {
				return err
			}
			if err := Text(out, st, f.Order); err != nil {
				return err
			}
			if _, err := fmt.Fprintln(out); err != nil {
				return err
			}
		case off.since.IsZero():
			off = trouble{heard, err}
			if _, err := fmt.Fprintf(out, "%s\nthe coordinator does not answer since %s: %s\n\n", now.Format(time.RFC3339), heard.Format(time.RFC3339), Clean(err.Error())); err != nil {
				return err
			}
		}
		select {
		case <-time.After(f.Every):
		case <-ctx.Done():
		}
		st, err = f.Ask(ctx)
	}
	return nil
}
