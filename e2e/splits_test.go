package e2e

import (
	"context"
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/internal/records"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// another begins one more Migration, under a name of its own, on what the former has left.
func (v *move) another(name string, change func(*api.MigrationSpec)) {
	v.t.Helper()
	v.m = &api.Migration{ObjectMeta: metav1.ObjectMeta{Namespace: v.m.Namespace, Name: name}, Spec: v.m.Spec}
	v.m.Spec.Ordinals, v.m.Spec.Mode = api.OrdinalsSpec{}, api.ModeRun
	change(&v.m.Spec)
}

// back has the Migration that is next go the other way.
func (v *move) back(name string, ordinals api.OrdinalsSpec) {
	v.t.Helper()
	v.another(name, func(s *api.MigrationSpec) { s.Ordinals = ordinals })
	mover, err := fixture.NewMover(v.ctx, v.to.RESTConfig(), v.from.RESTConfig(), v.m)
	v.must(err)
	v.drive(mover)
}

// expectShares waits until both PodDisruptionBudgets together allow d evictions; each allows
// at least so many.
func (v *move) expectShares(d, least int32) {
	v.t.Helper()
	var allowed [2]int32
	v.eventually("the budgets are confirmed", func(ctx context.Context) (bool, error) {
		for i, at := range []end{v.here(), v.there()} {
			budget, err := at.client.PolicyV1().PodDisruptionBudgets(at.namespace).Get(ctx, v.app.Name, metav1.GetOptions{})
			if err != nil || budget.Status.ObservedGeneration < budget.Generation {
				return false, err
			}
			allowed[i] = budget.Status.DisruptionsAllowed
		}
		return allowed[0]+allowed[1] == d, nil
	})
	if min(allowed[0], allowed[1]) < least {
		v.t.Errorf("the budgets allow %v, want at least %d each", allowed, least)
	}
}

// TestSplitLivesOn: a Migration that has moved a part leaves both sides with a part of the
// budget, and another one takes the rest, or takes back what is there. The third goes on
// from there (G11).
func TestSplitLivesOn(t *testing.T) {
	split := func(t *testing.T) *move {
		t.Helper()
		app := usual(5)
		app.MaxUnavailable = intOrString("2")
		v := newMove(t, app, acrossClusters, withBudget(2), withSpec(func(s *api.MigrationSpec) { s.Ordinals.Count = ptr.To[int32](2) }))
		v.run()
		v.expectSlice(v.here(), 0, 3)
		v.expectSlice(v.there(), 3, 2)
		v.expectShares(2, 1)
		return v
	}
	t.Run("the rest", func(t *testing.T) {
		t.Parallel()
		v := split(t)
		v.another("rest", func(*api.MigrationSpec) {})
		v.run()
		v.expectMoved()
		v.audit()
	})
	t.Run("a part of it, then all, back", func(t *testing.T) {
		t.Parallel()
		v := split(t)
		v.back("one", api.OrdinalsSpec{Order: api.LowestFirst, Count: ptr.To[int32](1)})
		v.expectSlice(v.here(), 0, 4)
		v.expectSlice(v.there(), 4, 1)
		v.expectShares(2, 1)
		v.back("all", api.OrdinalsSpec{Order: api.LowestFirst})
		v.expectSlice(v.here(), 0, 5)
		v.expectSlice(v.there(), 0, 0)
		v.expectBudget(v.here())
		v.expectVolumes(v.here(), 5)
		v.audit()
	})
}

// TestSplitOfOneCluster: where both sides share what holds their disks, or even their
// PodDisruptionBudget, the next Migration takes the rest all the same; rolled back, it ends at
// the split that it had found (G11).
func TestSplitOfOneCluster(t *testing.T) {
	for name, where := range map[string]setting{"namespaces": acrossNamespaces, "names": acrossNames} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newMove(t, usual(4), where, withSpec(func(s *api.MigrationSpec) { s.Ordinals.Count = ptr.To[int32](1) }))
			v.run()
			v.another("rest", func(*api.MigrationSpec) {})
			mover := v.mover()
			v.drive(mover, arrival(2)(func() error { return mover.Store.SetMode(v.ctx, api.ModeRollback) }))
			v.expectSlice(v.here(), 0, 3)
			v.expectSlice(v.there(), 3, 1)
			v.must(mover.Store.SetMode(v.ctx, api.ModeRun))
			v.drive(mover)
			v.expectMoved()
			v.audit()
		})
	}
}

// TestSplitBudgetHandedOver: where the budget is enough for one side only, the nodes of the
// other cannot be drained. It is handed over when the Migration has been completed long since
// (G11).
func TestSplitBudgetHandedOver(t *testing.T) {
	t.Parallel()
	v := newMove(t, usual(3), acrossClusters, withSpec(func(s *api.MigrationSpec) { s.Ordinals.Count = ptr.To[int32](1) }))
	mover := v.run()
	for _, step := range []struct {
		to            api.SplitBudget
		has, hasNot   end
		pod, stranded string
	}{
		{api.SplitBudgetDestination, v.there(), v.here(), "web-2", "web-0"},
		{api.SplitBudgetSource, v.here(), v.there(), "web-0", "web-2"},
	} {
		v.must(edit(v.ctx, mover.Store, func(s *api.MigrationSpec) { s.SplitBudget = step.to }))
		v.drive(mover)
		v.expectShares(1, 0)
		if err := v.evict(step.hasNot, step.stranded); !apierrors.IsTooManyRequests(err) {
			t.Errorf("%s: the other side's eviction: got %v, want it to be refused", step.to, err)
		}
		v.must(v.evict(step.has, step.pod))
		v.awaitAnew(step.has, step.pod)
	}
	v.audit()
}

// edit changes what a record asks for.
func edit(ctx context.Context, store records.ConfigMap, change func(*api.MigrationSpec)) error {
	m, err := store.Load(ctx)
	if err != nil {
		return err
	}
	change(&m.Spec)
	return store.Save(ctx, m)
}

func (v *move) evict(at end, pod string) error {
	return at.client.CoreV1().Pods(at.namespace).EvictV1(v.ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod}})
}

// awaitAnew waits until the budget of a side can be used again: the pod that was evicted is
// there, and counted.
func (v *move) awaitAnew(at end, pod string) {
	v.t.Helper()
	v.eventually(pod+" is there again", func(ctx context.Context) (bool, error) {
		budget, err := at.client.PolicyV1().PodDisruptionBudgets(at.namespace).Get(ctx, v.app.Name, metav1.GetOptions{})
		return err == nil && len(budget.Status.DisruptedPods) == 0 && budget.Status.DisruptionsAllowed == 1, err
	})
}

// TestDeletedThenTaken: what a Migration that is deleted in mid-move leaves behind is a split as
// any other, and the next Migration takes the rest (G11).
func TestDeletedThenTaken(t *testing.T) {
	t.Parallel()
	v := newMove(t, usual(4), acrossClusters)
	c := v.managed()
	startManager(t, v.app.Namespace)
	v.must(c.Create(v.ctx, v.m))
	v.awaitFewer(3)
	v.must(c.Delete(v.ctx, v.m))
	v.eventually("the Migration is gone", gone(c, v.m))
	v.another("rest", func(*api.MigrationSpec) {})
	v.must(c.Create(v.ctx, v.m))
	if condition := v.await(c, api.ConditionCompleted, metav1.ConditionTrue); condition.Reason != api.ReasonMoved {
		t.Errorf("completed with %s", condition.Reason)
	}
	v.expectMoved()
	v.audit()
}
