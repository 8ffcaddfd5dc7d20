package registry

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// A plain registry is what the real one must equal: maps, without files.
type plain struct {
	last     int
	versions map[int]plainVersion
	keys     map[string]int
	aliases  map[string][]int // what a rollback goes back to, the present version last; 0: removed
}

type plainVersion struct {
	seed   int
	pinned bool
	tags   map[string]string
}

func (p *plain) at(alias string) int {
	if stack := p.aliases[alias]; len(stack) > 0 {
		return stack[len(stack)-1]
	}
	return 0
}

// previous is the length of an alias's stack after a rollback; 0: there is nothing to go back to.
func (p *plain) previous(alias string) int {
	stack := p.aliases[alias]
	for n := len(stack) - 1; n > 0; n-- {
		if _, here := p.versions[stack[n-1]]; here && stack[n-1] != p.at(alias) {
			return n
		}
	}
	return 0
}

func (p *plain) prune(keep int) {
	all := slices.Sorted(maps.Keys(p.versions))
	for _, n := range all[:max(len(all)-keep, 0)] {
		needed := p.versions[n].pinned
		for alias, stack := range p.aliases {
			needed = needed || p.at(alias) == n
			if back := p.previous(alias); back > 0 {
				needed = needed || stack[back-1] == n
			}
		}
		if !needed {
			defer delete(p.versions, n)
			delete(p.keys, example("", p.versions[n].seed).Key)
		}
	}
}

// Random operations leave the registry equal to the plain one, by everything that it shows.
func TestOperations(t *testing.T) {
	worlds := 12
	if testing.Short() {
		worlds = 2
	}
	for seed := range worlds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(uint64(seed), 1))
			r := open(t, t.TempDir())
			p := &plain{versions: map[int]plainVersion{}, keys: map[string]int{}, aliases: map[string][]int{}}
			for range 80 {
				p.operate(t, r, random)
				p.compare(t, r)
			}
			verified(t, r)
		})
	}
}

func (p *plain) operate(t *testing.T, r *Registry, random *rand.Rand) {
	t.Helper()
	n, alias := 1+random.IntN(p.last+1), []string{Champion, "challenger"}[random.IntN(2)]
	v, here := p.versions[n]
	var err, want error
	if !here {
		want = ErrNotFound
	}
	if p.last == 0 {
		want = ErrNoRegistry
	}
	operation := random.IntN(9)
	switch operation {
	case 0, 1, 2:
		seed := random.IntN(40)
		added := add(t, r, "m", seed)
		number, known := p.keys[example("", seed).Key]
		if !known {
			p.last++
			number = p.last
			p.keys[example("", seed).Key] = number
			p.versions[number] = plainVersion{seed: seed}
		}
		if added.Number != number {
			t.Fatalf("seed %d became version %d, want %d", seed, added.Number, number)
		}
		return
	case 3, 4:
		err = r.Promote(t.Context(), Promotion{Model: "m", Number: n, Alias: alias})
		if here && p.at(alias) != n {
			p.aliases[alias] = append(p.aliases[alias], n)
		}
	case 5:
		_, err = r.Rollback(t.Context(), "m", alias, "")
		back := p.previous(alias)
		switch {
		case p.last == 0:
		case p.aliases[alias] == nil:
			want = ErrNotFound
		case back == 0:
			want = ErrNoPrevious
		default:
			want = nil
			p.aliases[alias] = p.aliases[alias][:back]
		}
	case 6:
		err = r.RemoveAlias(t.Context(), "m", alias, "")
		if p.last > 0 {
			want = nil
			if p.at(alias) == 0 {
				want = ErrNotFound
			} else {
				p.aliases[alias] = append(p.aliases[alias], 0)
			}
		}
	case 7:
		pinned := random.IntN(2) == 0
		err = errors.Join(r.Pin(t.Context(), "m", n, pinned), r.Tag(t.Context(), "m", n, map[string]string{"a": fmt.Sprint(p.last)}))
		if here {
			v.pinned, v.tags = pinned, map[string]string{"a": fmt.Sprint(p.last)}
			p.versions[n] = v
		}
	case 8:
		keep := 1 + random.IntN(6)
		_, err = r.Prune(t.Context(), keep, false)
		if p.last > 0 {
			want = nil
			p.prune(keep)
		}
	}
	if !errors.Is(err, want) {
		t.Fatalf("operation %d with version %d and %s: error %v, want %v", operation, n, alias, err, want)
	}
}

func (p *plain) compare(t *testing.T, r *Registry) {
	t.Helper()
	all, err := r.List(t.Context(), "")
	if err != nil && (p.last > 0 || !errors.Is(err, ErrNoRegistry)) || !slices.Equal(numbers(all), slices.Sorted(maps.Keys(p.versions))) {
		t.Fatalf("error %v, versions %v, want %v", err, numbers(all), slices.Sorted(maps.Keys(p.versions)))
	}
	for _, v := range all {
		want := p.versions[v.Number]
		var aliases []string
		for _, alias := range []string{"challenger", Champion} {
			if p.at(alias) == v.Number {
				aliases = append(aliases, alias)
			}
		}
		if v.Pinned != want.pinned || !maps.Equal(v.Tags, want.tags) || !slices.Equal(v.Aliases, aliases) || int(v.Step) != want.seed || !r.hasWeights(t.Context(), v.Weights) {
			t.Fatalf("version %+v, want %+v, aliases %v", v, want, aliases)
		}
	}
}
