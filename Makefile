# ergoflow: `make demo` and `make test` are all a newcomer needs.
#
#   make demo       build, run the main job on this machine, show table and plots
#   make test       all tests but the long ones (about 10 minutes on two cores)
#   make build      bin/ergoflow
#   make setup      what a run needs beside the binary: the XLA plugin
#   make lint race  gofmt, vet, staticcheck; the race detector
#   make e2e        whole clusters of real processes, killed and restarted
#   make simulate SEEDS=10000  the cluster's protocol in as many made-up worlds; SEED=17: one, with its trace
#   make chaos MINUTES=3  clusters on four hosts (network namespaces; root) under faults
#   make verify-torch  every network against PyTorch, with our parameters
#   make reproduce-smoke  every table and figure of the paper, at sizes that take minutes
#   make bench      the training step, timed
#   make bench-peers  steps and kernels beside PyTorch, JAX, POT and others, in one sitting
#   make bench-steps  the steps' part of it, which rewrites docs/results/steps.md
#   make bench-kernels  the kernels' part of it, which rewrites docs/results/kernels.md
#   make bench-allreduce  the sums' part of it, beside Gloo, which rewrites docs/results/allreduce.md
#   make bench-link  sums over links of 1 Gbit/s, as root, which rewrites docs/results/link.md
#   make bench-scale  a model of sums over 8 to 1,024 workers against measurements, as root, which rewrites docs/results/scale.md
#   make bench-recovery  how long training stands still, which rewrites docs/results/recovery.md
#   make generate   protobuf code from coordinator/wire/wire.proto

SHELL := /bin/bash
GO ?= go
PYTHON ?= python3
export GOEXPERIMENT ?= simd

STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
DEMO ?= vn1d
WORKERS ?= 2
DEMO_FLAGS ?=
SEEDS ?= 10000
SEED ?=
# What the race detector covers: everything that does not load XLA. Kernels of
# GoMLX's Go backend form a pointer one past the end of a slice and never follow
# it, which checkptr, on with -race, does not forgive.
RACE := ./allreduce/... ./coordinator/... ./data/... ./model/training/assignment/... ./model/experiment/... ./model/training/flow/... ./model/evaluation/metrics ./model/evaluation/metrics/bucketsort ./model/sampling/ode/... ./model/network/parameters/... ./model/training/state/... ./worker/...
RACEFLAGS := -gcflags=github.com/gomlx/...=-d=checkptr=0

.PHONY: build setup demo test e2e simulate chaos lint race reproduce-smoke bench bench-peers bench-steps bench-kernels bench-allreduce bench-link bench-scale bench-recovery verify-torch generate clean

# The commit is in the binary, and so in reports and in what workers agree on,
# wherever git can say it, whatever GOFLAGS says.
build:
	$(GO) build $(if $(shell git rev-parse --verify HEAD 2>/dev/null),-buildvcs=auto) -o bin/ergoflow ./cmd/ergoflow

setup: build
	@bin/ergoflow backend install cpu

demo: setup
	bin/ergoflow run $(DEMO) --preset demo --workers $(WORKERS) $(DEMO_FLAGS)

test: setup
	$(GO) test -timeout 25m ./...

e2e: setup
	$(GO) test -count=1 -v -run 'WorkerCounts|Disturbed|Reproducible|Interrupt|FullDisk|OneCoordinator' ./cmd/ergoflow
	$(GO) test -count=1 -v -run Cluster ./worker

simulate:
	$(GO) test ./worker/simulation -count=1 -v -run '^TestSimulation$$' $(if $(SEED),-seed $(SEED),-seeds $(SEEDS))

# Faults are drawn from a seed, which is printed; SEED=… draws those again.
MINUTES ?= 3
chaos:
	$(GO) test -count=1 -v -timeout $$(($(MINUTES) + 10))m -run '^TestChaos$$' ./cmd/ergoflow -args -chaos $(MINUTES)m -chaos.seed $(or $(SEED),0)

lint:
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); [ -z "$$unformatted" ] || { echo "gofmt would change:"; echo "$$unformatted"; exit 1; }
	$(GO) vet ./...
	$(GO) run $(STATICCHECK) ./...

race:
	$(GO) test -race -short $(RACEFLAGS) $(RACE)

# Nearly all of it is XLA compiling twenty networks, each in three sizes; what it
# compiles takes moments to run, so that it need not optimise.
reproduce-smoke: setup
	XLA_FLAGS="--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true" \
		bin/ergoflow reproduce all --preset smoke --workers 1

bench: setup
	bin/ergoflow bench step --json

# PyTorch and friends live in .venv, made when first needed.
.venv: docs/benchmarks/requirements.txt
	$(PYTHON) -m venv .venv
	.venv/bin/pip install --quiet -r docs/benchmarks/requirements.txt
	@touch .venv

bench-peers: setup .venv
	.venv/bin/python docs/benchmarks/assignment_pot.py
	.venv/bin/python docs/benchmarks/formulas.py
	$(MAKE) bench-steps bench-kernels bench-allreduce

bench-steps: setup .venv
	.venv/bin/python docs/benchmarks/steps.py --write docs/results/steps.md

bench-kernels: build .venv
	.venv/bin/python docs/benchmarks/kernels_ratio.py --write docs/results/kernels.md
	.venv/bin/python docs/benchmarks/dataset.py

bench-allreduce: build .venv
	.venv/bin/python docs/benchmarks/allreduce.py --write docs/results/allreduce.md

bench-link: build
	$(PYTHON) docs/benchmarks/link.py --write docs/results/link.md

bench-scale: build
	$(PYTHON) docs/benchmarks/scale.py --write docs/results/scale.md

bench-recovery: setup .venv
	.venv/bin/python docs/benchmarks/recovery.py --write docs/results/recovery.md

verify-torch: setup .venv
	rm -rf bin/velocities
	$(GO) run ./docs/benchmarks/velocities bin/velocities
	.venv/bin/python docs/benchmarks/verify_torch.py bin/velocities

generate: .venv
	$(GO) install google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12
	$(GO) install google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2
	PATH="$$PATH:$$($(GO) env GOPATH)/bin" .venv/bin/python -m grpc_tools.protoc -I coordinator/wire \
		--go_out=coordinator/wire --go_opt=paths=source_relative \
		--go-grpc_out=coordinator/wire --go-grpc_opt=paths=source_relative wire.proto

clean:
	rm -rf bin .venv ergoflow-runs
