package reproduce

import (
	"context"
	"encoding/json"
	"errors"
	"html/template"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/evaluation/evaluate"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/report"
	"github.com/ergoflow/ergoflow/model/report/studies"
	"github.com/ergoflow/ergoflow/model/training/state"
)

// tiny is a study that two seeds of untrained networks are enough for.
func tiny(t *testing.T) studies.Study {
	t.Helper()
	var columns []studies.ColumnSpec
	for _, key := range []string{"sinkhorn", "w2"} {
		columns = append(columns, studies.ColumnSpec{Metric: metric(t, key), Aggregate: studies.Mean}, studies.ColumnSpec{Metric: metric(t, key), Aggregate: studies.Median})
	}
	for _, key := range []string{"solve_seconds", "simulated_steps", "sequential_steps"} {
		columns = append(columns, studies.ColumnSpec{Metric: metric(t, key)})
	}
	return studies.Study{
		Name: "tiny", Title: "a study of the test",
		Runs: []studies.RunSpec{{
			Name: "vn1d", Experiment: "vn1d",
			Set: []string{"data.functions=64", "evaluation.samples=128", "evaluation.functions=4", "data.held_out=4"},
			Evaluations: []studies.EvaluationSpec{
				{Name: "euler", Set: []string{"evaluation.solver=euler-2"}, Kinds: []evaluate.Kind{evaluate.Model}},
				{Name: "budgets", Kinds: []evaluate.Kind{evaluate.MCMC}, Budgets: []studies.MCMCBudget{{Name: "short", DT: 0.01, Steps: 100}, {Name: "long", DT: 0.01, Steps: 400}}},
			},
		}},
		Costs: []studies.CostFigure{{Name: "costs", Error: evaluate.W2Exact, Points: []studies.CostFigurePoint{
			{Series: "by steps", RowSpec: studies.RowSpec{Name: "long one", Evaluation: "budgets", Kind: evaluate.MCMC, Label: "long"}},
			{Series: "by network", RowSpec: studies.RowSpec{Name: "network", Kind: evaluate.Model}},
		}}},
		Figures:       map[string]studies.FigureNote{"costs": {Paper: "fig:none", Note: "A note of the test."}},
		ConfiguredIn:  "tab:some",
		Configuration: map[string]string{"updates": "32,256", "sensors": "none"},
		Tables: []studies.TableSpec{{
			ID: "tiny", Title: "a table of the test", Source: "tab:none", Columns: columns,
			Rows: []studies.RowSpec{
				{Name: "rk4", Kind: evaluate.Model},
				{Name: "euler", Evaluation: "euler", Kind: evaluate.Model},
				{Name: "long", Evaluation: "budgets", Kind: evaluate.MCMC, Label: "long"},
				{Name: "none", Evaluation: "budgets", Kind: evaluate.MCMC, Label: "no such row"},
			},
		}},
	}
}

// bench makes the tiny study with a trainer that is no trainer.
type bench struct {
	t      *testing.T
	o      Options
	trains int
	says   []string
}

func newBench(t *testing.T, dir string) *bench {
	b := &bench{t: t}
	b.o = Options{
		Studies: []studies.Study{tiny(t)}, Preset: "smoke", Seeds: 2, Dir: Directory(dir),
		Train: func(_ context.Context, e experiment.Experiment) ([]byte, []report.StageTime, error) {
			b.trains++
			return initial(t, e), []report.StageTime{{Name: "train", Took: 3 * time.Second}}, nil
		},
		Open: func() (*backend.Backend, simulate.Simulator, error) {
			opened, err := backend.Open(backend.Go)
			return opened, simulate.Fastest(), err
		},
		Say: func(line string) { b.says = append(b.says, line) },
	}
	return b
}

// initial is the state before the first step with the step of the last.
func initial(t *testing.T, e experiment.Experiment) []byte {
	t.Helper()
	st := state.Fresh(e.Velocity().Layout(), e.Seed)
	st.Step, st.Run = ergoflow.Step(e.Steps()), e.Hash()
	st.Losses = slices.Repeat([]float64{2}, e.Steps())
	st.Normalisation = shard.Normalisation{"drift": {Std: 3}, "diffusion": {Mean: 1, Std: 1}}
	var err error
	if st.Config, err = json.Marshal(e); err != nil {
		t.Fatal(err)
	}
	encoded, err := st.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return encoded
}

func (b *bench) make() *Document {
	b.t.Helper()
	doc, err := Make(b.t.Context(), b.o)
	if err != nil {
		b.t.Fatal(err)
	}
	return doc
}

// evaluations are the finished ones with the times of their results.
func (b *bench) evaluations() map[string]time.Time {
	times := map[string]time.Time{}
	paths, _ := filepath.Glob(filepath.Join(string(b.o.Dir), "evaluations", "*", "judged.json"))
	for _, p := range paths {
		info, err := os.Stat(p)
		if err != nil {
			b.t.Fatal(err)
		}
		times[p] = info.ModTime()
	}
	return times
}

func TestMake(t *testing.T) {
	b := newBench(t, t.TempDir())
	doc := b.make()
	if b.trains != 2 || doc.Missing != 0 {
		t.Errorf("%d trainings, %d missing", b.trains, doc.Missing)
	}
	made := b.evaluations()
	if len(made) != 5 { // three of the first seed, two of the second
		t.Errorf("%d evaluations: %v", len(made), b.says)
	}
	table := doc.Studies[0].Tables[0]
	for i, seeds := range []int{2, 2, 1, 0} {
		line := table.Rows[i]
		for j, c := range line.Cells[:4] {
			switch {
			case seeds == 0 && c.Ours != nil:
				t.Errorf("%s has a number: %+v", line.Name, c.Ours)
			case seeds == 0:
			case c.Ours == nil || len(c.Ours.Seeds) != seeds || c.Ours.Interval == nil:
				t.Errorf("%s, %s: %+v", line.Name, table.Columns[j].Name, c.Ours)
			case c.Ours.Interval[0] > c.Ours.Value || c.Ours.Interval[1] < c.Ours.Value:
				t.Errorf("%s, %s: %v is not in %v", line.Name, table.Columns[j].Name, c.Ours.Value, *c.Ours.Interval)
			}
		}
	}
	first := table.Rows[0].Cells[0]
	if *first.Paper != 0.018 || first.Ours.Value != (first.Ours.Seeds[0]+first.Ours.Seeds[1])/2 {
		t.Errorf("first cell %+v, %v", first.Ours, *first.Paper)
	}
	if got := table.Rows[2].Cells[5].Ours.Value; got != 400*64 {
		t.Errorf("the long budget is %v steps", got)
	}
	b.checkReport(doc)

	// A second call trains and evaluates nothing; it may write the report again.
	b.make()
	if b.trains != 2 {
		t.Error("trained again")
	}
	for p, at := range b.evaluations() {
		if !at.Equal(made[p]) {
			t.Errorf("%s was made again", p)
		}
	}
	// More seeds make only themselves.
	b.o.Seeds = 3
	b.make()
	if b.trains != 3 || len(b.evaluations()) != 7 {
		t.Errorf("a third seed: %d trainings, %d evaluations", b.trains, len(b.evaluations()))
	}
}

// checkReport: every table labels our numbers as scaled, and nothing in the
// page comes from elsewhere.
func (b *bench) checkReport(doc *Document) {
	t := b.t
	t.Helper()
	page, err := os.ReadFile(b.o.Dir.Page())
	if err != nil {
		t.Fatal(err)
	}
	text := string(page)
	// Of the table and of the configuration.
	if strings.Count(text, "<th>ours, scaled</th>") != len(doc.Studies[0].Tables[0].Columns)+1 || strings.Contains(text, "<th>ours</th>") {
		t.Error("not every column of ours says that it is scaled")
	}
	for _, want := range []string{template.HTMLEscapeString(doc.Studies[0].Scale), `<td class="paper">0.018</td>`, "seeds ", "Mean W2 to the exact law", "A note of the test. The paper&#39;s figure: fig:none.", "<td>updates</td><td>16</td><td class=\"paper\">32,256</td>", "data:image/png;base64,", `href="tiny/percentiles.csv"`} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if from := regexp.MustCompile(`(src|href)="(https?:)?//[^"]*`).FindString(text); from != "" || strings.Contains(text, "<script") {
		t.Errorf("the page takes something from elsewhere: %s", from)
	}
	for _, name := range []string{"tiny.md", "reproduce.json", "tiny/percentiles.csv", "tiny/percentiles.png", "tiny/loss.csv"} {
		if info, err := os.Stat(filepath.Join(string(b.o.Dir), "report", name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	points, err := os.ReadFile(filepath.Join(string(b.o.Dir), "report", "tiny", "costs.csv"))
	if err != nil || !strings.Contains(string(points), "\nby steps,long one,") || !strings.Contains(string(points), "\nby network,network,") {
		t.Errorf("costs: %v\n%s", err, points)
	}
	markdown, err := os.ReadFile(filepath.Join(string(b.o.Dir), "report", "tiny.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(markdown), "\n## Figures\n\nFirst seed, scaled.\n") || !strings.Contains(text, "Figures: First seed, scaled.") {
		t.Error("figures of several seeds do not say of which they are")
	}
	lines := strings.Split(string(markdown), "\n")
	i := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "| |") })
	for _, line := range lines[i : i+6] {
		if strings.Count(line, "|") != strings.Count(lines[i], "|") {
			t.Errorf("a line with another number of cells: %s", line)
		}
	}
}

// What fails or is cancelled is begun again where it was, and says how often.
func TestGoesOn(t *testing.T) {
	b := newBench(t, t.TempDir())
	b.o.Seeds = 1
	train := b.o.Train
	broken := errors.New("broken")
	b.o.Train = func(context.Context, experiment.Experiment) ([]byte, []report.StageTime, error) {
		return nil, nil, broken
	}
	if _, err := Make(t.Context(), b.o); !errors.Is(err, broken) {
		t.Fatalf("error %v", err)
	}
	b.o.Train = train
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	b.o.Say = func(line string) {
		if strings.HasSuffix(line, "evaluate euler") {
			cancel()
		}
	}
	if _, err := Make(ctx, b.o); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
	before := b.evaluations()
	if len(before) != 1 {
		t.Fatalf("%d evaluations before the end", len(before))
	}
	doc := b.make()
	if b.trains != 1 {
		t.Errorf("%d trainings", b.trains)
	}
	for p, at := range before {
		if !b.evaluations()[p].Equal(at) {
			t.Error("what was evaluated is evaluated again")
		}
	}
	if fact := doc.Studies[0].Runs[0]; fact.Attempts != 2 || fact.seconds("train") != 3 || fact.Loss != 2 {
		t.Errorf("training %+v", fact.TrainingRecord)
	}
}

// Runs may be made one at a time. Each leaves the others as they are, and the document has all
// that exist.
func TestRunsByName(t *testing.T) {
	b := newBench(t, t.TempDir())
	b.o.Seeds = 1
	study := &b.o.Studies[0]
	other := study.Runs[0]
	other.Name, other.Evaluations = "other", nil
	other.Set = append(slices.Clone(other.Set), "training.learning_rate=0.002")
	study.Runs = append(study.Runs, other)
	study.Tables[0].Rows = append(study.Tables[0].Rows, studies.RowSpec{Name: "other", Run: "other", Kind: evaluate.Model})
	has := func(doc *Document, row int) bool { return doc.Studies[0].Tables[0].Rows[row].Cells[0].Ours != nil }

	b.o.Runs = []string{"other"}
	doc := b.make()
	if b.trains != 1 || doc.Missing != 1 || has(doc, 0) || !has(doc, 4) || len(b.evaluations()) != 1 {
		t.Errorf("the second alone: %d trainings, %d missing, %v", b.trains, doc.Missing, b.says)
	}
	b.o.Runs = nil
	if doc = b.make(); b.trains != 2 || doc.Missing != 0 || !has(doc, 0) || !has(doc, 4) {
		t.Errorf("then all: %d trainings, %d missing, %v", b.trains, doc.Missing, b.says)
	}
	b.o.Runs = []string{"other", "third"}
	if _, err := Make(t.Context(), b.o); !errors.Is(err, ErrUnknownRun) || !strings.Contains(err.Error(), `"third" (known: vn1d, other)`) {
		t.Errorf("an unknown run: %v", err)
	}
}

// A state of another run is refused before it is kept.
func TestWrongState(t *testing.T) {
	b := newBench(t, t.TempDir())
	b.o.Train = func(_ context.Context, e experiment.Experiment) ([]byte, []report.StageTime, error) {
		e.Seed = 77
		return initial(t, e), nil, nil
	}
	if _, err := Make(t.Context(), b.o); err == nil || !strings.Contains(err.Error(), "training ended with a state of run") {
		t.Fatalf("error %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(string(b.o.Dir), "runs", "*", "state.safetensors")); len(left) > 0 {
		t.Errorf("it was kept: %v", left)
	}
}

// A state that lies in the place of another run's, of the same network even, is
// not evaluated as that.
func TestStateOfAnotherRun(t *testing.T) {
	b := newBench(t, t.TempDir())
	b.o.Seeds = 1
	var other []byte
	train := b.o.Train
	b.o.Train = func(ctx context.Context, e experiment.Experiment) ([]byte, []report.StageTime, error) {
		wrong := e
		wrong.Seed = 77
		other = initial(t, wrong)
		return train(ctx, e)
	}
	b.make()
	states, _ := filepath.Glob(filepath.Join(string(b.o.Dir), "runs", "*", "state.safetensors"))
	if err := os.RemoveAll(filepath.Join(string(b.o.Dir), "evaluations")); err != nil {
		t.Fatal(err)
	}
	for _, damaged := range [][]byte{other, other[:len(other)/2]} {
		if err := os.WriteFile(states[0], damaged, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Make(t.Context(), b.o); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), states[0]) {
			t.Errorf("%d bytes of another run: error %v", len(damaged), err)
		}
	}
}

// Of a record, which has no states, only what an evaluation needs is trained again.
func TestStatesNotKept(t *testing.T) {
	b := newBench(t, t.TempDir())
	b.make()
	states, _ := filepath.Glob(filepath.Join(string(b.o.Dir), "runs", "*", "state.safetensors"))
	for _, path := range states {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	b.make()
	if b.trains != 2 {
		t.Errorf("%d trainings, though nothing was missing", b.trains)
	}
	job, err := planRun(tiny(t), tiny(t).Runs[0], "smoke", 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(b.o.Dir.evaluation(job.Evaluations[0].key())); err != nil {
		t.Fatal(err)
	}
	if doc := b.make(); b.trains != 3 || doc.Missing != 0 || len(b.evaluations()) != 5 {
		t.Errorf("%d trainings, %d missing, %d evaluations", b.trains, doc.Missing, len(b.evaluations()))
	}
}

// Damaged files are named, not trusted.
func TestDamage(t *testing.T) {
	b := newBench(t, t.TempDir())
	b.o.Seeds = 1
	b.make()
	for _, pattern := range []string{"evaluations/*/judged.json", "evaluations/*/results.json", "runs/*/training.json"} {
		paths, _ := filepath.Glob(filepath.Join(string(b.o.Dir), pattern))
		whole, err := os.ReadFile(paths[0])
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(paths[0], whole[:len(whole)/2], 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Make(t.Context(), b.o); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), paths[0]) {
			t.Errorf("%s cut in half: %v", pattern, err)
		}
		if err := os.WriteFile(paths[0], whole, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b.make()
}
