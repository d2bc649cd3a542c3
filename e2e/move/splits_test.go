package move

import (
	"context"
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/internal/records"
)

// another prepares another Migration with its own name, which starts from the current split.
func (v *move) another(name string, change func(*api.MigrationSpec)) {
	v.T.Helper()
	v.Migration = &api.Migration{ObjectMeta: metav1.ObjectMeta{Namespace: v.Migration.Namespace, Name: name}, Spec: v.Migration.Spec}
	v.Migration.Spec.Ordinals, v.Migration.Spec.Mode = api.OrdinalsSpec{}, api.ModeRun
	change(&v.Migration.Spec)
}

// back runs another Migration in the opposite direction.
func (v *move) back(name string, ordinals api.OrdinalsSpec) {
	v.T.Helper()
	v.another(name, func(s *api.MigrationSpec) { s.Ordinals = ordinals })
	mover, err := fixture.NewMover(v.Ctx, v.To.RESTConfig(), v.From.RESTConfig(), v.Migration)
	v.Must(err)
	v.Drive(mover)
}

// expectShares waits until both PodDisruptionBudgets together allow d evictions, and checks that each allows at
// least least.
func (v *move) expectShares(d, least int32) {
	v.T.Helper()
	var allowed [2]int32
	v.Eventually("the budgets are confirmed", func(ctx context.Context) (bool, error) {
		for i, at := range []harness.Endpoint{v.Here(), v.There()} {
			budget, err := at.Client.PolicyV1().PodDisruptionBudgets(at.Namespace).Get(ctx, v.App.Name, metav1.GetOptions{})
			if err != nil || budget.Status.ObservedGeneration < budget.Generation {
				return false, err
			}
			allowed[i] = budget.Status.DisruptionsAllowed
		}
		return allowed[0]+allowed[1] == d, nil
	})
	if min(allowed[0], allowed[1]) < least {
		v.T.Errorf("the budgets allow %v, want at least %d each", allowed, least)
	}
}

// TestSplitLivesOn: a Migration that has moved a part leaves each side a share of the budget. Another Migration
// moves the rest or moves ordinals back, and a third continues from there (G11).
func TestSplitLivesOn(t *testing.T) {
	split := func(t *testing.T) *move {
		t.Helper()
		app := harness.Usual(5)
		app.MaxUnavailable = harness.IntOrString("2")
		v := newMove(t, app, harness.AcrossClusters, harness.WithBudget(2), harness.WithSpec(func(s *api.MigrationSpec) { s.Ordinals.Count = ptr.To[int32](2) }))
		v.Run()
		v.ExpectSlice(v.Here(), 0, 3)
		v.ExpectSlice(v.There(), 3, 2)
		v.expectShares(2, 1)
		return v
	}
	t.Run("the rest", func(t *testing.T) {
		t.Parallel()
		v := split(t)
		v.another("rest", func(*api.MigrationSpec) {})
		v.Run()
		v.ExpectMovedCleanly()
	})
	t.Run("a part of it, then all, back", func(t *testing.T) {
		t.Parallel()
		v := split(t)
		v.back("one", api.OrdinalsSpec{Order: api.LowestFirst, Count: ptr.To[int32](1)})
		v.ExpectSlice(v.Here(), 0, 4)
		v.ExpectSlice(v.There(), 4, 1)
		v.expectShares(2, 1)
		v.back("all", api.OrdinalsSpec{Order: api.LowestFirst})
		v.ExpectSlice(v.Here(), 0, 5)
		v.ExpectSlice(v.There(), 0, 0)
		v.ExpectBudget(v.Here())
		v.ExpectVolumes(v.Here(), 5)
		v.Audit()
	})
}

// TestSplitOfOneCluster: the sides share the storage of their disks, or even the PodDisruptionBudget. The next
// Migration still moves the rest. After a rollback the split is as it found it (G11).
func TestSplitOfOneCluster(t *testing.T) {
	for name, where := range map[string]harness.Setting{"namespaces": harness.AcrossNamespaces, "names": harness.AcrossNames} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newMove(t, harness.Usual(4), where, harness.WithSpec(func(s *api.MigrationSpec) { s.Ordinals.Count = ptr.To[int32](1) }))
			v.Run()
			v.another("rest", func(*api.MigrationSpec) {})
			mover := v.Mover()
			v.Drive(mover, harness.Arrival(2)(func() error { return mover.Store.SetMode(v.Ctx, api.ModeRollback) }))
			v.ExpectSlice(v.Here(), 0, 3)
			v.ExpectSlice(v.There(), 3, 1)
			v.Must(mover.Store.SetMode(v.Ctx, api.ModeRun))
			v.Drive(mover)
			v.ExpectMovedCleanly()
		})
	}
}

// TestSplitBudgetHandedOver: if the budget is enough for one side only, the nodes of the other side cannot be
// drained. The budget can be handed over long after the Migration has completed (G11).
func TestSplitBudgetHandedOver(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(3), harness.AcrossClusters, harness.WithSpec(func(s *api.MigrationSpec) { s.Ordinals.Count = ptr.To[int32](1) }))
	mover := v.Run()
	for _, step := range []struct {
		to            api.SplitBudget
		has, hasNot   harness.Endpoint
		pod, stranded string
	}{
		{api.SplitBudgetDestination, v.There(), v.Here(), "web-2", "web-0"},
		{api.SplitBudgetSource, v.Here(), v.There(), "web-0", "web-2"},
	} {
		v.Must(edit(v.Ctx, mover.Store, func(s *api.MigrationSpec) { s.SplitBudget = step.to }))
		v.Drive(mover)
		v.expectShares(1, 0)
		if err := v.evict(step.hasNot, step.stranded); !apierrors.IsTooManyRequests(err) {
			t.Errorf("%s: the other side's eviction: got %v, want it to be refused", step.to, err)
		}
		v.Must(v.evict(step.has, step.pod))
		v.awaitAnew(step.has, step.pod)
	}
	v.Audit()
}

// edit changes the spec of a record.
func edit(ctx context.Context, store records.ConfigMap, change func(*api.MigrationSpec)) error {
	m, err := store.Load(ctx)
	if err != nil {
		return err
	}
	change(&m.Spec)
	return store.Save(ctx, m)
}

func (v *move) evict(at harness.Endpoint, pod string) error {
	return at.Client.CoreV1().Pods(at.Namespace).EvictV1(v.Ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod}})
}

// awaitAnew waits until the budget of a side allows a disruption again. The evicted pod then exists and is
// counted.
func (v *move) awaitAnew(at harness.Endpoint, pod string) {
	v.T.Helper()
	v.Eventually(pod+" is there again", func(ctx context.Context) (bool, error) {
		budget, err := at.Client.PolicyV1().PodDisruptionBudgets(at.Namespace).Get(ctx, v.App.Name, metav1.GetOptions{})
		return err == nil && len(budget.Status.DisruptedPods) == 0 && budget.Status.DisruptionsAllowed == 1, err
	})
}

// TestDeletedThenTaken: a Migration that is deleted during a move leaves a normal split, and the next Migration
// moves the rest (G11).
func TestDeletedThenTaken(t *testing.T) {
	v, c := deletedInMidMove(t)
	v.another("rest", func(*api.MigrationSpec) {})
	v.Must(c.Create(v.Ctx, v.Migration))
	v.awaitMoved(c)
}
