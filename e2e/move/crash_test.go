package move

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/e2e/testbed"
	"github.com/sliceshift/sliceshift/internal/figures"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/internal/treetest"
	"github.com/sliceshift/sliceshift/migration"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// crashStepVariable says that each so many writes are tried; 1: every one.
const (
	crashStepVariable = "SLICESHIFT_CRASH_STEP"
	defaultCrashStep  = 24
)

// fate is what becomes of a process at one of its writes.
type fate string

const (
	diesBefore fate = "dies before"
	diesAfter  fate = "dies after"
	noAnswer   fate = "has no answer to"
)

// crashTable is where the documentation has what was tried, a line for each kind of move.
func crashTable() figures.Table {
	a := figures.Table{
		Target: "crash-matrix", Head: []string{"move"}, Numbers: []string{"writes", "processes", "parts of the testbed that died", "runs repeated for that"},
		Sentence: func(measured, all int, sums []int) string {
			return fmt.Sprintf("%d processes of %d of %d kinds of moves met their fate at one of their writes; each move ended as the same one without.", sums[1], measured, all)
		},
	}
	for _, name := range slices.Sorted(maps.Keys(crashPlays)) {
		a.Parts = append(a.Parts, []string{name})
	}
	return a
}

// TestCrashMatrix lets a process die before each of its writes, after it, or lose the
// answer to it; another one, or the same, goes on. The end is the same as without.
func TestCrashMatrix(t *testing.T) {
	step := harness.FromEnvironment(t, crashStepVariable, defaultCrashStep)
	for _, name := range slices.Sorted(maps.Keys(crashPlays)) {
		play := crashPlays[name]
		t.Run(name, func(t *testing.T) {
			if step > 1 {
				t.Parallel() // a whole matrix counts what dies for each
			}
			began, total := time.Now(), testbed.NewTally()
			var tried atomic.Int64
			var writes int
			t.Cleanup(func() {
				total.Bury(harness.Deaths(began))
				t.Logf("%d processes met their fate at %d writes, in %s. %s", tried.Load(), writes, time.Since(began).Round(time.Second), total.TestbedSentence())
				if harness.WantsFigures() && step == 1 && !t.Failed() {
					died, repeated := total.Broken()
					if err := crashTable().Write([]string{name}, writes, int(tried.Load()), died, repeated); err != nil {
						t.Error(err)
					}
				}
			})
			var want string
			harness.Repeat(t, total, func(a *testbed.Attempt) {
				writes, _, want = play.run(a, noAnswer, 0)
			})
			for offset, f := range []fate{diesBefore, diesAfter, noAnswer} {
				for n := 1 + offset*step/3; n <= writes && !t.Failed(); n += step {
					t.Run(fmt.Sprintf("%s write %d", f, n), func(t *testing.T) {
						t.Parallel()
						if play.meets(t, total, f, n, writes, want) {
							tried.Add(1)
						}
					})
				}
			}
		})
	}
}

// meets runs a move in which one of its writes meets its fate, and says whether one did. It ends as it is wanted to.
func (p crashPlay) meets(t *testing.T, total *testbed.Tally, f fate, n, writes int, want string) (crashed bool) {
	t.Helper()
	harness.Repeat(t, total, func(a *testbed.Attempt) {
		var have string
		_, crashed, have = p.run(a, f, n)
		if !crashed && n < writes-fewer {
			a.Errorf("it made no write %d", n)
		}
		if have != want {
			a.Errorf("it ends as\n%s\nand not as\n%s", have, want)
		}
	})
	return crashed
}

// crashPlay is a kind of move that is tried.
type crashPlay struct {
	replicas    int32
	where, more harness.Setting
	// fills looks at what the ordinals have, and returns what looks at it again in the end; nil: what a move leaves
	// says enough.
	fills func(*move) func()
	// says is what a person does on the way, who is no process that meets its fate; nil: nothing.
	says func(*move, records.ConfigMap) harness.Report
}

var crashPlays = map[string]crashPlay{
	"clusters":   {2, harness.AcrossClusters, harness.WithSpec(func(s *api.MigrationSpec) { s.Cleanup.Source = api.CleanupDelete }), nil, nil},
	"namespaces": {2, harness.AcrossNamespaces, harness.WithSpec(lowestFirst), nil, nil},
	"names":      {2, harness.AcrossNames, harness.WithSpec(func(*api.MigrationSpec) {}), nil, nil},
	"named":      {2, harness.AcrossClusters, harness.WithSpec(named), nil, nil},
	"copy":       {1, harness.AcrossClusters, byCopy, (*move).copied, nil},
	"ahead":      {2, harness.AcrossClusters, allOf(byCopy, oneAhead), (*move).copied, nil},
	"turned":     {2, harness.AcrossClusters, allOf(byCopy, oneAhead, onAWord), (*move).atHome, (*move).turnsTwo},
	"limit":      {1, harness.AcrossClusters, allOf(byCopy, overLimit), (*move).largeCopied, (*move).givesTime},
	"empty":      {1, harness.AcrossClusters, leftBehind(api.EmptySpec{FillsFromPeers: true, ReadyWhenFilled: true}), (*move).leftEmpty, nil},
}

// allOf is all of these settings.
func allOf(settings ...harness.Setting) harness.Setting {
	return func(v *harness.Move) {
		for _, set := range settings {
			set(v)
		}
	}
}

// oneAhead has one ordinal copied before it is its turn.
func oneAhead(v *harness.Move) { v.Migration.Spec.Volumes[0].Copy.Prefetch = 1 }

// onAWord has no ordinal stopped before a person says so.
func onAWord(v *harness.Move) { v.Migration.Spec.Volumes[0].Copy.Cutover = api.CutoverManual }

// overLimit has an ordinal down for its whole copy, which takes longer than it may.
func overLimit(v *harness.Move) {
	asked := &v.Migration.Spec.Volumes[0].Copy
	asked.Warm, asked.Bandwidth, asked.DowntimeLimit = api.CopyWarmNone, new(resource.MustParse("512Ki")), &metav1.Duration{Duration: 3 * time.Second}
}

// turnsTwo is a person who has the move turn back once two ordinals are copied.
func (v *move) turnsTwo(store records.ConfigMap) harness.Report {
	two := harness.When(func(m *api.Migration, _ migration.Outcome) bool { return aheadOf(m) > 0 })
	return two(func() error { return store.SetMode(v.Ctx, api.ModeRollback) })
}

// givesTime is a person who gives copies all the time that they take, once an ordinal was taken back.
func (v *move) givesTime(store records.ConfigMap) harness.Report {
	return harness.StalledWith(api.ReasonCopyTurnedBack)(func() error {
		now := v.Migration.Spec.Volumes[0]
		now.Copy.Bandwidth, now.Copy.DowntimeLimit = nil, nil
		return store.Change(v.Ctx, records.Change{Volumes: []api.VolumeSpec{now}})
	})
}

// run moves the application while one write meets its fate; 0: none. It returns how many writes there were, whether that
// one was among them, and what is left.
func (p crashPlay) run(a *testbed.Attempt, f fate, n int) (writes int, crashed bool, left string) {
	a.Helper()
	v := newMove(a, harness.Usual(p.replicas), p.where, p.more)
	v.servingExports()
	looks := func() {}
	if p.fills != nil {
		looks = p.fills(v)
	}
	writes, crashed = v.crash(f, n, p.says)
	looks()
	left = v.left()
	v.Audit()
	return writes, crashed, left
}

// copied has the ordinals hold what a copy must keep, and looks at the end that each has that on a new disk, and that what
// it has left is kept.
func (v *move) copied() func() {
	before, handles := v.filled(), v.handles(v.Here())
	return func() {
		v.expectCopies(v.There(), before)
		v.expectLeft(handles)
		v.expectNoMovers()
	}
}

// largeCopied is copied, where there is so much that it takes a while.
func (v *move) largeCopied() func() {
	looks := v.copied()
	treetest.In(v.T, v.folders(v.Here())[0]).File("much", treetest.Bytes(7, much))
	return looks
}

// atHome looks at the end that each ordinal is on the disk that it had, and that nothing is left of any copy.
func (v *move) atHome() func() {
	v.filled()
	disks := v.disks()
	return func() {
		v.expectHome()
		if after := v.disks(); !maps.Equal(after, disks) {
			v.T.Errorf("the disks are %v, and were %v", after, disks)
		}
		v.expectNothingLeft()
	}
}

// leftEmpty looks at the end that what the ordinals have left is kept, and that none has it.
func (v *move) leftEmpty() func() {
	before := v.handles(v.Here())
	return func() { v.expectLeft(before) }
}

// fewer is how many writes a run may have less than another one: whether a wait is worth
// a write of the status is a matter of time.
const fewer = 8

// crash moves the application while one write meets its fate; 0: none. It returns how
// many writes there were, and whether that one was among them.
func (v *move) crash(f fate, n int, says func(*move, records.ConfigMap) harness.Report) (writes int, crashed bool) {
	v.T.Helper()
	ctx, die := context.WithCancel(v.Ctx)
	defer die()
	c := &crasher{fate: f, at: int64(n), die: die}
	person, err := fixture.NewMover(v.Ctx, v.From.RESTConfig(), v.To.RESTConfig(), v.Migration)
	v.Must(err)
	word := func(*api.Migration, migration.Outcome) error { return nil }
	if says != nil {
		word = says(v, person.Store)
	}
	mover, err := fixture.Rejoin(c.through(v.From.RESTConfig()), c.through(v.To.RESTConfig()), v.Migration)
	v.Must(err)
	if err := mover.Run(ctx, word); err != nil && !c.dead.Load() {
		v.T.Fatalf("the run ended with: %v", err)
	}
	if c.dead.Load() {
		again, err := fixture.Rejoin(v.From.RESTConfig(), v.To.RESTConfig(), v.Migration)
		v.Must(err)
		v.Drive(again, word)
	}
	return int(c.count.Load()), n > 0 && c.count.Load() >= int64(n)
}

// crasher stands between a process and its API servers.
type crasher struct {
	fate  fate
	at    int64
	die   context.CancelFunc
	count atomic.Int64
	dead  atomic.Bool
}

var errCrashed = errors.New("the process has crashed")

// through is a config whose requests pass the crasher.
func (c *crasher) through(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) { return c.pass(next, r) })
	})
	return config
}

type roundTrip func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (do roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return do(r) }

func (c *crasher) pass(next http.RoundTripper, r *http.Request) (*http.Response, error) {
	if c.dead.Load() {
		return nil, errCrashed
	}
	if !changes(r) || c.count.Add(1) != c.at {
		return next.RoundTrip(r)
	}
	if c.fate == diesBefore {
		return nil, c.crash()
	}
	response, err := next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if err := response.Body.Close(); err != nil {
		return nil, err
	}
	if c.fate == diesAfter {
		return nil, c.crash()
	}
	return nil, io.ErrUnexpectedEOF
}

func (c *crasher) crash() error {
	c.dead.Store(true)
	c.die()
	return errCrashed
}

// changes says whether a request changes anything: a question about rights does not,
// nor does a rehearsal.
func changes(r *http.Request) bool {
	return r.Method != http.MethodGet && !strings.Contains(r.URL.Path, "/authorization.k8s.io/") && r.URL.Query().Get("dryRun") == ""
}
