// Command members measures how a coordinator copes with many workers, in Markdown:
//
//	go build -o bin/members ./docs/benchmarks/members
//	bin/members [-gossip=false] [-lists L] [-pace R] [-functions F] [-limit D] bin/ergoflow N...
//
// For each N it starts the coordinator and ten processes of N/10 stub workers. Stubs have a
// connection, a session and a member of the gossip each, and compute nothing: a step is a message
// at every ping, and a shard has the functions it should have, with four zeros each. It measures in
// turn
//
//   - the join of all, before there is a run;
//   - the making of as many shards as a generation has members, and one, through the job queue, to
//     which each stub that makes some has a connection;
//   - the forming of the first generation: from when the last stub is prepared until every member
//     has made its first step;
//   - the death of a tenth at once, by SIGKILL of a process: until every other one has made a step;
//   - the replacement of all, a tenth at a time: a process leaves in order, another one comes, and
//     the next leaves when all members of the new generation have made a step.
//
// It prints what the coordinator's process has used in each, its peak of memory, and how many stubs
// its gossip lists.
//
// A member of the gossip lists all others. With -lists L a stub lists about L others, and the
// coordinator: N/L groups know only one another. The coordinator lists all. Those that begin first
// join at the coordinator, and the others at a stub of their group.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/convert"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/model/experiment"
)

func main() {
	var err error
	if stubs := os.Getenv(stubOrder); stubs != "" {
		err = runStubs(stubs)
	} else {
		err = measureAll()
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "members: %v\n", err)
		os.Exit(1)
	}
}

func measureAll() error {
	gossip := flag.Bool("gossip", true, "have every stub gossip")
	lists := flag.Int("lists", 0, "stubs that each stub lists; 0: all")
	pace := flag.Float64("pace", 0, "stubs that begin in a second; 0: all at once")
	functions := flag.Int("functions", 65_536, "functions of the data set, at least: shards have equally many")
	limit := flag.Duration("limit", 5*time.Minute, "time for each number of workers")
	flag.Parse()
	if flag.NArg() < 2 {
		flag.Usage()
		os.Exit(2)
	}
	var failures error
	fmt.Println("| workers | what | seconds | rate | generations | sessions lost | coordinator: CPU, s | memory, MiB | stubs in its gossip |\n|---:|---|---:|---:|---:|---:|---:|---:|---:|")
	for _, text := range flag.Args()[1:] {
		n, err := strconv.Atoi(text)
		if err != nil || n < 2 {
			return fmt.Errorf("%q is not a number of workers, 2 or more", text)
		}
		ctx, cancel := context.WithTimeout(context.Background(), *limit)
		s := settings{gossip: *gossip, groups: 1, pace: *pace}
		if *lists > 0 {
			s.groups = max(1, n / *lists)
		}
		if err := measure(ctx, flag.Arg(0), n, *functions, s); err != nil {
			failures = errors.Join(failures, fmt.Errorf("%d workers: %w", n, err))
		}
		cancel()
	}
	return failures
}

const parts = 10 // processes of stubs

// measurement is a cluster with the usage and the generations before the present part.
type measurement struct {
	*cluster
	n       int
	before  usage
	formed  int
	lost    int
	members int // of a generation of all
}

func measure(ctx context.Context, program string, n, functions int, s settings) (err error) {
	dir, err := os.MkdirTemp("", "members")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	members := min(n, ergoflow.MaxWorld)
	c, err := open(ctx, program, dir, (functions+members-1)/members, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	m := &measurement{cluster: c, n: n, members: members}
	for _, part := range []func(context.Context) error{m.join, m.generate, m.kill, m.replace} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	if f := m.seen.failure(); f != "" {
		return fmt.Errorf("stubs failed: %s", f)
	}
	return nil
}

// report prints a line, and begins the next part.
func (m *measurement) report(what string, seconds float64, rate string) error {
	u, err := m.usage()
	if err != nil {
		return err
	}
	listed, err := m.listed()
	if err != nil {
		return err
	}
	fmt.Printf("| %d | %s | %.2f | %s | %d | %d | %.2f | %.0f, peak %.0f | %d |\n", m.n, what, seconds, rate,
		len(m.seen.formed)-m.formed, m.seen.lost-m.lost, u.cpu-m.before.cpu, u.now, u.peak, listed)
	m.before, m.formed, m.lost = u, len(m.seen.formed), m.seen.lost
	return nil
}

func (m *measurement) join(ctx context.Context) error {
	for i := range parts {
		if count := (i+1)*m.n/parts - i*m.n/parts; count > 0 {
			if err := m.add(count, parts); err != nil {
				return err
			}
		}
	}
	if err := m.await(ctx, "the join of all", func(s *seen) bool { return len(s.are[joined]) == m.n }); err != nil {
		return err
	}
	took := m.seen.at[joined].last.Sub(m.seen.at[began].first).Seconds()
	stubs, err := m.stubs()
	if err != nil {
		return err
	}
	return m.report("all join", took, fmt.Sprintf("%.0f joins/s; stubs: CPU %.1f s", float64(m.n)/took, stubs))
}

// generate submits the run. There are as many shards as a generation has members.
func (m *measurement) generate(ctx context.Context) error {
	plan, err := newPlan(m.members, m.functions)
	if err != nil {
		return err
	}
	if err := m.submit(ctx, plan); err != nil {
		return err
	}
	submitted := time.Now()
	if err := m.await(ctx, "all shards", func(s *seen) bool { return s.count[made] >= plan.Shards+1 }); err != nil {
		return err
	}
	took := m.seen.at[made].last.Sub(submitted).Seconds()
	if err := m.report(fmt.Sprintf("%d shards are made", plan.Shards+1), took, fmt.Sprintf("%.0f jobs/s", float64(plan.Shards+1)/took)); err != nil {
		return err
	}
	if err := m.await(ctx, "all prepared", func(s *seen) bool { return len(s.are[prepared]) >= min(m.n, 2*ergoflow.MaxWorld) }); err != nil {
		return err
	}
	if err := m.awaitStep(ctx, 0, m.members); err != nil {
		return err
	}
	return m.report("first generation", m.seen.last.Sub(m.seen.at[prepared].last).Seconds(), "")
}

// newPlan is that of a run whose end no measurement sees.
func newPlan(shards, perShard int) (ergoflow.Plan, error) {
	e, err := experiment.ByName(family, "full")
	if err != nil {
		return ergoflow.Plan{}, err
	}
	e.Data.Shards, e.Data.Functions = shards, shards*perShard
	e.Training.BatchFunctions = shards
	e.Training.Steps, e.Training.CheckpointEvery = 1<<20, 1<<20
	return e.Plan()
}

func (m *measurement) submit(ctx context.Context, plan ergoflow.Plan) error {
	conn, err := grpc.NewClient(m.addresses.Control, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	_, err = wire.NewControlClient(conn).Submit(ctx, &wire.SubmitRequest{Plan: convert.PlanToWire(plan), Until: wire.Stage_STAGE_TRAIN, Protocol: ergoflow.Protocol, OldestProtocol: ergoflow.OldestProtocol})
	return errors.Join(err, conn.Close())
}

func (m *measurement) kill(ctx context.Context) error {
	before, p := m.seen.generation, m.oldest()
	begin := time.Now()
	p.end(syscall.SIGKILL)
	if err := m.awaitStep(ctx, before, min(m.n-p.count, ergoflow.MaxWorld)); err != nil {
		return err
	}
	if err := m.report(fmt.Sprintf("%d die at once", p.count), m.seen.last.Sub(begin).Seconds(), ""); err != nil {
		return err
	}
	begin = time.Now()
	if err := m.refill(ctx, m.seen.generation, p.count); err != nil {
		return err
	}
	return m.report(fmt.Sprintf("%d join them", p.count), time.Since(begin).Seconds(), "")
}

// refill starts a process and waits until the generation is full again.
func (m *measurement) refill(ctx context.Context, before uint64, count int) error {
	m.seen.reset()
	if err := m.add(count, 1); err != nil {
		return err
	}
	if err := m.await(ctx, "newcomers", func(s *seen) bool { return len(s.are[joined]) >= count }); err != nil {
		return err
	}
	if m.n-count >= ergoflow.MaxWorld {
		before = 0 // the generation was full before they came
	}
	return m.awaitStep(ctx, before, m.members)
}

func (m *measurement) replace(ctx context.Context) error {
	begin := time.Now()
	for range len(m.processes) {
		before, p := m.seen.generation, m.oldest()
		p.end(syscall.SIGTERM)
		if err := m.refill(ctx, before, p.count); err != nil {
			return err
		}
	}
	took := time.Since(begin).Seconds()
	return m.report("all are replaced", took, fmt.Sprintf("%.0f workers/s", float64(m.n)/took))
}
