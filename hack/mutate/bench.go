package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sliceshift/sliceshift/hack/internal/testbinary"
)

//go:embed switch.go.txt
var switches string

// layers lists the packages of a migration. The tests of each use the packages before it.
var layers = []string{"migration/plan", "migration/planner", "migration/simulate", "migration/model", "migration/world", "migration/preflight", "migration/queue", "migration/engine"}

// carriers lists the packages that move volumes. The tests of the methods use package volumes, and the layers use all of
// them.
var carriers = []string{"volumes", "volumes/copy", "volumes/snapshot", "volumes/methods"}

// rooms lists the packages of the slice controller, in the same order.
var rooms = []string{"slices/decide", "slices/observe", "slices/execute", "slices"}

// modelTest explores the states of a migration. It runs last, because it takes long.
const modelTest = "TestModel"

// bench runs tests with one fault switched on.
type bench struct {
	testbinary.Folder
	// tests of each package, the fastest first.
	tests map[string][]*test
	model bool
	// asked matches the tests that are run.
	asked *regexp.Regexp
	// keen holds, for each function, the tests that have failed for its faults, the latest first.
	keen map[string][]string
	// mu guards keen.
	mu sync.Mutex
}

// test is a test with its CPU time, and the faults that it reaches.
type test struct {
	pkg, name string
	took      time.Duration
	reaches   map[int]bool
}

// newBench compiles the tests of the packages that the sources concern, and records which faults each reaches.
func newBench(ctx context.Context, sources []*source, count int, o options) (*bench, error) {
	asked, err := regexp.Compile(o.tests)
	if err != nil {
		return nil, err
	}
	folder, err := testbinary.New()
	if err != nil {
		return nil, err
	}
	b := &bench{Folder: folder, tests: map[string][]*test{}, keen: map[string][]string{}, model: o.model, asked: asked}
	overlay, err := b.overlay(sources, count)
	if err != nil {
		return b, err
	}
	for _, pkg := range concerned(sources) {
		if err := b.Compile(ctx, overlay, pkg); err != nil {
			return b, err
		}
		if err := b.look(ctx, pkg); err != nil {
			return b, err
		}
	}
	return b, nil
}

// concerned returns the packages whose tests may notice a fault in the sources.
func concerned(sources []*source) []string {
	var found []string
	for _, s := range sources {
		for _, pkg := range testers(s.dir()) {
			if !slices.Contains(found, pkg) {
				found = append(found, pkg)
			}
		}
	}
	return found
}

// testers returns the packages whose tests may notice a fault in a package, in the order in which they run.
func testers(pkg string) []string {
	for _, each := range [][]string{layers, rooms} {
		if at := slices.Index(each, pkg); at >= 0 {
			return each[at:]
		}
	}
	if at := slices.Index(carriers, pkg); at >= 0 {
		return slices.Concat(carriers[at:], layers)
	}
	return slices.Concat([]string{pkg}, layers)
}

// overlay replaces the sources by those with all faults, and adds the files with the switches.
func (b *bench) overlay(sources []*source, count int) (string, error) {
	texts := map[string]string{}
	for _, s := range sources {
		texts[s.file] = s.planted
		text := strings.Replace(switches, "PACKAGE", s.tree.Name.Name, 1)
		texts[s.dir()+"/mutants_switches.go"] = strings.Replace(text, "COUNT", strconv.Itoa(count), 1)
	}
	return b.Overlay(texts)
}

// look runs each test of a package alone, and records which faults it reaches.
func (b *bench) look(ctx context.Context, pkg string) error {
	listed, err := b.start(ctx, pkg, time.Minute, nil, "-test.list=.")
	if err != nil {
		return err
	}
	for name := range strings.FieldsSeq(listed.said) {
		if !strings.HasPrefix(name, "Test") && !strings.HasPrefix(name, "Fuzz") || name == modelTest && !b.model || !b.asked.MatchString(name) {
			continue
		}
		reached := filepath.Join(b.Dir, "reached")
		if err := os.WriteFile(reached, nil, 0o600); err != nil {
			return err
		}
		run, err := b.start(ctx, pkg, 10*time.Minute, []string{"MUTANT_REACHED=" + reached}, b.args(pkg, []string{name})...)
		if err != nil {
			return err
		}
		if run.failed {
			return fmt.Errorf("%s: %s fails without any fault: %s", pkg, name, run.said)
		}
		data, err := os.ReadFile(reached)
		if err != nil {
			return err
		}
		t := &test{pkg: pkg, name: name, took: run.took, reaches: map[int]bool{}}
		for id := range strings.FieldsSeq(string(data)) {
			n, err := strconv.Atoi(id)
			if err != nil {
				return err
			}
			t.reaches[n] = true
		}
		b.tests[pkg] = append(b.tests[pkg], t)
	}
	slices.SortFunc(b.tests[pkg], func(x, y *test) int { return int(x.took - y.took) })
	return nil
}

// args returns the arguments with which a binary runs tests the same way each time.
func (b *bench) args(pkg string, names []string) []string {
	args := []string{"-test.failfast", "-test.timeout=0", "-test.run=^(" + strings.Join(names, "|") + ")$"}
	if short := b.RapidArgs(pkg); short != nil {
		args = slices.Concat(args, short, []string{"-rapid.seed=1"})
	}
	if slices.Contains(names, modelTest) {
		args = append(args, "-model=small")
	}
	return args
}

// outcome is the result of a test run.
type outcome struct {
	said   string
	failed bool
	took   time.Duration
}

// mostMemory is the memory limit of a test in KiB, because a fault may cause unlimited allocation.
const mostMemory = 6 << 20

// start runs a binary with a limit on its CPU time. A binary that waits forever is also stopped.
func (b *bench) start(ctx context.Context, pkg string, most time.Duration, env []string, args ...string) (outcome, error) {
	const slower = 10 // than on an idle machine
	ctx, cancel := context.WithTimeout(ctx, slower*most+30*time.Second)
	defer cancel()
	limits := fmt.Sprintf(`ulimit -v %d; ulimit -t %d; exec "$@"`, mostMemory, int(most.Seconds())+1)
	cmd := exec.CommandContext(ctx, "sh", slices.Concat([]string{"-c", limits, "sh", b.Binary(pkg)}, args)...)
	cmd.Dir = filepath.Join(b.Root, pkg)
	cmd.Env = slices.Concat(os.Environ(), []string{"GOMAXPROCS=1", "GOGC=400"}, env)
	said, err := cmd.CombinedOutput()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		return outcome{}, err
	}
	took := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return outcome{said: string(said), failed: err != nil, took: took}, nil
}

// try switches a fault on, runs the tests of a round, and returns the verdict.
func (b *bench) try(ctx context.Context, m *mutant, r round) (verdict, error) {
	v := verdict{Fate: notReached}
	if m.Fate == survived {
		v.Fate = survived
	}
	for _, tests := range b.batches(m, r) {
		v.Fate = survived
		names, took := []string{}, time.Duration(0)
		for _, t := range tests {
			names, took = append(names, t.name), took+t.took
		}
		pkg := tests[0].pkg
		run, err := b.start(ctx, pkg, 3*took+time.Second, []string{"MUTANT=" + strconv.Itoa(m.id)}, b.args(pkg, names)...)
		if err != nil {
			return v, err
		}
		if run.failed {
			by := firstFailure(run.said)
			b.remember(m, by)
			return verdict{Fate: killed, By: by}, nil
		}
	}
	return v, nil
}

// remember puts the test that failed for a fault before the others of its function.
func (b *bench) remember(m *mutant, by string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := b.keen[m.place()]
	b.keen[m.place()] = append([]string{by}, slices.DeleteFunc(slices.Clone(before), func(name string) bool { return name == by })...)
}

// keenest returns the tests that have failed most recently for faults of the same function.
func (b *bench) keenest(m *mutant) []string {
	const most = 2
	b.mu.Lock()
	defer b.mu.Unlock()
	found := b.keen[m.place()]
	return found[:min(most, len(found))]
}

var failure = regexp.MustCompile(`(?m)^--- FAIL: (\w+)`)

// firstFailure returns the test that failed.
func firstFailure(said string) string {
	if found := failure.FindStringSubmatch(said); found != nil {
		return found[1]
	}
	if strings.Contains(said, "panic:") {
		return "a panic"
	}
	return "no end"
}

// known returns the verdicts of an earlier run.
func known(file string) (map[string]verdict, error) {
	found := map[string]verdict{}
	data, err := os.ReadFile(file)
	if err != nil {
		return found, err
	}
	return found, json.Unmarshal(data, &found)
}
