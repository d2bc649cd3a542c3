package move

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/e2e/testbed"
	"github.com/sliceshift/sliceshift/migration/engine"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// inBlocks is a move of an application that may lack d replicas, with so many ordinals in flight.
func inBlocks(d string, most int32) harness.Setting {
	return func(v *harness.Move) {
		v.App.MaxUnavailable, v.App.Policy = harness.IntOrString(d), appsv1.ParallelPodManagement
		v.Budget = int32(v.App.MaxUnavailable.IntValue())
		v.Migration.Spec.Handoff.MaxInFlight = new(intstr.FromInt32(most))
		v.Migration.Spec.Handoff.MinReadySeconds = new(int32(2))
	}
}

// inFlight notes how many ordinals were in flight, and the fewest available replicas.
type inFlight struct {
	most   int
	fewest int32
}

func (f *inFlight) see(m *api.Migration, outcome engine.Outcome) error {
	f.most = max(f.most, len(m.Status.Handoffs()))
	if s := outcome.Snapshot; s.Source.Set.Replicas > 0 && m.Status.Baseline != nil && m.Status.Source != nil && m.Status.Destination != nil {
		if now := m.Status.Source.Available + m.Status.Destination.Available; len(m.Status.Handoffs()) > 0 && (f.fewest == 0 || now < f.fewest) {
			f.fewest = now
		}
	}
	return nil
}

// TestMaxInFlight: 12 replicas move by threes. At most 3 are down at once, each handoff writes what it writes one at a
// time, and the move is faster (I4, I5).
func TestMaxInFlight(t *testing.T) {
	const replicas = 12
	took, wrote, reads := map[int32]time.Duration{}, map[int32]map[string][]string{}, map[int32]int64{}
	for _, most := range []int32{1, 3} {
		v := newMove(t, harness.Usual(replicas), harness.AcrossClusters, inBlocks("3", most))
		w := &writes{to: map[string][]string{}, plain: strings.NewReplacer(v.App.Namespace, "HERE", v.ToNamespace, "THERE")}
		r := &readings{}
		mover, err := fixture.NewMover(v.Ctx, r.counting(w.recorded("source", v.From.RESTConfig())), r.counting(w.recorded("destination", v.To.RESTConfig())), v.Migration)
		v.Must(err)
		seen, begin := inFlight{}, time.Now()
		v.Drive(mover, seen.see)
		took[most], wrote[most], reads[most] = time.Since(begin), w.to, r.sent.Load()
		v.ExpectMovedCleanly()
		v.Audit()
		if seen.most != int(most) || seen.fewest < replicas-most {
			t.Errorf("%d at once: %d were in flight, and %d available", most, seen.most, seen.fewest)
		}
	}
	t.Logf("one at a time: %s and %d reads; by threes: %s and %d reads", took[1], reads[1], took[3], reads[3])
	if took[3] > took[1]*2/3 {
		t.Errorf("by threes it takes %s, and one at a time %s", took[3], took[1])
	}
	for object, once := range wrote[1] {
		now := wrote[3][object]
		if budget := strings.Contains(object, "/poddisruptionbudgets/"); budget && len(now) > len(once) || !budget && len(now) != len(once) {
			t.Errorf("%s is written %d times, and one at a time %d times", object, len(now), len(once))
		}
	}
	if reads[3] > reads[1]*5/4 {
		t.Errorf("by threes it reads %d times, and one at a time %d times", reads[3], reads[1])
	}
}

// TestMaxInFlightInOrder: an OrderedReady application moves by twos, and its pods start one after the other.
func TestMaxInFlightInOrder(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(5), harness.AcrossNamespaces, inBlocks("2", 2), harness.WithSpec(lowestFirst), func(v *harness.Move) { v.App.Policy = appsv1.OrderedReadyPodManagement })
	seen := inFlight{}
	v.Drive(v.Mover(), seen.see)
	v.ExpectMovedCleanly()
	v.Audit()
	if seen.most != 2 {
		t.Errorf("%d were in flight", seen.most)
	}
}

// TestMaxInFlightBack: a rollback at a write in the middle of a block takes every ordinal back.
func TestMaxInFlightBack(t *testing.T) {
	for name, n := range map[string]int{"stopped": 14, "carried": 22, "started": 30} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newMove(t, harness.Usual(6), harness.AcrossClusters, inBlocks("3", 3))
			mover := v.Mover()
			v.Drive(mover, harness.OnWrite(n, func() error { return mover.Store.SetMode(v.Ctx, api.ModeRollback) }))
			v.ExpectBack()
			v.Audit()
		})
	}
}

// TestMaxInFlightPause: a pause in the middle of a block brings up those that are down, and begins no further one. After
// it, the rest moves.
func TestMaxInFlightPause(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(6), harness.AcrossClusters, inBlocks("3", 3))
	mover := v.Mover()
	resumed := false
	v.Drive(mover, harness.Arrival(5)(func() error { return mover.Store.SetMode(v.Ctx, api.ModePause) }),
		func(m *api.Migration, outcome engine.Outcome) error {
			hold := outcome.Decision.Hold
			if resumed || hold == nil || hold.Reason != api.ReasonPaused || len(m.Status.Handoffs()) > 0 {
				return nil
			}
			resumed = true
			return mover.Store.SetMode(v.Ctx, api.ModeRun)
		})
	v.ExpectMovedCleanly()
	v.Audit()
	if !resumed {
		t.Error("it did not pause")
	}
}

// TestMaxInFlightCrash: a process dies before or after a write of a block, or gets no answer to it. Another one, or the
// same, continues, and the end is the same (I7).
func TestMaxInFlightCrash(t *testing.T) {
	for name, play := range map[string]crashPlay{
		"rebound": {4, harness.AcrossClusters, inBlocks("2", 2), nil, nil},
		"copied":  {2, harness.AcrossClusters, allOf(inBlocks("2", 2), byCopy), (*move).copied, nil},
	} {
		t.Run(name, func(t *testing.T) {
			total := testbed.NewTally()
			var writes int
			var want string
			harness.Repeat(t, total, func(a *testbed.Attempt) { writes, _, want = play.run(a, noAnswer, 0) })
			const step = 18
			for offset, f := range []fate{diesBefore, diesAfter, noAnswer} {
				for n := 12 + offset*step/3; n <= writes; n += step {
					t.Run(fmt.Sprintf("%s write %d", f, n), func(t *testing.T) {
						t.Parallel()
						play.meets(t, total, f, n, writes, want)
					})
				}
			}
		})
	}
}

// TestMaxInFlightCopy: ordinals move by Copy in twos. Both of a block are copied at the same time, by movers of their own,
// and each starts on its own data.
func TestMaxInFlightCopy(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(4), harness.AcrossClusters, inBlocks("2", 2), byCopy)
	expect, seen, both, down := v.copied(), inFlight{}, false, false
	v.Drive(v.Mover(), seen.see, func(m *api.Migration, _ engine.Outcome) error {
		copied := 0
		for _, handoff := range m.Status.Handoffs() {
			if handoff.Volume("data").Copy.Number > 0 {
				copied++
			}
		}
		both = both || copied == 2
		down = down || m.Status.History != nil && len(m.Status.History.FurtherStopped) > 0
		return nil
	})
	v.ExpectMoved()
	expect()
	v.Audit()
	if seen.most != 2 || seen.fewest < 2 || !both {
		t.Errorf("%d were in flight, %d available, and both copied: %t", seen.most, seen.fewest, both)
	}
	t.Logf("both were down at once: %t", down)
}

// TestMaxInFlightCopyBack: a rollback at a write in the middle of a block that is copied takes both ordinals back.
func TestMaxInFlightCopyBack(t *testing.T) {
	for name, at := range map[string]harness.Moment{
		"copied":     harness.CopyStep(volumes.TellMover, volumes.RoleWarm),
		"released":   harness.CopyStep(volumes.Release, ""),
		"let begin":  harness.CopyStep(volumes.TellMover, volumes.RoleSender),
		"taken over": harness.Wrote(func(e *plan.Effect) bool { return e.Verb == plan.ScaleUp }),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newMove(t, harness.Usual(3), harness.AcrossClusters, inBlocks("2", 2), byCopy)
			v.filled()
			mover := v.Mover()
			v.Drive(mover, at(func() error { return mover.Store.SetMode(v.Ctx, api.ModeRollback) }))
			v.expectHome()
			v.expectNoMovers()
			v.Audit()
		})
	}
}

// TestMaxInFlightSnapshot: ordinals move by snapshots in twos.
func TestMaxInFlightSnapshot(t *testing.T) {
	d := startSnapshots(t)
	v := newMove(t, harness.Usual(3), d.app(3), inBlocks("2", 2), bySnapshot(diskDriver))
	data, handles, seen := v.write("before", v.mounted(v.Here(), d.sites[0])), v.handles(v.Here()), inFlight{}
	v.Drive(v.Mover(), seen.see)
	v.ExpectMoved()
	v.same(data, v.mounted(v.There(), d.sites[1]))
	v.expectLeft(handles)
	v.expectNoMovers()
	v.expectNoSnapshots(d)
	v.Audit()
	if seen.most != 2 {
		t.Errorf("%d were in flight", seen.most)
	}
}

// TestMaxInFlightStatus: the status lists every handoff with its step.
func TestMaxInFlightStatus(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(6), harness.AcrossClusters, inBlocks("3", 3))
	mover := v.Mover()
	var listed []int32
	v.Drive(mover, func(m *api.Migration, _ engine.Outcome) error {
		for _, handoff := range m.Status.FurtherHandoffs {
			if !slices.Contains(listed, handoff.Ordinal) && handoff.Step != "" {
				listed = append(listed, handoff.Ordinal)
			}
		}
		return nil
	})
	v.ExpectMovedCleanly()
	if len(listed) < 4 {
		t.Errorf("only ordinals %v were listed beside another one", listed)
	}
}
