# Targets that a person calls have a "##" comment; `make help` lists them.
GO      ?= go
LINT    := $(GO) tool -modfile=tools/go.mod golangci-lint
STAGE   := ./hack/stage
BIN     := bin
VERSION ?= dev
IMAGE   ?= sliceshift-manager:latest
LDFLAGS := -s -w -X github.com/sliceshift/sliceshift/internal/version.Version=$(VERSION)

.DEFAULT_GOAL := help
.PHONY: help
help: ## List the targets.
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

##@ What users run
.PHONY: demo test soak duel chaos crash-matrix swing hostile bench bench-slices e2e-kind kind-moves kind-slices kind-suite kind-quickstart e2e-etcd kind-image deploy image build
demo: ## Move a StatefulSet of 5 between two real clusters, and show it.
	@$(GO) run ./e2e/demo

test: ## Unit and property tests, a part of the model, end-to-end tests; what takes longer is below.
	@$(STAGE) "vet"            $(GO) vet ./...
	@$(STAGE) "unit tests"     $(GO) test -race -shuffle=on $$($(GO) list ./... | grep -v /e2e) ./e2e/kind ./e2e/kind/docker ./e2e/kind/journal ./e2e/kind/nodeimage ./e2e/kind/quickstart ./e2e/mcs ./e2e/etcd ./e2e/testbed ./e2e/auditor/judge ./e2e/auditor/view ./e2e/auditor/feed ./e2e/cluster/process
	@$(STAGE) "control plane"  $(GO) run ./e2e/cluster/build
	@$(STAGE) "embedded clusters"  $(GO) test -count=1 ./e2e/cluster ./e2e/auditor
	@$(STAGE) "slices"         $(GO) test -count=1 -timeout 20m ./e2e/slices
	@$(STAGE) "end to end"     $(GO) test -count=1 -timeout 30m ./e2e/move

soak: ## Random edits of 20 sets of our kind for DURATION=30m; SLICESHIFT_SOAK_SEED repeats them.
	@SLICESHIFT_FIGURES=$(if $(DURATION),,yes) SLICESHIFT_SOAK=$(or $(DURATION),30m) SLICESHIFT_SOAK_SETS=20 $(GO) test -count=1 -timeout 0 -run TestSoak -v ./e2e/slices

duel: ## One script after another for DURATION=1h against the native StatefulSet controller and ours: SEED=1. One that failed: SEED and SCRIPTS=1.
	@SLICESHIFT_FIGURES=$(if $(DURATION)$(SCRIPTS),,yes) SLICESHIFT_DUEL=$(or $(DURATION),1h) SLICESHIFT_DUEL_SEED=$(or $(SEED),1) SLICESHIFT_DUEL_SCRIPTS=$(SCRIPTS) SLICESHIFT_DUEL_LANES=6 $(GO) test -count=1 -timeout 0 -run TestDuel -v ./e2e/slices

bench: ## Seconds for each ordinal against a kubectl script and the floor; out/bench.json.
	@$(GO) run ./e2e/bench

chaos: ## Moves while everything breaks: RUNS=100 SEED=1. One that failed is repeated by its seed.
	@SLICESHIFT_FIGURES=$(if $(filter 50 100,$(RUNS)),yes) SLICESHIFT_CHAOS_RUNS=$(RUNS) SLICESHIFT_CHAOS_SEED=$(SEED) $(GO) test -count=1 -timeout 0 -v -run TestChaos ./e2e/move

crash-matrix: ## A process dies before and after each of its writes, or has no answer to it, on real API servers.
	@SLICESHIFT_FIGURES=yes SLICESHIFT_CRASH_STEP=1 $(GO) test -count=1 -timeout 0 -run TestCrashMatrix ./e2e/move

swing: ## Half an hour of 20 Migrations at once, turned round again and again while everything breaks.
	@SLICESHIFT_FIGURES=yes SLICESHIFT_SWING=30m SLICESHIFT_SWING_MIGRATIONS=20 $(GO) test -count=1 -timeout 0 -v -run TestSwing ./e2e/move

hostile: ## Two minutes beside a tenant whose clusters answer what they like; docs/safety.md.
	@SLICESHIFT_FIGURES=yes SLICESHIFT_HOSTILE=2m $(GO) test -count=1 -timeout 20m -v -run TestHostileMemory ./e2e/move

bench-slices: ## Our StatefulSet kind against the native controller; out/bench-slices.json.
	@$(GO) run ./e2e/benchslices

e2e-kind: kind-moves kind-slices kind-suite kind-quickstart ## Moves of real data between kind clusters with real kubelets; needs Docker, or root to install it.

KINDTEST = env E2E_KIND=1 $(GO) test -count=1 -timeout 40m
kind-moves: # the cases of e2e/move
	@$(STAGE) "moves on kind"       $(KINDTEST) -parallel 6 -v ./e2e/move
kind-slices: # those of e2e/slices
	@$(STAGE) "slices on kind"      $(KINDTEST) -parallel 6 -v ./e2e/slices
kind-suite: # what only kubelets and machines can show
	@$(STAGE) "kubelets, machines"  $(KINDTEST) -parallel 4 -v ./e2e/kind/suite
kind-quickstart: # every command of the page
	@$(STAGE) "quickstart"          $(KINDTEST) -v ./e2e/kind/quickstart

e2e-etcd: ## A running etcd moves between two kind clusters while clients write and read; docs/etcd.md.
	@cd e2e/etcd/programs && $(GO) test ./...
	@$(GO) run ./e2e/etcd -runs $(or $(RUNS),3)

kind-image: ## The node image for kind, from Go modules and Debian packages, where no registry is in reach.
	@$(GO) run ./e2e/kind/image

deploy: ## The manager, IMAGE, into the cluster of the current context; FLAGS="--fence".
	$(GO) run ./cmd/migrate install --image $(IMAGE) $(FLAGS)

image: ## The manager's image, as IMAGE.
	$(MAKE) build
	docker build -t $(IMAGE) -f Dockerfile $(BIN)

build: ## The manager and the CLI, into bin/.
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "$(LDFLAGS)" -o $(BIN)/manager ./cmd/manager
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "$(LDFLAGS)" -o $(BIN)/kubectl-migrate ./cmd/migrate

##@ What contributors run
# The pages with figures: each says which code has changed since it was measured.
FIGURES := README.md docs/safety.md docs/slices.md docs/etcd.md docs/mutants.md docs/planted.md

.PHONY: generate verify lint fmt fuzz licences clean
generate: ## Deep copies, the resource definitions, the list of scenarios, and what figures are stale.
	$(GO) tool controller-gen object paths="./migration/v1alpha1;./slices/v1alpha1"
	$(GO) tool controller-gen crd paths=./migration/v1alpha1 output:crd:dir=config/crd
	$(GO) tool controller-gen crd:generateEmbeddedObjectMeta=true paths=./slices/v1alpha1 output:crd:dir=config/crd
	$(GO) run ./hack/slicecrd config/crd/apps.sliceshift.io_statefulsets.yaml
	$(GO) test -count=1 ./docs -run 'TestScenarios|TestFigures' -update

verify: generate ## Fail when what is generated, formatted or required has drifted.
	@gofmt -l $$(git ls-files '*.go') | tee /dev/stderr | (! grep -q .)
	$(GO) mod tidy -diff
	$(GO) run ./hack/licences -check docs/licences.md
	cd e2e/controlplane && $(GO) mod tidy -diff
	cd e2e/kind/tools && $(GO) mod tidy -diff
	cd e2e/mcs/coredns && $(GO) mod tidy -diff
	cd e2e/etcd/programs && $(GO) mod tidy -diff
	@git diff --exit-code -- config/crd docs/scenarios.md $(FIGURES) migration/v1alpha1 slices/v1alpha1
	@git ls-files --others --exclude-standard -- config/crd docs | tee /dev/stderr | (! grep -q .)

.PHONY: verify-model mutants mutants-changed mutants-list
verify-model: ## Explore every state of a migration within the full bounds; its figures go into docs/safety.md.
	@$(GO) test -count=1 -timeout 60m -run '^TestModel$$' -v ./migration/model -args -model=full -update

mutants: ## Make every small fault in what decides, one by one: the tests must notice; docs/mutants.md.
	@$(GO) run ./hack/mutate -model -o docs/mutants.md $(if $(AGAIN),-again)

mutants-changed: ## The same in the files that differ from the commit SINCE, as far as one gets in 150 s.
	@$(GO) run ./hack/mutate -since $(or $(SINCE),HEAD^) -budget 150s -least 90

mutants-list: ## Plant the faults of a list one by one: the tests must catch each; docs/planted.md.
	@$(GO) run ./hack/mutants

lint: ## golangci-lint, with the house style's rules, and known vulnerabilities where they can be asked for.
	$(LINT) run ./...
	@./hack/vulns

fmt: ## Format the code.
	$(LINT) fmt ./...

FUZZTIME ?= 30s
fuzz: ## Every fuzz target for FUZZTIME; the first time all that they need is built anew.
	$(GO) test ./internal/kubeconfig -run '^$$' -fuzz '^FuzzParse$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 1s
	$(GO) test ./config -run '^$$' -fuzz '^FuzzLoad$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 1s
	$(GO) test ./slices -run '^$$' -fuzz '^FuzzDecide$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 1s
	$(GO) test ./migration -run '^$$' -fuzz '^FuzzPlan$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 1s

licences: ## The licences of what is linked in, docs/licences.md; one that is not allowed fails.
	$(GO) run ./hack/licences docs/licences.md

clean: ## Remove what the build made.
	rm -rf $(BIN) out
