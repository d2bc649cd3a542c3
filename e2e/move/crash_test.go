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

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/e2e/testbed"
	"github.com/sliceshift/sliceshift/internal/figures"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/internal/treetest"
	"github.com/sliceshift/sliceshift/migration/engine"
)

// crashStepVariable sets the distance between the tested writes; 1 tests every write.
const (
	crashStepVariable = "SLICESHIFT_CRASH_STEP"
	defaultCrashStep  = 24
)

// fate is the fault that a process suffers at one of its writes.
type fate string

const (
	diesBefore fate = "dies before"
	diesAfter  fate = "dies after"
	noAnswer   fate = "has no answer to"
)

// crashTable describes the documentation's table of the tested writes, with a line for each kind of move.
func crashTable(target string) figures.Table {
	a := figures.Table{
		Target: target, Head: []string{"move"}, Numbers: []string{"writes", "processes", "parts of the testbed that died", "runs repeated for that"},
		Sentence: func(measured, all int, sums []int) string {
			return fmt.Sprintf("%d processes of %d of %d kinds of moves met their fate at one of their writes; each move ended as the same one without.", sums[1], measured, all)
		},
	}
	for _, name := range slices.Sorted(maps.Keys(crashPlays)) {
		a.Parts = append(a.Parts, []string{name})
	}
	return a
}

// TestCrashMatrix kills a process before or after each of its writes, or drops the answer to the write. Another
// process, or the same one, continues. The result is the same as without the fault.
func TestCrashMatrix(t *testing.T) {
	step := harness.FromEnvironment(t, crashStepVariable, defaultCrashStep)
	for _, name := range slices.Sorted(maps.Keys(crashPlays)) {
		play := crashPlays[name]
		t.Run(name, func(t *testing.T) {
			if step > 1 {
				t.Parallel() // the deaths in a whole matrix are counted per kind of move
			}
			began, total := time.Now(), testbed.NewTally()
			var tried atomic.Int64
			var writes int
			t.Cleanup(func() {
				total.Bury(harness.Deaths(began))
				t.Logf("%d processes met their fate at %d writes, in %s. %s", tried.Load(), writes, time.Since(began).Round(time.Second), total.TestbedSentence())
				if harness.WantsFigures() && step == 1 && !t.Failed() {
					died, repeated := total.Broken()
					if err := crashTable(harness.FiguresTarget(t, "crash-matrix")).Write([]string{name}, writes, int(tried.Load()), died, repeated); err != nil {
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

// meets runs a move with a fault at write n and checks its result. It reports whether the write was reached.
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

// crashPlay is a kind of move for the crash matrix.
type crashPlay struct {
	replicas    int32
	where, more harness.Setting
	// fills prepares the volumes and returns a function that checks them at the end. It is nil if the objects
	// that a move leaves are sufficient proof.
	fills func(*move) func()
	// says is the intervention of a user during the move, which is not subject to the fault. It is nil if there
	// is none.
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
	"later":      {1, harness.AcrossClusters, allOf(byCopy, provenLater), (*move).provenCopied, (*move).remembers},
	"limit":      {1, harness.AcrossClusters, allOf(byCopy, overLimit), (*move).largeCopied, (*move).givesTime},
	"in place":   {2, by((*move).inPlaceByCopy), harness.InPlace(&newSize), (*move).replaced, nil},
	"empty":      {1, harness.AcrossClusters, leftBehind(api.EmptySpec{FillsFromPeers: true, ReadyWhenFilled: true}), (*move).leftEmpty, nil},
}

// allOf combines settings.
func allOf(settings ...harness.Setting) harness.Setting {
	return func(v *harness.Move) {
		for _, set := range settings {
			set(v)
		}
	}
}

// oneAhead prefetches one ordinal.
func oneAhead(v *harness.Move) { v.Migration.Spec.Volumes[0].Copy.Prefetch = 1 }

// onAWord makes each ordinal wait for a manual cutover.
func onAWord(v *harness.Move) { v.Migration.Spec.Volumes[0].Copy.Cutover = api.CutoverManual }

// overLimit makes an ordinal down for its whole copy, which exceeds the downtime limit.
func overLimit(v *harness.Move) {
	asked := &v.Migration.Spec.Volumes[0].Copy
	asked.Warm, asked.Bandwidth, asked.DowntimeLimit = api.CopyWarmNone, new(resource.MustParse("512Ki")), &metav1.Duration{Duration: 3 * time.Second}
}

// turnsTwo requests a rollback once two ordinals are copied.
func (v *move) turnsTwo(store records.ConfigMap) harness.Report {
	two := harness.When(func(m *api.Migration, _ engine.Outcome) bool { return aheadOf(m) > 0 })
	return two(func() error { return store.SetMode(v.Ctx, api.ModeRollback) })
}

// givesTime removes the limits of a copy once an ordinal was rolled back.
func (v *move) givesTime(store records.ConfigMap) harness.Report {
	return harness.StalledWith(api.ReasonCopyTurnedBack)(func() error {
		now := v.Migration.Spec.Volumes[0]
		now.Copy.Bandwidth, now.Copy.DowntimeLimit = nil, nil
		return store.Change(v.Ctx, records.Change{Volumes: []api.VolumeSpec{now}})
	})
}

// run moves the application with a fault at write n, or without a fault if n is 0. It returns the number of
// writes, whether write n was reached, and the objects that are left.
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

// copied fills the volumes. The returned function checks that each ordinal has its data on a new disk and that
// the old volumes are kept.
func (v *move) copied() func() {
	before, handles := v.filled(), v.handles(v.Here())
	return func() {
		v.expectCopies(v.There(), before)
		v.expectLeft(handles)
		v.expectNoMovers()
	}
}

// largeCopied does the same as copied, with so much data that the copy takes a while.
func (v *move) largeCopied() func() {
	looks := v.copied()
	treetest.In(v.T, v.folders(v.Here())[0]).File("much", treetest.Bytes(7, much))
	return looks
}

// atHome fills the volumes. The returned function checks that each ordinal is on its original disk and that
// nothing of a copy is left.
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

// inPlaceByCopy prepares a change in place by method Copy.
func (v *move) inPlaceByCopy() {
	byCopy(v.Move)
	ofStandard(v.Move)
}

// replaced fills the volumes. The returned function checks that each ordinal has its data on a new disk of the new class and
// size, and that the old volumes are kept.
func (v *move) replaced() func() {
	before, handles := v.filled(), v.handles(v.Here())
	return func() {
		asked := v.Migration.Spec.Volumes[0]
		v.expectClaims(*asked.StorageClassName, *asked.Size)
		v.expectCopies(v.Here(), before)
		v.expectLeft(handles)
		v.expectNoMovers()
	}
}

// leftEmpty returns a function that checks that the old volumes are kept and that no ordinal uses them.
func (v *move) leftEmpty() func() {
	before := v.handles(v.Here())
	return func() { v.expectLeft(before) }
}

// fewer is the number of writes that a run may lack compared to another run, because status writes about waits
// depend on timing.
const fewer = 8

// crash moves the application with a fault at write n, or without a fault if n is 0. It returns the number of
// writes and whether write n was reached.
func (v *move) crash(f fate, n int, says func(*move, records.ConfigMap) harness.Report) (writes int, crashed bool) {
	v.T.Helper()
	ctx, die := context.WithCancel(v.Ctx)
	defer die()
	c := &crasher{fate: f, at: int64(n), die: die}
	person, err := fixture.NewMover(v.Ctx, v.From.RESTConfig(), v.To.RESTConfig(), v.Migration)
	v.Must(err)
	word := func(*api.Migration, engine.Outcome) error { return nil }
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

// crasher intercepts the requests of a process to its API servers.
type crasher struct {
	fate  fate
	at    int64
	die   context.CancelFunc
	count atomic.Int64
	dead  atomic.Bool
}

var errCrashed = errors.New("the process has crashed")

// through returns a config whose requests pass through the crasher.
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

// changes reports whether a request can change an object. Access reviews and dry runs cannot.
func changes(r *http.Request) bool {
	return r.Method != http.MethodGet && !strings.Contains(r.URL.Path, "/authorization.k8s.io/") && r.URL.Query().Get("dryRun") == ""
}
