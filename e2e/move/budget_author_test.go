package move

import (
	"errors"
	"fmt"
	"strconv"
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/migration/engine"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// author changes the PodDisruptionBudget of an application while it moves.
type author struct {
	*move
	// name and last describe the budget that the author wrote last; last is nil if the budget is deleted.
	name string
	last *intstr.IntOrString
	// spoke is true once the author has written during the move.
	spoke bool
	// stopped counts the stops since the author wrote.
	stopped int
}

func newAuthor(v *move) *author {
	return &author{move: v, name: v.App.Name, last: v.App.MaxUnavailable}
}

func (a *author) budget(name string, n int) *policyv1.PodDisruptionBudget {
	app := a.App
	app.MaxUnavailable = harness.IntOrString(strconv.Itoa(n))
	budget := app.Budget()
	budget.Name = name
	return budget
}

func (a *author) create(name string, n int) error {
	_, err := a.Source.PolicyV1().PodDisruptionBudgets(a.App.Namespace).Create(a.Ctx, a.budget(name, n), metav1.CreateOptions{FieldManager: "kubectl-create"})
	a.name, a.last, a.spoke = name, harness.IntOrString(strconv.Itoa(n)), true
	return err
}

func (a *author) remove(name string) error {
	return a.Source.PolicyV1().PodDisruptionBudgets(a.App.Namespace).Delete(a.Ctx, name, metav1.DeleteOptions{})
}

// write sets maxUnavailable in the budget of a side, as kubectl patch does.
func (a *author) write(at harness.Endpoint, n int) error {
	patch := fmt.Sprintf(`{"spec":{"minAvailable":null,"maxUnavailable":%d}}`, n)
	_, err := at.Client.PolicyV1().PodDisruptionBudgets(at.Namespace).Patch(a.Ctx, a.name, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "kubectl-patch"})
	a.last, a.spoke = harness.IntOrString(strconv.Itoa(n)), true
	return err
}

// looks fails if the migration stops an ordinal or writes a budget before it has recorded the author's last
// value. It also fails if pods can be evicted beyond that value while an ordinal is down.
func (a *author) looks(m *api.Migration, outcome engine.Outcome) error {
	if !a.spoke || !outcome.Wrote {
		return nil
	}
	effect := outcome.Decision.Effect
	if effect.Verb != plan.ScaleDown && effect.Verb != plan.SetBudget && effect.Verb != plan.RestoreBudget {
		return nil
	}
	recorded := m.Status.Baseline.DisruptionBudget
	if a.last != nil && (recorded == nil || recorded.MaxUnavailable == nil || *recorded.MaxUnavailable != *a.last) {
		return fmt.Errorf("%s, and the author has written maxUnavailable %s: recorded is %+v", effect, a.last, recorded)
	}
	if effect.Verb != plan.ScaleDown || a.last == nil {
		return nil
	}
	a.stopped++
	if a.last.IntValue() == 0 {
		return fmt.Errorf("%s, and the author lets none be unavailable", effect)
	}
	if a.last.IntValue() != 1 {
		return nil
	}
	for ordinal := range a.App.Replicas {
		if ordinal == effect.Ordinal {
			continue
		}
		for _, at := range []harness.Endpoint{a.Here(), a.There()} {
			err := a.evict(at, fmt.Sprintf("%s-%d", at.Set, ordinal))
			if err == nil {
				return fmt.Errorf("ordinal %d was evicted while %d is down, and the author lets one be unavailable", ordinal, effect.Ordinal)
			}
			if !apierrors.IsTooManyRequests(err) && !apierrors.IsNotFound(err) {
				return err
			}
		}
	}
	return nil
}

// raises makes the author set maxUnavailable to n when the move waits for that.
func (a *author) raises(n int) harness.Report {
	return harness.StalledWith(api.ReasonBudgetZero)(func() error { return a.write(a.Here(), n) })
}

// ends checks that these sides have the author's last value.
func (a *author) ends(sides ...harness.Endpoint) {
	a.T.Helper()
	for _, at := range sides {
		all, err := at.Client.PolicyV1().PodDisruptionBudgets(at.Namespace).List(a.Ctx, metav1.ListOptions{})
		a.Must(err)
		if len(all.Items) != 1 {
			a.T.Errorf("%s has %d budgets", at.Namespace, len(all.Items))
			continue
		}
		if b := all.Items[0]; b.Spec.MaxUnavailable == nil || *b.Spec.MaxUnavailable != *a.last || b.Annotations[api.BudgetAnnotationKey] != "" {
			a.T.Errorf("%s/%s says %v under %q, and its author %s", at.Namespace, b.Name, b.Spec.MaxUnavailable, b.Annotations[api.BudgetAnnotationKey], a.last)
		}
	}
}

// TestH2H3Author: the author creates, lowers, raises, replaces, renames, doubles or deletes the
// PodDisruptionBudget at any moment of a move. The last value applies before the next stop, is never
// overwritten, and is restored at the end.
func TestH2H3Author(t *testing.T) {
	words := []struct {
		name   string
		before string
		do     func(*author) error
		// then is the author's reaction to a stall with the reason stalls.
		stalls string
		then   func(*author) error
	}{
		{name: "H2 created", do: func(a *author) error { return a.create(a.App.Name, 1) }},
		{name: "H3 lowered", before: "2", do: func(a *author) error { return a.write(a.Here(), 1) }},
		{name: "H3 lowered to 0, and raised", before: "2", do: func(a *author) error { return a.write(a.Here(), 0) }, stalls: api.ReasonBudgetZero, then: func(a *author) error { return a.write(a.Here(), 2) }},
		{name: "H3 raised", before: "1", do: func(a *author) error { return a.write(a.Here(), 3) }},
		{name: "H3 lowered at the destination", before: "2", do: func(a *author) error { return a.write(a.There(), 1) }},
		{name: "H3 replaced by force", before: "2", do: func(a *author) error { return errors.Join(a.remove(a.name), a.create(a.name, 1)) }},
		{name: "H3 renamed", before: "2", do: func(a *author) error { return errors.Join(a.remove(a.name), a.create("renamed", 1)) }},
		{name: "H3 doubled", before: "2", do: func(a *author) error { return a.create("second", 1) }, stalls: api.ReasonSeveralBudgets, then: func(a *author) error { return a.remove(a.App.Name) }},
		{name: "H3 deleted, and created", before: "2", do: func(a *author) error { return a.remove(a.name) }, stalls: api.ReasonForeignBudget, then: func(a *author) error { return a.create(a.name, 1) }},
	}
	for _, word := range words {
		t.Run(word.name, func(t *testing.T) {
			t.Parallel()
			a := newAuthor(newMove(t, authored(word.before), harness.AcrossClusters, harness.WithBudget(3)))
			stalled := word.stalls == ""
			reports := []harness.Report{a.looks, harness.Arrival(3)(func() error { return word.do(a) })}
			if !stalled {
				reports = append(reports, harness.StalledWith(word.stalls)(func() error { stalled = true; return word.then(a) }))
			}
			a.Run(reports...)
			if !stalled || a.stopped == 0 {
				t.Errorf("stalled %t, and stopped %d afterwards", stalled, a.stopped)
			}
			a.ExpectSlice(a.There(), 0, a.App.Replicas)
			a.ends(a.There())
			a.Audit()
		})
	}
}

func authored(budget string) fixture.App {
	app := fixture.App{Replicas: 4, Claims: []string{"data"}}
	if budget != "" {
		app.MaxUnavailable = harness.IntOrString(budget)
	}
	return app
}

// TestH3AuthorAtAnyMoment: the author lowers the budget before the first stop, while an ordinal is down, during
// a pause, during a rollback, and when no ordinal is left to move.
func TestH3AuthorAtAnyMoment(t *testing.T) {
	lowers := func(a *author, n int) func() error { return func() error { return a.write(a.Here(), n) } }
	moved := func(a *author) { a.ExpectSlice(a.There(), 0, a.App.Replicas); a.ends(a.There()) }
	for name, tc := range map[string]struct {
		reports func(*author, *fixture.Mover) []harness.Report
		ends    func(*author)
	}{
		"before the first stop": {func(a *author, _ *fixture.Mover) []harness.Report {
			return []harness.Report{harness.WroteOn(plan.DestinationSide, plan.CreateSet)(lowers(a, 1))}
		}, moved},
		"while an ordinal is down": {func(a *author, _ *fixture.Mover) []harness.Report {
			return []harness.Report{harness.WroteOn(plan.SourceSide, plan.ScaleDown)(lowers(a, 0)), a.raises(1)}
		}, moved},
		"in a pause": {func(a *author, mover *fixture.Mover) []harness.Report {
			return []harness.Report{
				harness.Arrival(3)(func() error { return mover.Store.SetMode(a.Ctx, api.ModePause) }),
				harness.HeldWith(api.ReasonPaused)(func() error {
					return errors.Join(lowers(a, 0)(), mover.Store.SetMode(a.Ctx, api.ModeRun))
				}), a.raises(1),
			}
		}, moved},
		"in a rollback": {func(a *author, mover *fixture.Mover) []harness.Report {
			return []harness.Report{
				harness.Arrival(2)(func() error { return errors.Join(mover.Store.SetMode(a.Ctx, api.ModeRollback), lowers(a, 0)()) }), a.raises(1),
			}
		}, func(a *author) { a.ExpectSlice(a.Here(), 0, a.App.Replicas); a.ends(a.Here()) }},
		"at the end": {func(a *author, _ *fixture.Mover) []harness.Report {
			return []harness.Report{harness.Arrival(0)(func() error { return a.write(a.There(), 3) })}
		}, moved},
		"when it is restored": {func(a *author, _ *fixture.Mover) []harness.Report {
			return []harness.Report{harness.WroteOn(plan.DestinationSide, plan.RestoreBudget)(func() error { return a.write(a.There(), 3) })}
		}, moved},
	} {
		t.Run("H3 "+name, func(t *testing.T) {
			t.Parallel()
			a := newAuthor(newMove(t, authored("2"), harness.AcrossClusters, harness.WithBudget(2)))
			mover := a.Mover()
			a.Drive(mover, append([]harness.Report{a.looks}, tc.reports(a, mover)...)...)
			if !a.spoke {
				t.Error("the author had no chance")
			}
			tc.ends(a)
			a.Audit()
		})
	}
}
