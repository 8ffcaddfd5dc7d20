package serve

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// models are those that are served, by name and version. A model that another one has replaced
// is closed after its last request.
type models struct {
	mu  sync.Mutex
	all map[string]*served // by NAME@VERSION
	// current is the version of each name that requests without one get.
	current map[string]string
}

// served is a model and its requests under way.
type served struct {
	*Model
	requests int
	removed  bool
}

func newModels() *models {
	return &models{all: map[string]*served{}, current: map[string]string{}}
}

func key(name, version string) string { return name + "@" + version }

// get finds the model that a request names, and keeps it until leave.
func (c *models) get(ref string) (m *Model, leave func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	name, version, _ := strings.Cut(ref, "@")
	if ref == "" && len(c.current) == 1 {
		for name = range c.current {
		}
	}
	if version == "" || version == "champion" {
		version = c.current[name]
	}
	s, ok := c.all[key(name, version)]
	switch {
	case ok:
	case len(c.all) == 0:
		p := newProblem(http.StatusServiceUnavailable, "no model is ready yet")
		p.Hint = "ask again after " + retryAfter + " s; /readyz says when"
		return nil, nil, p
	case ref == "":
		p := newProblem(http.StatusNotFound, "the request names no model")
		p.Hint = "give model one of " + strings.Join(c.names(), ", ")
		return nil, nil, p
	default:
		p := newProblem(http.StatusNotFound, fmt.Sprintf("there is no model %q", ref))
		p.Hint = "the models are " + strings.Join(c.names(), ", ")
		return nil, nil, p
	}
	s.requests++
	var once sync.Once
	return s.Model, func() { once.Do(func() { c.leave(s) }) }, nil
}

func (c *models) leave(s *served) {
	c.mu.Lock()
	s.requests--
	last := s.removed && s.requests == 0
	c.mu.Unlock()
	if last {
		s.close()
	}
}

// names are the references of all models. The caller holds the lock.
func (c *models) names() []string {
	var all []string
	for ref := range c.all {
		all = append(all, ref)
	}
	slices.Sort(all)
	return all
}

// put serves a model from now on, as the current one of its name, and no longer the version
// before.
func (c *models) put(m *Model) {
	c.mu.Lock()
	old := c.all[key(m.Name, c.current[m.Name])]
	delete(c.all, key(m.Name, c.current[m.Name]))
	c.all[key(m.Name, m.Version)] = &served{Model: m}
	c.current[m.Name] = m.Version
	c.mu.Unlock()
	c.end(old)
}

// remove serves a name no longer.
func (c *models) remove(name string) {
	c.mu.Lock()
	old := c.all[key(name, c.current[name])]
	delete(c.all, key(name, c.current[name]))
	delete(c.current, name)
	c.mu.Unlock()
	c.end(old)
}

// end closes a model that was taken out, now or after its last request.
func (c *models) end(old *served) {
	if old == nil {
		return
	}
	c.mu.Lock()
	old.removed = true
	idle := old.requests == 0
	c.mu.Unlock()
	if idle {
		old.close()
	}
}

// versions are the current versions by name.
func (c *models) versions() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make(map[string]string, len(c.current))
	for name, version := range c.current {
		all[name] = version
	}
	return all
}

// list is all models by name.
func (c *models) list() []*Model {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []*Model
	for _, ref := range c.names() {
		all = append(all, c.all[ref].Model)
	}
	return all
}

// close ends all models.
func (c *models) close() {
	for name := range c.versions() {
		c.remove(name)
	}
}
