// Package staged provides realistic migrations: a real Engine drives each one over the simulated world of the
// dry run, up to a moment for tests and screenshots. No status is written by hand.
package staged

import (
	"context"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktest "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/migration/engine"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/migration/simulate"
	"github.com/sliceshift/sliceshift/migration/world"
	"github.com/sliceshift/sliceshift/volumes"
)

// latency is the minimum duration of a write, and of the notification of a change.
const latency = 50 * time.Millisecond

// enough is a number of passes that suffices for each migration of this package.
const enough = 3000

// Run is a migration that an Engine drives over a simulated world. It implements migration.World.
type Run struct {
	testing.TB
	// Migration is the record as last read or written.
	Migration *api.Migration
	world     *simulate.World
	nodes     nodes
	engine    *engine.Engine
	store     records.Resource
	clock     *clocktest.FakePassiveClock
	refuses   func(plan.Effect) error
}

// newRun returns a migration of a scene that begins at a time.
func newRun(t testing.TB, s scene, from time.Time) *Run {
	t.Helper()
	m := &api.Migration{}
	m.Namespace, m.Name, m.UID, m.Generation = "shop", s.world.Name, types.UID(s.world.Name), 1
	m.Spec.Mode, m.Spec.Source.Name = api.ModeRun, m.Name
	m.Spec.Destination = api.DestinationReference{KubeConfigSecretRef: &api.SecretKeyReference{Name: "west"}, Name: m.Name}
	if s.spec != nil {
		s.spec(&m.Spec)
	}
	snapshot := s.world.Build()
	settle(&snapshot, from)
	if s.change != nil {
		s.change(&snapshot)
	}
	c := fake.NewClientBuilder().WithScheme(clusters.NewScheme()).WithObjects(m).WithStatusSubresource(m).Build()
	r := &Run{
		TB: t, world: simulate.NewWorld(snapshot), nodes: newNodes(), clock: clocktest.NewFakePassiveClock(from),
		refuses: s.refuses,
		store:   records.Resource{Client: c, Namespace: m.Namespace, Name: m.Name},
	}
	r.world.Attaches = true
	for _, ordinal := range s.stuck {
		r.nodes.stuck[ordinal] = true
	}
	r.Migration = r.read()
	options := engine.Options{Records: r.store, Holder: "sliceshift-manager-7c9d5b6f4-x2x8k", Clock: r.clock, World: r}
	for name, at := range map[string]**clusters.Connection{"east": &options.Source, "west": &options.Destination} {
		connection, err := clusters.Off(name)
		if err != nil {
			t.Fatal(err)
		}
		*at = connection
	}
	r.engine = engine.NewEngine(r.Migration, options)
	t.Cleanup(r.engine.Close)
	return r
}

// settle makes the application of a world run since an hour before a time, on nodes of the source to which its
// volumes are attached.
func settle(s *plan.Snapshot, now time.Time) {
	s.Now = now
	for i := range s.Source.Pods {
		pod := &s.Source.Pods[i]
		pod.Node, pod.ReadySince = fmt.Sprintf("worker-%d", pod.Ordinal%3+1), now.Add(-time.Hour)
		for j := range s.Volumes {
			if v := &s.Volumes[j]; v.Ordinal == pod.Ordinal {
				v.Source.Volume.Attachments = []volumes.Attachment{{Name: fmt.Sprintf("csi-81d4f%d", pod.Ordinal), Node: pod.Node}}
			}
		}
	}
}

func (r *Run) read() *api.Migration {
	r.Helper()
	m, err := r.store.Load(context.Background())
	if err != nil {
		r.Fatal(err)
	}
	return m
}

// until runs passes until a moment is reached.
func (r *Run) until(moment func(m *api.Migration) bool) {
	r.Helper()
	for range enough {
		rests := r.pass()
		if moment(r.Migration) {
			return
		}
		r.sleep(rests)
	}
	r.Fatalf("the moment does not come: %s, %+v", r.world, r.Migration.Status.Conditions)
}

// lasts runs passes for a duration.
func (r *Run) lasts(d time.Duration) {
	r.Helper()
	for end := r.clock.Now().Add(d); r.clock.Now().Before(end); {
		r.sleep(min(r.pass(), end.Sub(r.clock.Now())))
	}
}

// pass runs a pass, and returns the time until the next event.
func (r *Run) pass() time.Duration {
	r.Helper()
	outcome, err := r.engine.Pass(context.Background(), r.Migration)
	if err != nil {
		r.Fatal(err)
	}
	r.world.Note(world.RecordOf(r.Migration)) // the pass may have looked at an ordinal ahead of its turn
	r.controllers()
	now := r.clock.Now()
	if next, found := r.nodes.next(r.world, now); found {
		return max(latency, min(outcome.RequeueAfter, next.Sub(now)))
	}
	return max(latency, outcome.RequeueAfter)
}

// sleep advances the clock, and lets nodes complete the tasks that are due.
func (r *Run) sleep(d time.Duration) {
	now := r.clock.Now().Add(d)
	r.clock.SetTime(now)
	r.world.State.Now = now
	r.nodes.act(r.world, now)
	r.controllers()
}

// controllers runs the controllers, which act at once except for the tasks of nodes.
func (r *Run) controllers() {
	for changed := true; changed; {
		changed = false
		for _, name := range plan.SideNames {
			changed = r.world.SettleCopies() || changed
			for _, act := range []func(plan.SideName) bool{r.world.Learn, r.world.Confirm, r.world.ControlSet, r.world.ControlBudgets, r.world.BindClaims} {
				changed = act(name) || changed
			}
		}
	}
}

// mode sets the mode, as a user does.
func (r *Run) mode(mode api.Mode) {
	r.Helper()
	if err := r.store.SetMode(context.Background(), mode); err != nil {
		r.Fatal(err)
	}
	r.Migration = r.read()
}

// Engage implements migration.World: the checks find nothing.
func (r *Run) Engage(context.Context, *api.Migration) ([]plan.Finding, error) { return nil, nil }

// EndPass implements migration.World.
func (r *Run) EndPass() {}

// Snapshot implements migration.World.
func (r *Run) Snapshot(_ context.Context, m *api.Migration, reads planner.Reads) plan.Snapshot {
	r.world.Note(world.RecordOf(m))
	s := r.world.Read(reads)
	s.Now, s.Migration, s.UID = r.clock.Now(), client.ObjectKeyFromObject(m), m.UID
	s.Spec = world.SpecOf(m, s.Spec.SameCluster)
	return s
}

// Do implements migration.World.
func (r *Run) Do(_ context.Context, _ *api.Migration, effect plan.Effect) (client.Object, error) {
	if r.refuses != nil {
		if err := r.refuses(effect); err != nil {
			return nil, err
		}
	}
	if err := r.world.Apply(effect); err != nil {
		return nil, apierrors.NewConflict(schema.GroupResource{Resource: "objects"}, effect.Name, err)
	}
	return nil, nil //nolint:nilnil // no cache shows what this world holds: nothing is awaited
}
