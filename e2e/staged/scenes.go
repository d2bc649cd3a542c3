package staged

import (
	"errors"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/pdb"
	"github.com/sliceshift/sliceshift/pdb/pdbtest"
	"github.com/sliceshift/sliceshift/volumes"
)

// scene is a migration, and the events until the moment that is shown.
type scene struct {
	world plantest.Scenario
	// spec and change modify the default spec and world; nil changes nothing.
	spec   func(*api.MigrationSpec)
	change func(*plan.Snapshot)
	// stuck are the ordinals whose volumes remain attached to the node of the source.
	stuck []int32
	// refuses is the answer of the API server to a write; nil accepts all writes.
	refuses func(plan.Effect) error
	play    func(*Run)
}

// at returns the record of a scene whose moment is now.
func (s scene) at(t testing.TB, now time.Time) *api.Migration {
	t.Helper()
	now = now.Truncate(time.Second)
	took := time.Duration(0)
	for range 2 { // its duration is known only after it was played
		r := newRun(t, s, now.Add(-took))
		s.play(r)
		if took = r.clock.Now().Sub(now.Add(-took)); !r.clock.Now().Before(now.Add(time.Second)) {
			continue
		}
		return r.Migration
	}
	t.Fatalf("%s does not end at %s", s.world.Name, now)
	return nil
}

// application returns an application with a number of ordinals with one claim each, one of which may be down.
func application(name string, ordinals int32) plantest.Scenario {
	return plantest.Scenario{Name: name, Replicas: ordinals, Templates: []string{"data"}, Budget: pdbtest.MaxUnavailable(1), Service: true}
}

// UnderWay returns a migration of 7 ordinals, two of which have moved, and a third one is starting at the
// destination.
func UnderWay(t testing.TB, name string, now time.Time) *api.Migration {
	t.Helper()
	return scene{world: application(name, 7), play: func(r *Run) {
		r.until(inFlight(4, api.StepAwaitReadiness))
		r.lasts(7 * time.Second)
	}}.at(t, now)
}

// Stalled returns a migration of 5 ordinals that was paused for a while. The second ordinal's volume remains
// attached to its node.
func Stalled(t testing.TB, name string, now time.Time) *api.Migration {
	t.Helper()
	return scene{world: application(name, 5), stuck: []int32{3}, spec: func(spec *api.MigrationSpec) {
		spec.Handoff.ProgressDeadlineSeconds = new(int32(45))
	}, play: func(r *Run) {
		r.until(moved(1))
		r.mode(api.ModePause)
		r.until(reason(api.ConditionProgressing, api.ReasonPaused))
		r.lasts(10 * time.Second)
		r.mode(api.ModeRun)
		r.until(reason(api.ConditionStalled, api.ReasonVolumeAttached))
		r.lasts(10 * time.Second)
	}}.at(t, now)
}

// Arrivals returns the records of one move of a number of ordinals, at the time when each of them begins to
// leave. The first record has no moved ordinal.
func Arrivals(t testing.TB, name string, total int32, now time.Time) []*api.Migration {
	t.Helper()
	r := newRun(t, scene{world: application(name, total)}, now.Add(-time.Hour))
	var all []*api.Migration
	for n := range total {
		r.until(func(m *api.Migration) bool { return m.Status.Handoff != nil && m.Status.Moved == n })
		all = append(all, r.Migration.DeepCopy())
	}
	return all
}

// Pictured returns the migrations on the screenshots of the documentation, in all states.
func Pictured(t testing.TB, now time.Time) []*api.Migration {
	t.Helper()
	all := []*api.Migration{UnderWay(t, "web", now), Stalled(t, "orders", now)}
	for _, s := range []scene{paused(), done(), refused(), waiting(now), goingBack(), heldAhead()} {
		all = append(all, s.at(t, now))
	}
	return all
}

func paused() scene {
	return scene{world: application("search", 5), play: func(r *Run) {
		r.until(moved(3))
		r.mode(api.ModePause)
		r.until(reason(api.ConditionProgressing, api.ReasonPaused))
		r.lasts(3 * time.Minute)
	}}
}

func done() scene {
	return scene{world: application("sessions", 3), play: func(r *Run) {
		r.until(reason(api.ConditionCompleted, api.ReasonMoved))
		r.lasts(time.Minute)
	}}
}

// refused is a migration whose pods match two PodDisruptionBudgets.
func refused() scene {
	return scene{world: application("ledger", 3), change: func(s *plan.Snapshot) {
		s.Source.Budgets = append(s.Source.Budgets, plan.Budget{Name: "ledger-strict", UID: "strict", ResourceVersion: "1", Form: pdb.Unavailable(0), Observed: true})
	}, play: func(r *Run) {
		r.until(reason(api.ConditionStalled, api.ReasonSeveralBudgets))
		r.lasts(9 * time.Minute)
	}}
}

// waiting is a migration that may only begin at night.
func waiting(now time.Time) scene {
	const zone, hours = "Europe/Berlin", 10
	return scene{world: application("events", 9), spec: func(spec *api.MigrationSpec) {
		local, err := time.LoadLocation(zone)
		if err != nil {
			panic(err)
		}
		opens := now.In(local).Add(hours * time.Hour)
		spec.Schedule = &api.ScheduleSpec{TimeZone: zone, Windows: []api.Window{{Start: fmt.Sprintf("0 %d * * *", opens.Hour()), Duration: metav1.Duration{Duration: 3 * time.Hour}}}}
	}, play: func(r *Run) {
		r.until(reason(api.ConditionProgressing, api.ReasonOutsideWindow))
		r.lasts(25 * time.Minute)
	}}
}

// goingBack is a migration that its user has rolled back, with an ordinal that is starting at the source again.
func goingBack() scene {
	return scene{world: application("carts", 7), play: func(r *Run) {
		r.until(moved(3))
		r.mode(api.ModeRollback)
		r.until(func(m *api.Migration) bool {
			return m.Status.Fence.Direction == api.Back && inFlight(5, api.StepAwaitReadiness)(m)
		})
		r.lasts(7 * time.Second)
	}}
}

// heldAhead is a migration whose claims are copied, and whose quota has no room for the copy of the next
// ordinal.
func heldAhead() scene {
	world := application("stock", 4)
	world.Method, world.Prefetch = api.MethodCopy, 1
	return scene{world: world, spec: func(spec *api.MigrationSpec) {
		spec.Volumes = []api.VolumeSpec{{ClaimTemplate: "data", Method: api.MethodCopy, Copy: api.CopySpec{Image: "registry.example.com/sliceshift-mover", Prefetch: 1}}}
	}, refuses: func(e plan.Effect) error {
		if e.Verb != plan.CarryVolume || e.Volume.Verb != volumes.CreateIncoming || e.Ordinal != 2 {
			return nil
		}
		return apierrors.NewForbidden(schema.GroupResource{Resource: "persistentvolumeclaims"}, e.Volume.Ref.Name, errors.New("exceeded quota: storage, requested: persistentvolumeclaims=1, used: persistentvolumeclaims=8, limited: persistentvolumeclaims=8"))
	}, play: func(r *Run) {
		r.until(reason(api.ConditionAheadHeld, api.ReasonWriteRefused))
		r.lasts(7 * time.Second)
	}}
}

// moved is the moment at which a number of ordinals have arrived.
func moved(ordinals int32) func(*api.Migration) bool {
	return func(m *api.Migration) bool {
		return m.Status.Baseline != nil && m.Status.Moved == ordinals
	}
}

// inFlight is the moment at which an ordinal has reached a step.
func inFlight(ordinal int32, step api.Step) func(*api.Migration) bool {
	return func(m *api.Migration) bool {
		h := m.Status.Handoff
		return h != nil && h.Ordinal == ordinal && h.Step == step
	}
}

// reason is the moment at which a condition has a reason.
func reason(kind, reason string) func(*api.Migration) bool {
	return func(m *api.Migration) bool {
		c := meta.FindStatusCondition(m.Status.Conditions, kind)
		return c != nil && c.Reason == reason
	}
}
