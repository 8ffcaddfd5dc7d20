package registry

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func champion(t testing.TB, r *Registry, model string) int {
	t.Helper()
	_, number, err := r.Resolve(t.Context(), model)
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrNoRegistry) {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	return number
}

func TestPromote(t *testing.T) {
	r := open(t, t.TempDir())
	for seed := range 3 {
		add(t, r, "vn1d", seed)
	}
	two := 2
	for _, step := range []struct {
		p        Promotion
		want     error
		champion int
	}{
		{Promotion{Number: 1, By: "retrain", Reasons: []string{"the first"}}, nil, 1},
		{Promotion{Number: 1}, nil, 1}, // changes nothing
		{Promotion{Number: 4}, ErrNotFound, 1},
		{Promotion{Number: 2, Against: &two}, ErrChanged, 1},
		{Promotion{Number: 2, Fence: 1}, ErrFenced, 1},
		{Promotion{Number: 2, Key: "second"}, nil, 2},
		{Promotion{Number: 1, Against: &two}, nil, 1},
		{Promotion{Number: 2, Key: "second"}, nil, 1}, // was done, and undone since
		{Promotion{Number: 3, Alias: "challenger"}, nil, 1},
		{Promotion{Number: 3, Alias: "3"}, ErrInvalid, 1},
	} {
		step.p.Model = "vn1d"
		err := r.Promote(t.Context(), step.p)
		if !errors.Is(err, step.want) || champion(t, r, "vn1d") != step.champion {
			t.Errorf("%+v: error %v, champion %d", step.p, err, champion(t, r, "vn1d"))
		}
	}
	entries, err := r.History(t.Context(), "vn1d", Champion)
	if err != nil || len(entries) != 3 || entries[0].By != "retrain" || entries[0].Reasons[0] != "the first" || entries[2].Before != 2 || entries[2].Version != 1 {
		t.Errorf("error %v, history %+v", err, entries)
	}
	if all, err := r.History(t.Context(), "vn1d", ""); err != nil || len(all) != 4 || all[3].Alias != "challenger" {
		t.Errorf("error %v, history %+v", err, all)
	}
	verified(t, r)
}

func TestRollback(t *testing.T) {
	r := open(t, t.TempDir())
	for seed := range 4 {
		add(t, r, "vn1d", seed)
	}
	set := func(number int) {
		t.Helper()
		if err := r.SetAlias(t.Context(), "vn1d", number, Champion, "me"); err != nil {
			t.Fatal(err)
		}
	}
	back := func(want int) {
		t.Helper()
		e, err := r.Rollback(t.Context(), "vn1d", "", "me")
		if want == 0 {
			if !errors.Is(err, ErrNoPrevious) {
				t.Errorf("error %v, want ErrNoPrevious", err)
			}
			return
		}
		if err != nil || e.Version != want || champion(t, r, "vn1d") != want {
			t.Errorf("error %v, entry %+v, champion %d, want %d", err, e, champion(t, r, "vn1d"), want)
		}
	}
	if _, err := r.Rollback(t.Context(), "vn1d", "", "me"); !errors.Is(err, ErrNotFound) {
		t.Errorf("without a champion: %v", err)
	}
	set(1)
	back(0)
	set(2)
	set(3)
	back(2)
	back(1) // not to 3, which was undone
	back(0)
	set(4)
	back(1)
	set(3)
	if err := r.RemoveAlias(t.Context(), "vn1d", Champion, "me"); err != nil || champion(t, r, "vn1d") != 0 {
		t.Fatal(err, champion(t, r, "vn1d"))
	}
	if err := r.RemoveAlias(t.Context(), "vn1d", Champion, "me"); !errors.Is(err, ErrNotFound) {
		t.Errorf("removed twice: %v", err)
	}
	back(3) // a removal is undone too
	back(1)
	entries, err := r.History(t.Context(), "vn1d", Champion)
	var versions []string
	for _, e := range entries {
		versions = append(versions, e.Action+" "+string(rune('0'+e.Version)))
	}
	if want := "set 1,set 2,set 3,rollback 2,rollback 1,set 4,rollback 1,set 3,remove 0,rollback 3,rollback 1"; err != nil || strings.Join(versions, ",") != want {
		t.Errorf("error %v, history %v", err, versions)
	}
	verified(t, r)
}

func TestPinAndTag(t *testing.T) {
	r := open(t, t.TempDir())
	before := add(t, r, "vn1d", 1)
	tag := func(tags map[string]string) error { return r.Tag(t.Context(), "vn1d", 1, tags) }
	if err := errors.Join(r.Pin(t.Context(), "vn1d", 1, true), tag(map[string]string{"a": "b", "c": "d"}), tag(map[string]string{"c": ""})); err != nil {
		t.Fatal(err)
	}
	v, err := r.Get(t.Context(), "vn1d@1")
	if err != nil || !v.Pinned || len(v.Tags) != 1 || v.Tags["a"] != "b" || !slices.Equal(v.Imports, before.Imports) || string(v.Config) != string(before.Config) {
		t.Errorf("error %v, %+v", err, v)
	}
	if err := tag(map[string]string{"a/b": "c"}); !errors.Is(err, ErrInvalid) {
		t.Errorf("error %v", err)
	}
	if err := r.Pin(t.Context(), "vn1d", 2, true); !errors.Is(err, ErrNotFound) {
		t.Errorf("error %v", err)
	}
	verified(t, r)
}
