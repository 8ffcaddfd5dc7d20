package serve

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/ergoflow/ergoflow/model/registry"
)

// One serves a single state, and waits for the end of ctx.
func One(source Source) func(ctx context.Context, s *Server) error {
	return func(ctx context.Context, s *Server) error {
		if err := s.Add(ctx, source); err != nil {
			return err
		}
		<-ctx.Done()
		return nil
	}
}

// look is how often a server looks for new champions.
const look = 2 * time.Second

// Champions serves the champions of all models of a registry, and follows their promotions
// until ctx ends. If the server cannot load a champion, the one before stays, and the server
// tries the next one that is promoted. It fails only if nothing could be served in the
// beginning.
func Champions(r *registry.Registry) func(ctx context.Context, s *Server) error {
	return func(ctx context.Context, s *Server) error {
		refused := map[string]string{} // by name, the version that could not be loaded
		begin := true
		for {
			loaded, err := s.follow(ctx, r, refused)
			if begin && loaded == 0 && ctx.Err() == nil {
				if err == nil {
					err = fmt.Errorf("registry %s: no model has a champion", r.Dir())
				}
				return err
			}
			begin = false
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(look):
			}
		}
	}
}

// follow loads the champions that are not served yet, and returns how many are served.
func (s *Server) follow(ctx context.Context, r *registry.Registry, refused map[string]string) (served int, err error) {
	all, err := r.List(ctx, "")
	if err != nil {
		if len(s.models.versions()) > 0 && ctx.Err() == nil {
			s.config.Log.Warn("the registry cannot be read; the models that are served stay", "reason", err)
		}
		return len(s.models.versions()), err
	}
	current, champions := s.models.versions(), map[string]bool{}
	var failed error
	for _, v := range all {
		if !isChampion(v) {
			continue
		}
		version := strconv.Itoa(v.Number)
		champions[v.Model] = true
		if current[v.Model] == version || refused[v.Model] == version {
			continue
		}
		encoded, err := r.Load(ctx, v)
		if err == nil {
			err = s.Add(ctx, Source{Name: v.Model, Version: version, Encoded: encoded, Tables: filepath.Join(r.Dir(), "tables")})
		}
		if err != nil && ctx.Err() == nil {
			refused[v.Model] = version
			failed = errors.Join(failed, err)
			s.config.Log.Error("a champion cannot be served; the version before stays", "model", v.Model, "version", version, "reason", err)
		}
	}
	for name := range current {
		if !champions[name] {
			s.config.Log.Info("a model has no champion any more and is no longer served", "model", name)
			s.models.remove(name)
		}
	}
	return len(s.models.versions()), failed
}

func isChampion(v registry.Version) bool {
	for _, alias := range v.Aliases {
		if alias == registry.Champion {
			return true
		}
	}
	return false
}
