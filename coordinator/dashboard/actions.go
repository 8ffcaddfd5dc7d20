package dashboard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/journal"
	"github.com/ergoflow/ergoflow/coordinator/queue"
)

// maxBody bounds the body of a request, in bytes.
const maxBody = 4 << 10

// actionPatience bounds an action.
const actionPatience = 20 * time.Second

// Bodies of requests. Each knows how to do what it asks for.
type (
	drain  struct{ Worker ergoflow.WorkerID }
	cancel struct{ ID queue.ID }
	run    struct {
		Name   string
		Action string // run, pause or resume
	}
	promote struct {
		Model   string
		Version int
		Reason  string
	}
	rollback struct{ Model string }
)

// action is a request to change something. It returns a sentence.
type action interface {
	do(ctx context.Context, s *Server, by string) (string, error)
}

func (s *Server) registerActions(mux *http.ServeMux) {
	handle[drain](mux, s, "POST /api/drain")
	handle[cancel](mux, s, "POST /api/cancel")
	handle[run](mux, s, "POST /api/schedule")
	handle[promote](mux, s, "POST /api/promote")
	handle[rollback](mux, s, "POST /api/rollback")
}

// handle has a path do what a body asks for, if the caller may. The answer comes when the next
// state of the page has what was done.
func handle[A action](mux *http.ServeMux, s *Server, path string) {
	mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		who, err := s.source.Access.judge(r)
		if err != nil {
			refuse(w, http.StatusForbidden, err.Error())
			return
		}
		if !who.May {
			refuse(w, http.StatusForbidden, who.Why)
			return
		}
		var a A
		if status, err := decode(w, r, &a); err != nil {
			refuse(w, status, err.Error())
			return
		}
		ctx, done := context.WithTimeout(r.Context(), actionPatience)
		defer done()
		said, err := a.do(ctx, s, who.Who)
		if err != nil {
			refuse(w, http.StatusConflict, err.Error())
			return
		}
		s.hub.take()
		answer(w, http.StatusOK, "application/json", struct {
			Detail string `json:"detail"`
		}{said})
	})
}

// decode reads a body: JSON, with known fields alone.
func decode(w http.ResponseWriter, r *http.Request, into any) (status int, err error) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return http.StatusUnsupportedMediaType, errors.New("the body is not application/json")
	}
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return http.StatusBadRequest, fmt.Errorf("cannot read the request: %w: load the page again", err)
	}
	return 0, nil
}

// note tells the journal who asked for something.
func (s *Server) note(topic journal.Topic, format string, args ...any) {
	s.source.Events.Add(time.Now(), topic, false, fmt.Sprintf(format, args...))
}

func (d drain) do(_ context.Context, s *Server, by string) (string, error) {
	if err := s.source.Drain(d.Worker, by); err != nil {
		return "", err
	}
	return fmt.Sprintf("worker %s leaves", d.Worker), nil
}

func (c cancel) do(_ context.Context, s *Server, by string) (string, error) {
	if _, err := s.source.Change(queue.Cancel{ID: c.ID}); err != nil {
		return "", err
	}
	s.note(journal.Queue, "%s cancels run %d", by, c.ID)
	return fmt.Sprintf("run %d is cancelled", c.ID), nil
}

func (r run) do(_ context.Context, s *Server, by string) (string, error) {
	var e queue.Event
	switch r.Action {
	case "run":
		e = queue.RunSchedule{Name: r.Name}
	case "pause":
		e = queue.PauseSchedule{Name: r.Name}
	case "resume":
		e = queue.ResumeSchedule{Name: r.Name}
	default:
		return "", fmt.Errorf("a schedule has no action %.20q: it is run, pause or resume", r.Action)
	}
	id, err := s.source.Change(e)
	if err != nil {
		return "", err
	}
	switch r.Action {
	case "run":
		s.note(journal.Queue, "%s starts schedule %s now", by, r.Name)
		return fmt.Sprintf("schedule %s is started as run %d", r.Name, id), nil
	case "pause":
		s.note(journal.Queue, "%s pauses schedule %s", by, r.Name)
		return fmt.Sprintf("schedule %s is paused", r.Name), nil
	}
	s.note(journal.Queue, "%s resumes schedule %s", by, r.Name)
	return fmt.Sprintf("schedule %s goes on", r.Name), nil
}

var errNoRegistry = errors.New("this coordinator knows no registry: it was started without --registry")

func (p promote) do(ctx context.Context, s *Server, by string) (string, error) {
	m := s.source.Models
	if m == nil {
		return "", errNoRegistry
	}
	if err := m.Promote(ctx, p.Model, p.Version, by, p.Reason); err != nil {
		return "", err
	}
	s.hub.read(ctx)
	s.note(journal.Coordinator, "%s promotes version %d of model %s", by, p.Version, p.Model)
	return fmt.Sprintf("version %d is the champion of %s", p.Version, p.Model), nil
}

func (b rollback) do(ctx context.Context, s *Server, by string) (string, error) {
	m := s.source.Models
	if m == nil {
		return "", errNoRegistry
	}
	version, err := m.Rollback(ctx, b.Model, by)
	if err != nil {
		return "", err
	}
	s.hub.read(ctx)
	s.note(journal.Coordinator, "%s rolls model %s back to version %d", by, b.Model, version)
	return fmt.Sprintf("version %d is the champion of %s again", version, b.Model), nil
}
