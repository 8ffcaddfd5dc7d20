# `make help` lists the targets; `make demo` and `make test` are all a newcomer needs.

SHELL := /bin/bash
GO ?= go
PYTHON ?= python3
export GOEXPERIMENT ?= simd

GOLANGCI_LINT := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.9.0
# The Go team's database of vulnerabilities, as of a day, for machines without vuln.go.dev.
VULNDB := golang.org/x/vulndb@v0.0.0-20261105234957-e22db6528018
GOVULNDB ?= https://vuln.go.dev
NFPM := github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.44.0
CYCLONEDX := github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0
DEMO ?= vn1d
WORKERS ?= 2
DEMO_FLAGS ?=
MINUTES ?= 3
SEEDS ?= 10000
SEED ?=
COUNT ?= 200

# What the race detector covers: everything that does not load XLA. Kernels of
# GoMLX's Go backend form a pointer one past the end of a slice and never follow
# it; checkptr, which -race turns on, aborts there.
RACE := ./allreduce/... ./coordinator/... ./data/... ./internal/... ./model/experiment/... \
	./model/training/assignment/... ./model/training/flow/... ./model/training/state/... \
	./model/network/parameters/... ./model/sampling/ode/... ./worker/... \
	./model/evaluation/metrics ./model/evaluation/metrics/softmin ./model/evaluation/metrics/bucketsort \
	./model/registry ./model/sampling/certificate ./model/sampling/repair ./model/sampling/weights ./model/evaluation/calibration ./model/serve
RACEFLAGS := -gcflags=github.com/gomlx/...=-d=checkptr=0

# Tests of whole clusters that take half a minute or more each, and skip without -e2e.
E2E := CoordinatorMemory|DisturbedTrainingIsTheSame|FourHosts|Quota|Reproducible|ReproducibleHistory|UnreachableWorkers|WarmStart|WorkerCountsAgree|WorkerCountsAgreeOnProbes|Compose|JoinByName|OfflineAuthority|Pods|SecuredLater|SharedHosts|SlowPairs
E2E_LONG := CoordinatorMoves|RollingUpgrade|SecuredOneByOne|Wiretap
E2E_STORES := OwnNATS|OwnNATSSeveral|StoreNATS|StoreNATSSeveral|StoreS3
E2E_UPGRADES := RollingUpgrade|UpgradeOfNumerics

# What `make quick` leaves out: packages whose tests compile XLA graphs or start clusters.
SLOW := /cmd/ergoflow$$|/model/(network|training|sampling|compute|report)|/model/evaluation/evaluate|/metrics/ondevice|/worker$$|/worker/replica|/docs/

.DEFAULT_GOAL := build
.PHONY: wheel python-test schemathesis help build setup demo test quick e2e simulate security chaos kills retrain-e2e deploy-tools deploy-test deploy-test-gpu-image chart manifests dashboards dashboards-test operate-e2e lint tidy race reproduce-smoke bench bench-peers \
	bench-steps bench-kernels bench-allreduce bench-link bench-tls bench-secured bench-scale bench-cold-read bench-topology bench-ring-order bench-inference bench-serve bench-recovery verify-torch generate \
	vuln vulndb sbom licences reproducible-build release image-files image-files-cuda clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

build: ## build bin/ergoflow
# The binary holds its commit, for reports and for what workers agree on, wherever
# git knows it and whatever GOFLAGS says. It holds no path of the machine that built it:
# the same commit and Go give the same bytes.
	$(GO) build -trimpath $(if $(shell git rev-parse --verify HEAD 2>/dev/null),-buildvcs=auto) -o bin/ergoflow ./cmd/ergoflow

setup: build ## build, and install the XLA plugin for the CPU
	@bin/ergoflow backend install cpu

demo: setup ## run the demo experiment on this machine; DEMO=vn1d WORKERS=2
	bin/ergoflow run $(DEMO) --preset demo --workers $(WORKERS) $(DEMO_FLAGS)

test: setup ## run all tests but the long ones (twelve minutes on two cores)
	$(GO) test -timeout 40m ./...

quick: ## run the tests of the inner loop (under a minute, once compiled)
	$(GO) test -short $$($(GO) list ./... | grep -vE '$(SLOW)')

e2e: setup ## run whole clusters: killed, cut off, of any size, with a thousand workers (ten to twenty minutes)
	$(GO) test -count=1 -v -timeout 40m -run '^Test($(E2E)|$(E2E_LONG))$$' ./cmd/ergoflow -args -e2e

simulate: ## simulate the cluster's protocol, and the queue of runs, under faults; SEEDS=10000, or SEED=17 for one with its trace
	$(GO) test ./worker/simulation -count=1 -v -run '^TestSimulation$$' $(if $(SEED),-seed $(SEED),-seeds $(SEEDS))
	$(GO) test ./coordinator/queue -count=1 -v -run '^Test(Simulation|Histories)$$' $(if $(SEED),-seed $(SEED),-seeds $(SEEDS))

security: ## attack a secured cluster: certificates, tokens, roles, keys, a wiretap between hosts
	$(GO) test -count=1 ./internal/trust/... ./worker/enroll ./worker/peer ./data/jobs ./coordinator/gossip/...
	$(GO) test -count=1 ./model/serve -run 'Token|CrossOrigin|Browsers|Refusals|FuzzBody|BadRequests'
	$(GO) test -count=1 ./coordinator ./coordinator/wire ./worker -run 'Role|Strangers|Join|Revocation|Renew|BeyondLoopback|GossipKeys|HalfOpen|Oversized|Clocks|Elsewhere|WrongTokens|Confirms|Plaintext|TwoGossips'
	$(GO) test -count=1 ./allreduce -run 'TLS|Mixed|NoDowngrade|PlaintextEnds|Interceptors|MayConnect|NoCertificate|AnotherIdentity|StayPlain|Unfinished|SilentListener|ChangedRecords|Replayed|GradientsAre'
	$(GO) test -count=1 ./cmd/ergoflow -run 'Wiretap|Secured(Later|OneByOne)|OfflineAuthority' -e2e -v

chaos: ## run clusters on hosts (network namespaces, root) under faults, cut and poor links; MINUTES=3 SEED=…
	$(GO) test -count=1 -v -timeout $$(($(MINUTES) + 10))m -run '^Test(Chaos|CutLinks|PoorLinks)$$' ./cmd/ergoflow -args -chaos $(MINUTES)m -chaos.seed $(or $(SEED),0)

# A server of S3 for tests. It needs a file system with extended attributes, as most are.
VERSITYGW := github.com/versity/versitygw/cmd/versitygw@v1.8.0

bin/versitygw:
	GOBIN=$(CURDIR)/bin GOFLAGS= $(GO) install $(VERSITYGW)

FAILOVERS := 10

.PHONY: failover many-e2e
failover: ## kill, stop and cut off the coordinator that leads, of three, under training (root, minutes); FAILOVERS=100, STORE=nats://shards
	$(GO) test -count=1 -v -timeout $$(($(FAILOVERS) / 2 + 15))m -run '^Test(Failover|DeposedLeaders)$$' ./cmd/ergoflow -args -failovers $(FAILOVERS) $(if $(STORE),-failover-store $(STORE))

many-e2e: failover stores upgrades ## run clusters with several coordinators, clusters without a shared disk, and upgrades (root, minutes); FAILOVERS=100

.PHONY: stores
stores: setup bin/versitygw ## test the stores of shards and checkpoints, with a real server of S3 and with hosts that share nothing (minutes)
	$(GO) test -count=1 ./data/store/... ./coordinator/archive -args -s3.server $(CURDIR)/bin/versitygw
	$(GO) test -count=1 -v -timeout 20m -run '^Test($(E2E_STORES))$$' ./cmd/ergoflow -args -e2e -s3.server $(CURDIR)/bin/versitygw

.PHONY: upgrades
upgrades: setup ## upgrade coordinators and workers under training, to a program of another protocol or other bits (root, minutes)
	$(GO) test -count=1 -v -timeout 20m -run '^Test($(E2E_UPGRADES))$$' ./cmd/ergoflow -args -e2e

kills: ## kill each process of local runs in each phase; COUNT=200
	$(GO) test -count=1 -v -timeout $$(($(COUNT) + 10))m -run '^TestKills$$' ./cmd/ergoflow -args -kills $(COUNT)

retrain-e2e: ## three retrainings by a schedule on a local cluster, one of them killed twice (five minutes)
	$(GO) test -count=1 -v -timeout 20m -run '^TestRetrainE2E$$' ./cmd/ergoflow -args -retrain.e2e

operate-e2e: ## watch runs with Prometheus while workers are killed, and explain what happened (two minutes; needs Debian's prometheus)
	$(GO) test -count=1 -v -timeout 20m -run '^Test(Explain|Operate)' ./cmd/ergoflow -args -operate.e2e

.PHONY: test-page
test-page: ## run the pages of `ergoflow serve` and of a coordinator in a browser (minutes; needs Debian's chromium)
	$(GO) test -count=1 ./model/serve/page
	$(GO) test -count=1 -v -run '^TestPage' ./coordinator/dashboard -args -page
	$(GO) test -count=1 -v -run '^TestPage' ./coordinator -args -page
	$(GO) test -count=1 -v -run '^TestPage' ./model/serve -args -page

DEPLOY_TOOLS := debootstrap curl systemd iproute2 python3-venv qemu-user-static

deploy-tools:
	dpkg --status $(DEPLOY_TOOLS) >/dev/null 2>&1 || { apt-get update -qq && apt-get install -y -qq $(DEPLOY_TOOLS); }

deploy-test: deploy-tools chart bin/kubernetes-validate/bin/kubernetes-validate ## run deploy's files in Debian systems of their own, such as one that systemd boots (root, Debian; minutes)
	PATH="$$PATH:$(CURDIR)/bin/kubernetes-validate/bin" $(GO) test -count=1 -v -timeout 60m ./deploy -args -debian $(or $(DEBIAN),/var/tmp/ergoflow-debian)

deploy-test-gpu-image: deploy-tools ## build the image for GPUs, and start it without one (root, Debian; 20 GB of disk)
	$(GO) test -count=1 -v -timeout 60m -run '^TestGPUImage$$' ./deploy -args -debian $(or $(DEBIAN),/var/tmp/ergoflow-debian) -gpu-image

chart: ## lint and render the Helm chart, and read the result as Kubernetes does (two minutes, once)
	cd deploy/helm && GOEXPERIMENT= $(GO) test -count=1 ./...

manifests: ## render deploy/kubernetes and the chart's golden files
	cd deploy/helm && GOEXPERIMENT= $(GO) test -count=1 -run '^TestRendering$$' . -args -update

dashboards: ## write Grafana's dashboards from their description
	cd deploy/grafana && GOEXPERIMENT= $(GO) test -count=1 -run '^TestDashboards$$' . -args -update

dashboards-test: ## test that dashboards and rules of alerts ask for what processes export (a minute, once)
	cd deploy/grafana && GOEXPERIMENT= $(GO) test -count=1 ./...

# Schemas of Kubernetes are inside the package.
bin/kubernetes-validate/bin/kubernetes-validate: | deploy-tools
	$(PYTHON) -m venv bin/kubernetes-validate
	bin/kubernetes-validate/bin/pip install --quiet kubernetes-validate==1.37.0

lint: ## run golangci-lint: formatting, vet, staticcheck and others
	$(GO) run $(GOLANGCI_LINT) run

race: ## run the race detector on everything that does not load XLA
# Tests that only wait elsewhere compute here: no more of them at once than there are processors.
	$(GO) test -race -short -parallel $$(nproc) -timeout 30m $(RACEFLAGS) $(RACE)

tidy: ## format the code and tidy go.mod
	$(GO) mod tidy
	gofmt -w $$(git ls-files '*.go')

reproduce-smoke: setup ## make every table and figure of the paper, at sizes that take minutes
# Nearly all of the time is XLA compiling twenty networks in three sizes each. What it
# compiles runs for moments, so optimisation does not pay.
	XLA_FLAGS="--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true" \
		bin/ergoflow reproduce all --preset smoke --workers 1

bench: setup ## time the training step
	bin/ergoflow bench step --json

wheel: build ## build the Python packages: bin/wheels/ergoflow-*.whl and ergoflow_bin-*.whl
	rm -rf bin/wheels bin/wheel-tools python/bin-package/build
	mkdir -p python/bin-package/build && cp bin/ergoflow LICENSE THIRD_PARTY_LICENSES python/bin-package/build/
	$(PYTHON) -m venv bin/wheel-tools
	bin/wheel-tools/bin/pip install --quiet build==1.6.0 hatchling==1.33.0
	for package in python python/bin-package; do \
		SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct)} bin/wheel-tools/bin/python -m build --no-isolation --wheel --outdir bin/wheels $$package || exit; done

# A real model: the smoke preset of vn1d, trained once.
bin/python-model.safetensors: | setup
	bin/ergoflow run vn1d --preset smoke --workers 1 --dir bin/python-model
	bin/ergoflow checkpoints export latest --dir bin/python-model -o $@

python-test: wheel bin/python-model.safetensors ## install the wheels into a clean environment, and test and type-check the client
	rm -rf bin/python-test && $(PYTHON) -m venv bin/python-test
	bin/python-test/bin/pip install --quiet --find-links bin/wheels 'ergoflow[local]' -r python/tests/requirements.txt
	cd python && CHECKPOINT=$(CURDIR)/bin/python-model.safetensors $(CURDIR)/bin/python-test/bin/python -m pytest -q
	cd python && $(CURDIR)/bin/python-test/bin/python -m mypy

schemathesis: build bin/python-model.safetensors ## ask a server for everything that its OpenAPI allows and forbids; it must have an answer
	$(PYTHON) -m venv bin/schemathesis && bin/schemathesis/bin/pip install --quiet schemathesis==4.32.5
	bin/ergoflow serve --checkpoint bin/python-model.safetensors --listen 127.0.0.1:18099 & server=$$!; trap "kill $$server" EXIT; sleep 3; \
		bin/schemathesis/bin/schemathesis --config-file model/serve/testdata/schemathesis.toml run http://127.0.0.1:18099/openapi.json --max-examples 300

# PyTorch and the other peers live in .venv, made when first needed.
.venv: docs/benchmarks/requirements.txt
	$(PYTHON) -m venv .venv
	.venv/bin/pip install --quiet -r docs/benchmarks/requirements.txt
	@touch .venv

bench-peers: setup .venv ## time steps, kernels and sums beside PyTorch, JAX, POT, Gloo and others
	.venv/bin/python docs/benchmarks/assignment_pot.py
	.venv/bin/python docs/benchmarks/formulas.py
	$(MAKE) bench-steps bench-kernels bench-allreduce

bench-steps: setup .venv ## time training steps beside PyTorch; rewrites docs/results/steps.md
	.venv/bin/python docs/benchmarks/steps.py --write docs/results/steps.md

bench-kernels: build .venv ## time kernels beside their peers; rewrites docs/results/kernels.md
	.venv/bin/python docs/benchmarks/kernels_ratio.py --write docs/results/kernels.md
	.venv/bin/python docs/benchmarks/dataset.py

bench-allreduce: build .venv ## time the all-reduce beside Gloo; rewrites docs/results/allreduce.md
	.venv/bin/python docs/benchmarks/allreduce.py --write docs/results/allreduce.md

bench-link: build ## time the all-reduce over 1 Gbit/s (root); rewrites docs/results/link.md
	$(PYTHON) docs/benchmarks/link.py --write docs/results/link.md

bench-tls: build .venv ## time the all-reduce with TLS and without, and Gloo (root); rewrites docs/results/tls.md
	.venv/bin/python docs/benchmarks/tls.py --gloo --write docs/results/tls.md

bench-secured: build ## time steps, recovery and joining with and without TLS (as root); rewrites docs/results/secured.md
	$(PYTHON) docs/benchmarks/secured.py --write docs/results/secured.md

bench-scale: build ## test a model of 8 to 1,024 workers (root); rewrites docs/results/scale.md
	$(PYTHON) docs/benchmarks/scale.py --write docs/results/scale.md

bench-cold-read: ## time shards from another worker's cache over 1 Gbit/s, beside TCP (root)
	docs/benchmarks/cold_read.sh

bench-topology: build .venv ## time sums on up to 64 hosts with slow links (root); rewrites docs/results/topology.md
	$(PYTHON) docs/benchmarks/topology.py --gloo .venv/bin/python --write docs/results/topology.md

bench-ring-order: build ## time rings on hosts whose links differ, in two orders (root); rewrites docs/results/ring-order.md
	$(PYTHON) docs/benchmarks/ring_order.py --write docs/results/ring-order.md

bench-inference: setup ## compare model, repair, weights and chains at equal time, on models that it trains (10 minutes); rewrites docs/results/inference.md
	$(PYTHON) docs/benchmarks/inference.py --write docs/results/inference.md

bench-serve: setup ## measure a server of the demo under load (two minutes); rewrites docs/results/serve.md
	$(PYTHON) docs/benchmarks/serve.py --write docs/results/serve.md

bench-recovery: setup .venv ## time recovery from faults beside torchrun; rewrites docs/results/recovery.md
	.venv/bin/python docs/benchmarks/recovery.py --write docs/results/recovery.md

verify-torch: setup .venv ## compare every network with PyTorch, with our parameters
	rm -rf bin/velocities
	$(GO) run ./docs/benchmarks/velocities bin/velocities
	.venv/bin/python docs/benchmarks/verify_torch.py bin/velocities

generate: .venv ## generate protobuf code from the .proto files
	$(GO) install google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12
	$(GO) install google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2
	for proto in coordinator/wire/wire.proto model/serve/oip/oip.proto; do dir=$${proto%/*}; \
		PATH="$$PATH:$$($(GO) env GOPATH)/bin" .venv/bin/python -m grpc_tools.protoc -I $$dir \
			--go_out=$$dir --go_opt=paths=source_relative \
			--go-grpc_out=$$dir --go-grpc_opt=paths=source_relative $${proto##*/} || exit; done

.PHONY: corpus
corpus: ## add what this release writes to internal/corpus, for tests of later ones
	$(GO) test -count=1 -run '^TestCorpus' $$(grep -rl --include='*_test.go' '"github.com/ergoflow/ergoflow/internal/corpus"' . | xargs -n1 dirname | sort -u) -args -corpus.write

vuln: ## look for known vulnerabilities; GOVULNDB=file:///…
	@echo 'reading $(GOVULNDB); without network: make vuln GOVULNDB=$$(make -s vulndb)'
	$(GO) run $(GOVULNCHECK) -db $(GOVULNDB) ./...

vulndb: ## download a database for make vuln; print its URL
	@$(GO) mod download $(VULNDB)
	@echo file://$$($(GO) env GOMODCACHE)/$(VULNDB)/data/osv

sbom: ## list the binary's modules in bin/ergoflow.cdx.json
	@mkdir -p bin
	$(GO) run $(CYCLONEDX) app -json -std -main cmd/ergoflow -output bin/ergoflow.cdx.json

licences: ## write THIRD_PARTY_LICENSES
	$(GO) test . -count=1 -run '^TestThirdPartyLicences$$' -args -update

reproducible-build: ## build this commit twice: are the bytes the same?
# In two folders, and once without a build cache: what is in the cache is not compared.
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && \
	git clone -q . "$$dir/one" && git clone -q . "$$dir/another/folder" && \
	$(MAKE) -C "$$dir/one" build && \
	GOCACHE="$$dir/cache" $(MAKE) -C "$$dir/another/folder" build && \
	cd "$$dir" && sha256sum one/bin/ergoflow another/folder/bin/ergoflow && \
	cmp one/bin/ergoflow another/folder/bin/ergoflow

RELEASE := bin/release
VERSION := $(shell sed -n 's/^const Version = "\(.*\)"$$/\1/p' ergoflow.go)

image-files: ## put the programs and XLA's plugin, for deploy/container/Containerfile, into bin/image
	rm -rf bin/image
	mkdir -p bin/image/volumes/var bin/image/volumes/srv bin/image/volumes/run
	$(GO) build -trimpath -buildvcs=auto -o bin/image/cpu/ergoflow ./cmd/ergoflow
	CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=auto -o bin/image/go/ergoflow ./cmd/ergoflow
	ERGOFLOW_CACHE=$(CURDIR)/bin/image/cpu/cache bin/image/cpu/ergoflow backend install cpu
	chmod -R a+rX bin/image

image-files-cuda: image-files ## add XLA's plugin for GPUs, which needs no GPU here (gigabytes)
	ERGOFLOW_CACHE=$(CURDIR)/bin/image/cuda/cache bin/image/cpu/ergoflow backend install cuda --untested
	chmod -R a+rX bin/image

release: ## make archives, Debian packages for amd64 and arm64, hashes and an SBOM in bin/release
# Times are those of the commit: the same commit and tools give the same bytes. amd64 needs
# cgo to load the XLA plugin. arm64 has the pure Go backend alone.
	@[ -n "$(ALLOW_DIRTY)" ] || [ -z "$$(git status --porcelain)" ] || { echo "release: the tree has changes that are not committed: commit or remove them (git status)"; exit 1; }
	rm -rf $(RELEASE)
	$(GO) build -trimpath -buildvcs=auto -o $(RELEASE)/ergoflow ./cmd/ergoflow
	@set -e; export VERSION=$(VERSION) SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct); umask 022; \
	for ARCH in amd64 arm64; do \
		export ARCH; stage=$(RELEASE)/stage; rm -rf $$stage; mkdir -p $$stage/completion $$stage/deploy; \
		cgo=0 LIBC=; if [ $$ARCH = amd64 ]; then cgo=1 LIBC='libc6 (>= 2.34)'; fi; export LIBC; \
		CGO_ENABLED=$$cgo GOARCH=$$ARCH $(GO) build -trimpath -buildvcs=auto -o $$stage/ergoflow ./cmd/ergoflow; \
		for shell in bash zsh fish; do $(RELEASE)/ergoflow completion $$shell > $$stage/completion/ergoflow.$$shell; done; \
		$(RELEASE)/ergoflow man $$stage/man --date $$(date -u -d @$$SOURCE_DATE_EPOCH +%F); gzip -n9 $$stage/man/*; \
		cp LICENSE THIRD_PARTY_LICENSES README.md CHANGELOG.md $$stage; \
		cp -r deploy/systemd deploy/spot deploy/slurm $$stage/deploy; \
		sed -i 's|/usr/local/bin/ergoflow|/usr/bin/ergoflow|' $$stage/deploy/systemd/*; \
		tar -C $$stage --sort=name --mtime=@$$SOURCE_DATE_EPOCH --owner=0 --group=0 --numeric-owner --mode=go-w \
			--transform="s|^\.|ergoflow-$$VERSION-linux-$$ARCH|" -cf - . | gzip -n9 > $(RELEASE)/ergoflow-$$VERSION-linux-$$ARCH.tar.gz; \
		$(GO) run $(NFPM) package --config deploy/debian/nfpm.yaml --packager deb --target $(RELEASE)/ergoflow_$${VERSION}_$$ARCH.deb; \
	done; \
	rm -r $(RELEASE)/stage $(RELEASE)/ergoflow; $(MAKE) sbom; mv bin/ergoflow.cdx.json $(RELEASE)/ergoflow-$(VERSION).cdx.json; \
	cd $(RELEASE); sha256sum *.tar.gz *.deb *.json > SHA256SUMS; cat SHA256SUMS

clean: ## remove what the targets made, and all runs
	rm -rf bin .venv ergoflow-runs
