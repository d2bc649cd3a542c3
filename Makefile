# Targets that a person calls have a "##" comment; `make help` lists them.
GO      ?= go
# "go tool" ends with 0 where a signal ends the tool, as the kernel does when memory runs out: each is called by its path.
LINT    = "$$($(GO) tool -modfile=tools/go.mod -n golangci-lint)"
HUGO    = "$$($(GO) tool -modfile=site/tools/go.mod -n hugo)"
TESTSUM = "$$($(GO) tool -modfile=tools/go.mod -n gotestsum)"
CRDGEN  = "$$($(GO) tool -n controller-gen)"
STAGES  := $(GO) run ./hack/stages
# The tests of the whole, and what they run on, are a module of their own.
E2E     := $(GO) -C e2e
BIN     := bin
VERSION ?= dev
IMAGE   ?= sliceshift-manager:latest
LDFLAGS := -s -w -X github.com/sliceshift/sliceshift/internal/version.Version=$(VERSION)

# What can be kept from one run to the next lies in this folder: what Go and the linter have built and
# found, the control planes and the sidecars of CSI drivers (sliceshift/). Modules are where `go env GOMODCACHE` says, the nodes'
# image is in Docker.
CACHE   ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)
export XDG_CACHE_HOME := $(abspath $(CACHE))

# KUBERNETES=1.37 runs the tests on control planes of that version: of those with a module file in e2e/controlplane. Without
# it they have the version of go.mod there.
export E2E_KUBERNETES := $(or $(KUBERNETES),$(E2E_KUBERNETES))

# Tests are counted for the table at the end; FORMAT is how they are shown, RACE= is without the race
# detector. Tests against control planes wait for most of their time: PARALLEL of them run at once.
FORMAT  ?= pkgname-and-test-fails
RACE    ?= -race
PARALLEL ?= 4
COUNTED = $(TESTSUM) --format $(FORMAT) --format-hide-empty-pkg --raw-command --
GOTEST  = $(COUNTED) $(GO) test -json
E2ETEST = $(COUNTED) $(E2E) test -json
MOVES   := ./move
SLICES  := ./slices
PAGES   := ./pages
FIELD   := ./field

.DEFAULT_GOAL := help
.PHONY: help
help: ## List the targets.
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

##@ What users run
.PHONY: demo test everything soak duel chaos crash-matrix swing successor hostile bench bench-downtime bench-inflight bench-many bench-evacuate bench-slices bench-copy bench-copy-files e2e-mover e2e-kind e2e-kind-specs kind-up kind-down e2e-etcd e2e-recipes e2e-rehearsal kind-image deploy image build chart release
demo: ## Move a StatefulSet of 5 between two real clusters that share no disk, and show it (METHOD=rebind: the same disks; METHOD=storage: other storage in place; HOLD=yes: they stay afterwards, to try commands; HOLD=before: before the move).
	@echo "Building the demo: some minutes the first time, some seconds afterwards."
	@$(E2E) run ./demo $(if $(METHOD),-method $(METHOD)) $(if $(HOLD),-hold $(HOLD:yes=after))

test: ## Unit and property tests, a part of the model, and moves and roll-outs on control planes, one for each promise.
	@$(STAGES) -test

everything: ## All that CI runs on any commit, with a table at the end; it fails when something was left out.
	@$(STAGES) -everything

soak: ## Random edits of 20 sets of our kind for DURATION=30m; SLICESHIFT_SOAK_SEED repeats them. KUBERNETES=1.37: on that version.
	@SLICESHIFT_FIGURES=$(if $(DURATION),,yes) SLICESHIFT_SOAK=$(or $(DURATION),30m) SLICESHIFT_SOAK_SETS=20 $(E2E) test -count=1 -timeout 0 -run TestSoak -v $(SLICES)

duel: ## One script after another for DURATION=1h against the native StatefulSet controller and ours: SEED=1. One that failed: SEED and SCRIPTS=1. KUBERNETES=1.37: beside that version.
	@SLICESHIFT_FIGURES=$(if $(DURATION)$(SCRIPTS),,yes) SLICESHIFT_DUEL=$(or $(DURATION),1h) SLICESHIFT_DUEL_SEED=$(or $(SEED),1) SLICESHIFT_DUEL_SCRIPTS=$(SCRIPTS) SLICESHIFT_DUEL_LANES=6 $(E2E) test -count=1 -timeout 0 -run TestDuel -v $(SLICES)

bench: ## Seconds for each ordinal against a kubectl script and the floor; out/bench.json.
	@$(E2E) run ./bench handoff

chaos: ## Moves and changes in place while everything breaks: RUNS=100 SEED=1; WAY=in_place: those seeds alone. One that failed is repeated by its seed.
	@SLICESHIFT_FIGURES=$(if $(WAY),,$(if $(filter 50 100,$(RUNS)),yes)) SLICESHIFT_CHAOS_RUNS=$(RUNS) SLICESHIFT_CHAOS_SEED=$(SEED) $(E2E) test -count=1 -timeout 0 -v -run '^TestChaos$$$(if $(WAY),/^$(WAY))' $(MOVES)

crash-matrix: ## A process dies before and after each of its writes, or has no answer to it, on real API servers; each kind of move has its line in docs/engineering/figures.md (MOVE: a regular expression, those alone).
	@SLICESHIFT_FIGURES=yes SLICESHIFT_CRASH_STEP=1 $(E2E) test -count=1 -timeout 0 -parallel 6 -v -run '^TestCrashMatrix$$$(if $(MOVE),/$(MOVE))' $(MOVES)

swing: ## MIGRATIONS=100 at once, turned round again and again for DURATION=30m while everything breaks.
	@SLICESHIFT_FIGURES=$(if $(MIGRATIONS)$(DURATION),,yes) SLICESHIFT_SWING=$(or $(DURATION),30m) SLICESHIFT_SWING_MIGRATIONS=$(or $(MIGRATIONS),100) $(E2E) test -count=1 -timeout 0 -v -run TestSwing $(MOVES)

successor: ## The manager is killed with 100 Migrations under way: how long until the next one has taken up all that was down.
	@SLICESHIFT_FIGURES=yes SLICESHIFT_SUCCESSOR_MIGRATIONS=100 $(E2E) test -count=1 -timeout 30m -v -run TestSuccessor $(MOVES)

hostile: ## Two minutes beside a tenant whose clusters answer what they like.
	@SLICESHIFT_FIGURES=yes SLICESHIFT_HOSTILE=2m $(E2E) test -count=1 -timeout 20m -v -run TestHostileMemory $(MOVES)

bench-downtime: rsync ## How long one ordinal is out, beside a restart of its pod and a script, with root and 10 GiB of disk; out/bench-downtime.json. SCENE=rebind, copy_small, copy_large or snapshot measures one and writes nothing; LARGE=256 takes 256 MiB for 2 GiB and leaves the page.
	@$(E2E) run ./bench downtime $(if $(SCENE),-only $(SCENE)) $(if $(LARGE),-large $(LARGE))

bench-inflight: ## 100 ordinals, one at a time and 10 at once; out/bench-inflight.json.
	@$(E2E) run ./bench inflight

bench-many: ## 100 Migrations at once, in one namespace and in 100, by the manager as shipped; out/bench-many.json.
	@$(E2E) run ./bench many

bench-evacuate: ## 200 StatefulSets of 5 by one Evacuation: planned, forecast, real; out/bench-evacuate.json and .svg. SETS=20 moves fewer and leaves the page.
	@$(E2E) run ./bench evacuate $(if $(SETS),-sets $(SETS))

bench-slices: ## Our StatefulSet kind against the native controller; out/bench-slices.json.
	@$(E2E) run ./bench slices

bench-copy: rsync ## The mover against rsync over TLS and the floor, 10 GiB of disk; out/bench-copy.json. SCALE=16 is a sixteenth.
	@$(E2E) run ./bench copy -scale $(or $(SCALE),1)

bench-copy-files: ## The memory of movers with FILES (5,000,000) empty files, half of them in one folder; out/bench-copy-files.json.
	@$(E2E) run ./bench copy-files -files $(or $(FILES),5000000)

e2e-mover: rsync filesystems ## A tree with all that a file system holds is copied, and judged by rsync and go-mtree; needs root.
	@SLICESHIFT_MOVER_JUDGES=yes $(GO) test -race -count=1 ./mover/... ./cmd/mover

.PHONY: rsync
rsync: # what judges the mover, and what it is measured against
	@command -v rsync >/dev/null || apt-get install -y --no-install-recommends rsync

.PHONY: filesystems
filesystems: # whose times the mover trusts
	@command -v mkfs.xfs >/dev/null && command -v mkfs.btrfs >/dev/null || apt-get install -y --no-install-recommends xfsprogs btrfs-progs

e2e-kind: ## Moves of real data between kind clusters with real kubelets; needs Docker, or root to install it.
	@$(STAGES) kind-tutorial $(KINDPARTS)

e2e-kind-specs: ## Kubernetes' own specs of StatefulSets against our kind, on kind clusters; out/specs.md.
	@SLICESHIFT_FIGURES=yes $(STAGES) kind-specs

kind-up: ## Hold kind clusters until interrupted; E2E_KIND_PAIR, which it prints, lends them to tests.
	@$(E2E) run ./kind/pair -hub

kind-down: ## Remove the kind clusters that a killed run has left.
	@$(E2E) run ./kind/pair -down

e2e-etcd: sidecars disks ## A running etcd moves between two kind clusters, and changes its StorageClass, while clients write and read; docs/engineering/etcd.md. ONLY=copied or storage.
	@$(E2E) test ./kind/stage ./etcd
	@cd e2e/steady && $(GO) test ./...
	@$(E2E) run ./etcd -runs $(or $(RUNS),3) $(if $(ONLY),-only $(ONLY))

e2e-recipes: sidecars disks ## PostgreSQL, Redis, Redis Cluster and ZooKeeper move by their recipes between two kind clusters, and PostgreSQL changes its StorageClass, and rehearses its move; ONLY=redis or postgresql-in-place.
	@$(E2E) run ./recipes $(if $(ONLY),-only $(ONLY))

e2e-rehearsal: sidecars disks ## A move of PostgreSQL is rehearsed on kind behind a real engine of NetworkPolicies, and then done: packets that leave, latency of the source, times beside the real ones.
	@SLICESHIFT_FIGURES=yes $(E2E) run ./recipes -only postgresql-rehearsal

kind-image: ## The node image for kind, from Go modules and Debian packages, where no registry is in reach.
	@$(E2E) run ./kind/image

deploy: ## The manager, IMAGE, into the cluster of the current context; FLAGS="--fence".
	$(GO) run ./cmd/migrate install --image $(IMAGE) $(FLAGS)

image: ## The manager's image, as IMAGE.
	$(MAKE) build
	docker build -t $(IMAGE) -f Dockerfile $(BIN)

build: ## The manager, the mover and the CLI, into bin/.
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "$(LDFLAGS)" -o $(BIN)/manager ./cmd/manager
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "$(LDFLAGS)" -o $(BIN)/mover ./cmd/mover
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "$(LDFLAGS)" -o $(BIN)/kubectl-migrate ./cmd/migrate

chart: ## The Helm chart is linted, compared with config/, installed, upgraded and removed; helm is built the first time.
	@$(GOTEST) ./charts
	@$(E2E) test -count=1 -timeout 20m -run '^TestChart' $(MOVES)

VERIFY ?= -verify
release: ## All that is published of a version, twice and compared, into out/release: VERSION=v1.2.3 REPOSITORY=registry.example.com/sliceshift-manager. VERIFY= makes it once.
	$(GO) run ./hack/release $(if $(filter-out dev,$(VERSION)),-version $(VERSION)) $(if $(REPOSITORY),-image $(REPOSITORY)) $(if $(PLATFORMS),-platforms $(PLATFORMS)) $(VERIFY) out/release

##@ The stages of .ci/stages.yaml, each by itself
.PHONY: stages modules vet unit race smoke-moves smoke-slices unit-e2e model-methods packages-made skopeo controlplane sidecars disks clusters slices pages field moves-1 moves-2 moves-3 moves-4 browser chromium screenshots kind-tutorial
stages: # as CI runs them after make test: TURNS=16m is for those that take turns, and LIMIT=65m for all
	@$(STAGES) -rest $(if $(TURNS),-turns $(TURNS)) $(if $(LIMIT),-limit $(LIMIT))

modules: # before anything needs them
	$(GO) mod download
	$(E2E) mod download

vet:
	$(GO) vet ./...
	$(E2E) vet ./...

unit: # the tests that need no cluster, in a random order
	@$(GOTEST) -timeout 20m -shuffle=on $$(./hack/packages . concurrent sequential)
unit-e2e: # those of the test bed
	@$(E2ETEST) $(RACE) -timeout 20m -shuffle=on $$(./hack/packages e2e concurrent sequential)

model-methods: # the small bounds of the model in which claims are copied, or stay behind
	@$(GOTEST) -count=1 -timeout 20m -run '^TestModelOfMethods$$' ./migration/model -args -model=small

race: # those of packages with goroutines, with the race detector: several times as slow
	@$(GOTEST) $(RACE) -timeout 25m -shuffle=on $$(./hack/packages . concurrent)

skopeo: # what pushes an image as the pages say
	@command -v skopeo >/dev/null || { apt-get update -q && apt-get install -y --no-install-recommends skopeo; } >/dev/null

packages-made: skopeo controlplane # what is published: the chart, and a release, pushed to a registry of the tests; helm and others are built the first time
	@$(GOTEST) -timeout 30m $$(./hack/packages . tools)

controlplane: # the binary of the control planes, of version KUBERNETES: minutes the first time
	$(E2E) run ./cluster/build

sidecars: # what runs beside the CSI driver of the tests, and what judges it: minutes the first time
	$(E2E) run ./csi/sidecar/build

disks: # what makes the file systems of its volumes; without root there are none
	@[ $$(id -u) != 0 ] || command -v mkfs.xfs >/dev/null || { apt-get update -q && apt-get install -y --no-install-recommends xfsprogs; } >/dev/null

# The race detector makes them several times as slow: RACE=-race asks for it.
clusters: FORMAT = testname
clusters: RACE =
clusters: disks # the tests against control planes that run as processes, and on disks of a CSI driver, but those that follow
	@$(CLUSTERTEST) -p 1 $$(./hack/packages e2e clusters | grep -Ev 'e2e($(MOVES:.%=%)|$(SLICES:.%=%)|$(PAGES:.%=%)|$(FIELD:.%=%))$$')

CLUSTERTEST = $(E2ETEST) $(RACE) -count=1 -timeout 60m -parallel $(PARALLEL)
smoke-moves smoke-slices slices pages field moves-1 moves-2 moves-3 moves-4: FORMAT = testname
smoke-moves smoke-slices slices pages field moves-1 moves-2 moves-3 moves-4: RACE =
# One test for each promise: Rebind, Copy, Empty, Snapshot, pause, the way back, a run that is interrupted, a manager, one that is
# killed, a foreign writer, a pod that is never Ready, an attachment, what is deleted in the end, a destination that is lost, names,
# gates, no write once settled, the manager's page; of our kind scaling, a roll-out, a budget, in place.
SMOKE_MOVES  := TestMove TestCopyMoves TestEmpty TestSnapshotMoves TestPause TestRollback TestRunInterrupted TestManagerMoves \
	TestManagerKilled TestForeignWriter TestPodNeverReady TestAttachmentHoldsTheVolume TestCleanup TestRecover TestOrdinalNames \
	TestGates TestNothingIsWrittenWhenSettled TestPageOfTheManager
SMOKE_SLICES := TestScale TestRollingUpdate TestBudgets TestInPlace
smoke-moves smoke-slices: PARALLEL = 8
smoke-moves: disks
	@$(CLUSTERTEST) -run "$$(./hack/named e2e/$(MOVES) $(SMOKE_MOVES))" $(MOVES)
smoke-slices:
	@$(CLUSTERTEST) -run "$$(./hack/named e2e/$(SLICES) $(SMOKE_SLICES))" $(SLICES)

# The smoke tests on control planes of another version, which are built first.
VERSIONS := kubernetes-1.34 kubernetes-1.35 kubernetes-1.37
.PHONY: $(VERSIONS)
$(VERSIONS): FORMAT = testname
$(VERSIONS): RACE =
$(VERSIONS): PARALLEL = 8
$(VERSIONS): export E2E_KUBERNETES = $(@:kubernetes-%=%)
kubernetes-1.34 kubernetes-1.35 kubernetes-1.37: disks
	$(E2E) run ./cluster/build
	@$(CLUSTERTEST) -p 1 -run "$$(./hack/named e2e/$(SLICES) $(SMOKE_SLICES))|$$(./hack/named e2e/$(MOVES) $(SMOKE_MOVES))" $(SLICES) $(MOVES)

slices: # our own StatefulSet kind beside the native one
	@$(CLUSTERTEST) $(SLICES)
pages: disks # every command of the pages
	@$(CLUSTERTEST) $(PAGES)
field: ## Situations that people have, each with what must be found in it, and StatefulSets as charts render them, there and back.
	@$(CLUSTERTEST) $(FIELD)

# The tests of moves between control planes are as many as all others.
BREAKING := ^Test(Chaos|CrashMatrix)$$
moves-1: disks # processes that die at their writes, and moves while everything breaks
	@$(CLUSTERTEST) -run '$(BREAKING)' $(MOVES)
moves-2: disks # of the others every third from the first on
	@$(CLUSTERTEST) -run "$$(./hack/share e2e/$(MOVES) '$(BREAKING)' 1 3)" $(MOVES)
moves-3: disks # from the second on
	@$(CLUSTERTEST) -run "$$(./hack/share e2e/$(MOVES) '$(BREAKING)' 2 3)" $(MOVES)
moves-4: disks # from the third on
	@$(CLUSTERTEST) -run "$$(./hack/share e2e/$(MOVES) '$(BREAKING)' 3 3)" $(MOVES)

chromium: # what the page of kubectl migrate ui, and what a terminal shows, is seen in
	@command -v chromium >/dev/null && command -v tmux >/dev/null || { apt-get update -q && apt-get install -y --no-install-recommends chromium fonts-dejavu-core tmux; } >/dev/null

browser: FORMAT = testname
browser: RACE =
browser: chromium # the page of kubectl migrate ui, in a browser, over control planes
	@$(E2ETEST) $(RACE) -count=1 -timeout 10m $$(./hack/packages e2e browser)

screenshots: chromium ## The images of docs/ui.md and docs/move.md anew, of the page and the terminal as they are.
	$(E2E) test -count=1 -run 'TestScreenshots|TestTerminal' ./ui -args -screenshots $(abspath docs)
	$(E2E) test -count=1 -run TestV12Pictured ./staged -update

# With -v, for what they measure. They make clusters of their own unless E2E_KIND_PAIR lends them some.
kind-%: FORMAT = standard-verbose
KINDTEST = env E2E_KIND=$(or $(KINDSHARE),1) $(E2ETEST) -count=1 -timeout 40m
KINDPARTS := kind-moves-1 kind-moves-2 kind-slices-1 kind-slices-2 kind-specs kind-suite-1 kind-suite-2 kind-machines
.PHONY: $(KINDPARTS)
kind-moves-1 kind-slices-1: KINDSHARE = 1/2
kind-moves-2 kind-slices-2: KINDSHARE = 2/2
kind-moves-1 kind-moves-2: kind-moves-%: # a half of the cases of e2e/move, once more
	@$(KINDTEST) -parallel 6 $(MOVES)
kind-slices-1 kind-slices-2: kind-slices-%: # a half of those of e2e/slices
	@$(KINDTEST) -parallel 6 $(SLICES)
kind-specs: # Kubernetes' own specs of StatefulSets, against our kind; most of their time is their waits of ten seconds
	@$(KINDTEST) -parallel 4 ./specs
kind-suite-1 kind-suite-2: kind-suite-%: # a half of what only kubelets can show
	@$(KINDTEST) -parallel 4 -run "$$(./hack/share e2e/kind/suite '^TestNode' $* 2)" ./kind/suite
kind-machines: # what stops machines, one test after the other
	@$(KINDTEST) -run '^TestNode' ./kind/suite
kind-tutorial: # every command of the page, and those of others that need Docker
	@$(KINDTEST) -run '^(TestTutorial|TestImage)$$' ./kind/tutorial

##@ What contributors run
.PHONY: quick generate verify site alerts lint fmt fuzz licences clean
quick: ## What proves most changes in a minute or so: formatting, vet, and the tests without clusters that the change can break.
	@gofmt -l $$(git ls-files -m -o --exclude-standard '*.go') | tee /dev/stderr | (! grep -q .)
	$(GO) vet ./...
	$(E2E) vet ./...
	$(GO) test $$(./hack/packages . sequential concurrent)
	$(E2E) test $$(./hack/packages e2e sequential concurrent)

generate: ## Deep copies, the resource definitions, and the pages that the code writes.
	$(CRDGEN) object paths="./api/migration/v1alpha1;./api/apps/v1alpha1"
	$(CRDGEN) crd paths=./api/migration/v1alpha1 output:crd:dir=config/crd
	$(CRDGEN) crd:generateEmbeddedObjectMeta=true paths=./api/apps/v1alpha1 output:crd:dir=config/crd
	$(GO) run ./hack/slicecrd config/crd/apps.sliceshift.io_statefulsets.yaml config/crd/migration.sliceshift.io_migrations.yaml config/crd/migration.sliceshift.io_evacuations.yaml
	$(GO) test -count=1 ./config -run TestConstrainedRoles -update
	$(GO) test -count=1 ./docs -run 'TestPreflight|TestRecipes|TestMetrics$$|TestAlerts|TestDashboard|TestReference' -update
	$(GO) test -count=1 ./cmd/migrate -run 'TestReference' -update
	$(GO) test -count=1 ./charts -run TestSchema -update

verify: generate ## Fail when what is generated, formatted or required has drifted.
	@gofmt -l $$(git ls-files '*.go') | tee /dev/stderr | (! grep -q .)
	$(GO) mod tidy -diff
	$(GO) run ./hack/licences -check docs/licences.md
	$(E2E) mod tidy -diff
	cd e2e/controlplane && for each in *.mod; do $(GO) mod tidy -diff -modfile=$$each || exit 1; done
	cd e2e/csi/sidecars && $(GO) mod tidy -diff
	cd e2e/kind/tools && $(GO) mod tidy -diff
	cd e2e/kind/policy/kuberouter && $(GO) mod tidy -diff
	cd e2e/mcs/coredns && $(GO) mod tidy -diff
	cd e2e/specs/suite && $(GO) mod tidy -diff
	cd e2e/etcd/programs && $(GO) mod tidy -diff
	cd e2e/recipes/programs && $(GO) mod tidy -diff
	cd e2e/steady && $(GO) mod tidy -diff
	for each in hack/release/tools/*; do (cd $$each && $(GO) mod tidy -diff) || exit 1; done
	cd site/tools && $(GO) mod tidy -diff
	@git diff --exit-code -- config/crd config/impersonation charts docs/metrics.md docs/preflight.md docs/recipes.md docs/recipe-*.md docs/reference-*.md config/monitoring api/migration/v1alpha1 api/apps/v1alpha1
	@git ls-files --others --exclude-standard -- config/crd config/monitoring docs | tee /dev/stderr | (! grep -q .)

# promtool comes out of the package of Debian, which is not installed: that would start a server.
PROMTOOL ?= $(or $(shell command -v promtool),$(XDG_CACHE_HOME)/sliceshift/promtool/usr/bin/promtool)
$(XDG_CACHE_HOME)/sliceshift/promtool/usr/bin/promtool:
	apt-get update -q
	mkdir -p $(XDG_CACHE_HOME)/sliceshift/promtool
	cd $(XDG_CACHE_HOME)/sliceshift/promtool && apt-get download -q prometheus && dpkg-deb -x prometheus_*.deb .

alerts: $(PROMTOOL) ## The alerts of config/monitoring by promtool: they parse, as the dashboard's queries do, and each one fires.
	$(PROMTOOL) check rules config/monitoring/alerts.yaml config/monitoring/testdata/dashboard_queries.yaml
	$(PROMTOOL) test rules config/monitoring/testdata/alerts_test.yaml

site: ## The documentation as a site, in out/site; a link that leads nowhere fails.
	$(HUGO) --source site --destination $(CURDIR)/out/site --cleanDestinationDir --noBuildLock --logLevel warn --panicOnWarning
	$(GO) run ./hack/links out/site

.PHONY: scenarios
scenarios: ## What other projects test, and our tests of it, in out/scenarios.md.
	@mkdir -p out && $(GO) test -count=1 ./docs -run '^TestScenarios$$' -update

.PHONY: verify-model verify-methods mutants mutants-changed mutants-list
verify-model: ## Explore every state of a migration within the full bounds; each world has its line in docs/engineering/figures.md as soon as it was explored (WORLD: a regular expression, those alone).
	@$(GO) test -count=1 -timeout 0 -run '^TestModel(OfAuthors|OfWhatEnds)?$$$(if $(WORLD),/$(WORLD))' -v ./migration/model -args -model=full -update

verify-methods: ## The same of a migration whose claims are copied, or stay behind: hours.
	@$(GO) test -count=1 -timeout 0 -parallel 1 -run '^TestModelOfMethods$$$(if $(WORLD),/$(WORLD))' -v ./migration/model -args -model=full -update

mutants: ## Make every small fault in what decides, one by one: the tests must notice; out/mutants.md.
	@mkdir -p out && $(GO) run ./hack/mutate -model -o out/mutants.md $(if $(AGAIN),-again)

mutants-changed: ## The same in the files that differ from the commit SINCE, as far as one gets in 150 s; it fails when that is nowhere, or shows that fewer than 80 % are noticed.
	@$(GO) run ./hack/mutate -since $(or $(SINCE),HEAD^) -budget 150s -least 80

mutants-list: ## Plant the faults of a list one by one: the tests must catch each; hack/mutants/caught.yaml. NEW=yes: those that are not in it yet.
	@$(GO) run ./hack/mutants $(if $(NEW),-new)

lint: ## golangci-lint, with the house style's rules, and known vulnerabilities where they can be asked for.
	$(LINT) run ./...
	linter=$(LINT) && cd e2e && "$$linter" run ./...
	@./hack/vulns || { code=$$?; [ $$code -eq 3 ] && [ -z "$(VULNS_REQUIRED)" ] && echo "known vulnerabilities: SKIPPED, not passed; VULNS_REQUIRED=yes fails here"; }

fmt: ## Format the code.
	$(LINT) fmt ./...
	linter=$(LINT) && cd e2e && "$$linter" fmt ./...

FUZZTIME ?= 30s
fuzz: ## Every fuzz target for FUZZTIME; the first time all that they need is built anew.
	$(GO) test ./internal/kubeconfig -run '^$$' -fuzz '^FuzzParse$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 1s
	$(GO) test ./internal/clusters/lists -run '^$$' -fuzz '^FuzzTrim$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 1s
	$(GO) test ./config -run '^$$' -fuzz '^FuzzLoad$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 1s
	$(GO) test ./slices/observe -run '^$$' -fuzz '^FuzzDecide$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 1s
	$(GO) test ./migration/engine -run '^$$' -fuzz '^FuzzPlan$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 1s
	$(GO) test ./migration/health -run '^$$' -fuzz '^FuzzExpression$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 1s
	$(GO) test ./migration/health -run '^$$' -fuzz '^FuzzText$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 1s
	$(GO) test ./migration/health -run '^$$' -fuzz '^FuzzPath$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 1s
	$(GO) test ./migration/health -run '^$$' -fuzz '^FuzzAddress$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 1s
	$(GO) test ./mover/wire -run '^$$' -fuzz '^FuzzFrame$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 1s
	$(GO) test ./mover/wire -run '^$$' -fuzz '^FuzzMessages$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 1s

licences: ## The licences of what is linked in, docs/licences.md; one that is not allowed fails.
	$(GO) run ./hack/licences docs/licences.md

clean: ## Remove what the build made.
	rm -rf $(BIN) out
