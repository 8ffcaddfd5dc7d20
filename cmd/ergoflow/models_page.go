package main

import (
	"context"
	"slices"

	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/coordinator/dashboard"
	"github.com/ergoflow/ergoflow/internal/hostport"
	"github.com/ergoflow/ergoflow/model/registry"
)

// shownVersions is how many versions of a model the coordinator's page shows, beside its champion.
const shownVersions = 10

// modelsForPage is a registry as the coordinator's page takes it.
func modelsForPage(dir string) (*dashboard.Models, error) {
	r, err := registry.Open(dir)
	if err != nil {
		return nil, err
	}
	return &dashboard.Models{
		List: func(ctx context.Context) ([]dashboard.Model, error) {
			all, err := r.List(ctx, "")
			return shownModels(all), err
		},
		Promote: func(ctx context.Context, model string, version int, by, reason string) error {
			p := registry.Promotion{Model: model, Number: version, By: by}
			if reason != "" {
				p.Reasons = []string{reason}
			}
			return r.Promote(ctx, p)
		},
		Rollback: func(ctx context.Context, model, by string) (int, error) {
			e, err := r.Rollback(ctx, model, registry.Champion, by)
			return e.Version, err
		},
	}, nil
}

// shownModels groups versions by model, the newest first.
func shownModels(all []registry.Version) (models []dashboard.Model) {
	for _, v := range slices.Backward(all) {
		i := slices.IndexFunc(models, func(m dashboard.Model) bool { return m.Name == v.Model })
		if i < 0 {
			i = len(models)
			models = append(models, dashboard.Model{Name: v.Model})
		}
		m := &models[i]
		champion := slices.Contains(v.Aliases, registry.Champion)
		if champion {
			m.Champion = v.Number
		}
		if len(m.Versions) >= shownVersions && !champion {
			m.More++
			continue
		}
		m.Versions = append(m.Versions, dashboard.Version{Number: v.Number, Created: v.Created, Step: int64(v.Step),
			Aliases: append([]string{}, v.Aliases...), Decision: v.Decision, Metrics: metricsOf(v)})
	}
	slices.Reverse(models) // by name again
	return models
}

// pageURL is where a coordinator shows its page.
func pageURL(a coordinator.Addresses) string {
	if secured := a.Join != ""; secured && !hostport.IsLoopback(a.HTTP) {
		return "https://" + a.HTTP
	}
	return "http://" + a.HTTP
}
