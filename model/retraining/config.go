package retraining

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/data/imports"
	"github.com/ergoflow/ergoflow/data/store"
	"github.com/ergoflow/ergoflow/internal/notice"
	"github.com/ergoflow/ergoflow/internal/yamltext"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/registry"
	"github.com/ergoflow/ergoflow/model/registry/gate"
)

// Config is the file that `ergoflow retrain` reads. Paths in it are relative to the file.
type Config struct {
	Name       string      `yaml:"name"`     // of the model in the registry
	Registry   string      `yaml:"registry"` // directory, or s3://
	Dir        string      `yaml:"dir"`      // of data, runs, journal and reports
	Experiment Experiment  `yaml:"experiment"`
	Data       Data        `yaml:"data"`
	Start      Start       `yaml:"start"`
	Gate       gate.Config `yaml:"gate"`
	Budget     Budget      `yaml:"budget"`
	// Overlap says what happens while another retraining of the model runs.
	Overlap registry.Policy `yaml:"overlap"`
	Cluster Cluster         `yaml:"cluster"`
	// Keep is how many versions stay in the registry beside those that something needs; 0: all.
	Keep   int           `yaml:"keep"`
	Notify notice.Config `yaml:"notify"`

	path string // of the file
}

// Experiment names what is trained, as the arguments of `ergoflow train` do.
type Experiment struct {
	Name   string   `yaml:"name"`
	Preset string   `yaml:"preset"`
	Config string   `yaml:"config"` // YAML file
	Set    []string `yaml:"set"`    // path=value
}

// Data says where new data come from.
type Data struct {
	// Grow is how many new functions each retraining generates. They take the places of the
	// oldest.
	Grow int `yaml:"grow"`
	// Window is how many functions a retraining learns from, the newest; 0: the experiment's
	// data.functions.
	Window int `yaml:"window"`
	// Watch are directories of own samples.
	Watch []Watch `yaml:"watch"`
}

// Watch are own samples, and the directory into which users put files of them.
type Watch struct {
	Name string `yaml:"name"` // of the samples in the shard store
	Dir  string `yaml:"dir"`  // empty: what `ergoflow shards import` has stored under the name
}

// Cluster says where to train.
type Cluster struct {
	Addr    string `yaml:"addr"`    // control address of a coordinator; empty: processes on this machine
	Context string `yaml:"context"` // directory of credentials for it; empty: plain text
	Store   string `yaml:"store"`   // shard store that the workers read, as store.Parse has it; empty: a directory of its own in Config.Dir
	Workers int    `yaml:"workers"` // on this machine
	// WorkersFor bounds the workers of a coordinator that the training uses: N or MIN:MAX.
	// Empty: the coordinator's default.
	WorkersFor string `yaml:"workers_for"`
	Backend    string `yaml:"backend"`
	Engine     string `yaml:"engine"`
}

// Bounds are those of WorkersFor; nil: the coordinator's default.
func (c Cluster) Bounds() (*ergoflow.WorkerBounds, error) {
	if c.WorkersFor == "" {
		return nil, nil
	}
	b, err := ergoflow.ParseWorkerBounds(c.WorkersFor)
	return &b, err
}

// Bounds of a configuration: more is a typing error.
const (
	maxWatched = 64
	maxKeep    = 1 << 20
	maxWorkers = 256
)

// ErrConfig is an error in the configuration of a retraining.
var ErrConfig = errors.New("configuration of the retraining")

// Load reads and validates a configuration, and the experiment that it names.
func Load(path string) (Config, experiment.Experiment, error) {
	c, err := read(path)
	if err != nil {
		return Config{}, experiment.Experiment{}, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	e, err := c.experiment()
	if err != nil {
		return Config{}, experiment.Experiment{}, fmt.Errorf("%w: %s: experiment: %w", ErrConfig, path, err)
	}
	if err := c.fits(e); err != nil {
		return Config{}, experiment.Experiment{}, fmt.Errorf("%w: %s: %w", ErrConfig, path, err)
	}
	return c, e, nil
}

func read(path string) (Config, error) {
	f, err := os.Open(path)
	if err != nil {
		return Config{}, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, yamltext.MaxBytes+1))
	if err != nil {
		return Config{}, err
	}
	c, err := parse(raw)
	if err != nil {
		return Config{}, fmt.Errorf("%s: %w", path, err)
	}
	c.path = path
	dir := filepath.Dir(path)
	for _, p := range []*string{&c.Registry, &c.Dir, &c.Experiment.Config, &c.Cluster.Store, &c.Cluster.Context} {
		*p = beside(dir, *p)
	}
	for i := range c.Data.Watch {
		c.Data.Watch[i].Dir = beside(dir, c.Data.Watch[i].Dir)
	}
	if err := c.Notify.Resolve(dir); err != nil {
		return c, fmt.Errorf("%s: notify.%w", path, err)
	}
	return c, nil
}

// beside is a path relative to a directory; empty stays empty, and so do locations of buckets.
func beside(dir, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	if _, isBucket := bucket(path); isBucket {
		return path
	}
	return filepath.Join(dir, path)
}

// parse reads a document over the defaults, and validates it.
func parse(raw []byte) (Config, error) {
	c := Config{
		Registry: "models", Dir: "retrain", Overlap: registry.Wait,
		Start: defaultStart(), Gate: gate.Default(), Cluster: Cluster{Workers: 2, Backend: "auto", Engine: "auto"}, Keep: 20,
	}
	if err := yamltext.Check(raw); err != nil {
		return c, err
	}
	if err := yamltext.Decode(raw, &c); err != nil {
		return c, errors.New(strings.TrimSpace(yaml.FormatError(yamltext.Plain(err), false, true)))
	}
	if c.Cluster.Store != "" {
		l, err := store.Parse(c.Cluster.Store)
		if err != nil {
			return c, fmt.Errorf("cluster.store: %w", err)
		}
		c.Cluster.Store = l.String()
	}
	return c, c.validate()
}

func (c Config) validate() error {
	if err := registry.CheckModel(c.Name); err != nil {
		return fmt.Errorf("name: %w", err)
	}
	switch {
	case c.Registry == "":
		return errors.New("registry: it names no directory")
	case c.Dir == "":
		return errors.New("dir: it names no directory")
	case c.Data.Grow < 0:
		return fmt.Errorf("data.grow is %d, want 0 or more functions", c.Data.Grow)
	case c.Data.Window < 0:
		return fmt.Errorf("data.window is %d, want 0 or more functions", c.Data.Window)
	case len(c.Data.Watch) > maxWatched:
		return fmt.Errorf("data.watch has %d directories, at most %d can be watched", len(c.Data.Watch), maxWatched)
	case c.Overlap != registry.Wait && c.Overlap != registry.Skip && c.Overlap != registry.Replace:
		return fmt.Errorf("overlap is %.40q, want %s, %s or %s", c.Overlap, registry.Wait, registry.Skip, registry.Replace)
	case c.Keep < 0 || c.Keep > maxKeep:
		return fmt.Errorf("keep is %d versions, want 0 to %d", c.Keep, maxKeep)
	}
	if c.Cluster.Addr != "" && c.Cluster.Store == "" {
		return errors.New("cluster.store is missing: it is the shard store of the cluster at cluster.addr, as its coordinator's --store or DIR/shards")
	}
	if c.Cluster.Addr == "" && (c.Cluster.Workers < 1 || c.Cluster.Workers > maxWorkers) {
		return fmt.Errorf("cluster.workers is %d, want 1 to %d", c.Cluster.Workers, maxWorkers)
	}
	if _, err := c.Cluster.Bounds(); err != nil {
		return fmt.Errorf("cluster.workers_for: %w", err)
	}
	for i, w := range c.Data.Watch {
		if err := imports.CheckName(w.Name); err != nil {
			return fmt.Errorf("data.watch[%d]: %w", i, err)
		}
	}
	if err := c.Start.validate(); err != nil {
		return fmt.Errorf("start.%w", err)
	}
	if err := c.Budget.validate(); err != nil {
		return fmt.Errorf("budget.%w", err)
	}
	return nil
}

// experiment is what the file's experiment section names, with the window of data.
func (c Config) experiment() (experiment.Experiment, error) {
	sets := c.Experiment.Set
	if c.Data.Window > 0 {
		sets = append(sets[:len(sets):len(sets)], fmt.Sprintf("data.functions=%d", c.Data.Window))
	}
	return experiment.Load(c.Experiment.Name, c.Experiment.Preset, c.Experiment.Config, sets)
}

// fits reports what the configuration asks for and the experiment cannot give.
func (c Config) fits(e experiment.Experiment) error {
	for i, w := range c.Data.Watch {
		if w.Dir == "" {
			continue
		}
		if info, err := os.Stat(w.Dir); err != nil || !info.IsDir() {
			return fmt.Errorf("data.watch[%d].dir: there is no directory %s", i, w.Dir)
		}
	}
	f, err := e.Family()
	if err != nil {
		return err
	}
	if err := c.Gate.Validate(gate.Names(f)); err != nil {
		return fmt.Errorf("gate.%w", err)
	}
	if need := c.Gate.Needs(); e.Evaluation.Functions < need {
		return fmt.Errorf("gate.confidence is %v, which needs %d held-out functions, and evaluation.functions is %d", c.Gate.Confidence, need, e.Evaluation.Functions)
	}
	plan, err := e.Plan()
	if err != nil {
		return err
	}
	if c.Cluster.Addr == "" && c.Cluster.Workers > plan.Units() {
		return fmt.Errorf("cluster.workers is %d, and the experiment has work for %d: shards, or groups of shards if it is reproducible", c.Cluster.Workers, plan.Units())
	}
	perShard := e.Data.Functions / e.Data.Shards
	if c.Data.Grow%perShard != 0 {
		return fmt.Errorf("data.grow is %d functions, want a multiple of the %d of a shard", c.Data.Grow, perShard)
	}
	if c.Data.Grow > e.Data.Functions {
		return fmt.Errorf("data.grow is %d functions, more than the %d of the window", c.Data.Grow, e.Data.Functions)
	}
	return nil
}
