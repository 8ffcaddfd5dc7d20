package replica

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/cpu"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/allreduce"
	"github.com/ergoflow/ergoflow/model/training/state"
)

var recordNumerics = flag.Bool("numerics.record", false, "record which bits ergoflow.Numerics stands for on this kind of processor")

// numericsFile has the bits that each Numerics stands for.
type numericsFile map[uint32]*recordedBits

// recordedBits are SHA-256 by what they are of. Samples have the same bits on every processor; what
// is trained has those of one kind.
type recordedBits struct {
	Samples map[string]string            `json:"samples"`
	Trained map[string]map[string]string `json:"trained"` // by processor
}

// TestBitsOfNumerics keeps ergoflow.Numerics honest. Workers of two versions train together if
// that number is the same, so the same plan must then give the same bits: samples, and the
// parameters after some steps in each way of adding gradients up.
func TestBitsOfNumerics(t *testing.T) {
	samples, parameters := make(map[string]string), make(map[string]string)
	for _, c := range []struct {
		name, experiment string
		sets             []string
		updates          int
	}{
		{"vn1d", "vn1d", nil, 6},
		{"vn1d, reproducible", "vn1d", []string{"training.reproducible=true", "data.shards=8"}, 6},
		{"vn1d, in rounds", "vn1d", []string{"training.sync_every=2", "training.steps=8", "training.checkpoint_every=8"}, 3},
		{"cn2d", "cn2d", nil, 2},
		{"particles64d", "particles64d", nil, 1},
	} {
		r := trainableOn(t, goBackend(t), dataReplicaOf(t, c.experiment, c.sets...))
		samples[c.name], parameters[c.name] = sumOfSamples(r), trained(t, r, c.updates)
	}
	path := filepath.Join("testdata", "numerics.json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var known numericsFile
	if err := json.Unmarshal(text, &known); err != nil {
		t.Fatal(err)
	}
	processor := processorKind()
	if *recordNumerics {
		known.record(t, path, processor, samples, parameters)
	}
	want := known[ergoflow.Numerics]
	if want == nil {
		t.Fatalf("no bits are recorded for numerics %d: go test ./worker/replica -run BitsOfNumerics -args -numerics.record", ergoflow.Numerics)
	}
	compareBits(t, "samples", samples, want.Samples)
	if want.Trained[processor] == nil {
		t.Skipf("no parameters are recorded for numerics %d on %s", ergoflow.Numerics, processor)
	}
	compareBits(t, "parameters", parameters, want.Trained[processor])
}

// processorKind names what the choice of kernels depends on, in the libraries, too.
func processorKind() string {
	kind := []string{runtime.GOARCH}
	for _, feature := range []struct {
		name string
		has  bool
	}{
		{"avx2", cpu.X86.HasAVX2}, {"fma", cpu.X86.HasFMA}, {"avx512", cpu.X86.HasAVX512F}, {"simd", strings.Contains(runtime.Version(), "simd")},
	} {
		if feature.has {
			kind = append(kind, feature.name)
		}
	}
	return strings.Join(kind, " ")
}

func compareBits(t *testing.T, of string, got, want map[string]string) {
	t.Helper()
	for _, what := range slices.Sorted(maps.Keys(got)) {
		if got[what] != want[what] {
			t.Errorf("%s of %s have the bits %s, and with numerics %d they had %q. Workers of the last version compute others: "+
				"if that is meant, raise ergoflow.Numerics and record its bits (CONTRIBUTING.md)", of, what, got[what], ergoflow.Numerics, want[what])
		}
	}
}

// record adds what is missing: what a number stands for does not change.
func (f numericsFile) record(t *testing.T, path, processor string, samples, parameters map[string]string) {
	t.Helper()
	if f[ergoflow.Numerics] == nil {
		f[ergoflow.Numerics] = &recordedBits{samples, make(map[string]map[string]string)}
	}
	if all := f[ergoflow.Numerics].Trained; all[processor] == nil {
		all[processor] = parameters
	}
	text, err := json.MarshalIndent(f, "", "  ")
	if err == nil {
		err = os.WriteFile(path, append(text, '\n'), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// sumOfSamples is the hash of a replica's shards.
func sumOfSamples(r *Replica) string {
	h := sha256.New()
	for _, s := range r.shards {
		for i := range s.Manifest().Count {
			for _, x := range s.Samples(i) {
				binary.Write(h, binary.LittleEndian, math.Float32bits(x))
			}
		}
	}
	return hex.EncodeToString(h.Sum(nil))[:32]
}

// trained is the hash of the parameters after that many updates by one rank, and of the moments.
func trained(t *testing.T, r *Replica, updates int) string {
	t.Helper()
	if err := r.Load(state.Fresh(r.Layout(), 1), 0); err != nil {
		t.Fatal(err)
	}
	ring, err := allreduce.NewInProcess().Listen("a").Join(t.Context(), allreduce.Identity{Generation: 1, World: 1}, []string{"a"}, allreduce.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var all []int
	for k := range r.plan.Shards {
		all = append(all, k)
	}
	batches := r.Batches(ctx, all)
	defer batches.Wait()
	defer cancel()
	for range updates {
		var u Update
		for i := range r.LocalSteps() {
			b, err := batches.Next(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if i < r.LocalSteps()-1 {
				err = r.Local(ctx, 0, b)
			} else {
				u, _, err = r.Compute(ctx, ring, b, NewStopwatch())
			}
			if err != nil {
				t.Fatal(err)
			}
			batches.Recycle(b)
		}
		u.Generation, u.Workers = 1, []ergoflow.WorkerID{"a"}
		if _, _, err := r.Apply(u); err != nil {
			t.Fatal(err)
		}
	}
	st, _, err := r.State()
	if err != nil {
		t.Fatal(err)
	}
	h := sha256.New()
	for _, v := range [][]float32{st.Parameters, st.M, st.V, st.Outer} {
		for _, x := range v {
			binary.Write(h, binary.LittleEndian, math.Float32bits(x))
		}
	}
	fmt.Fprint(h, st.Losses)
	return hex.EncodeToString(h.Sum(nil))[:32]
}
