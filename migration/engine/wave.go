package engine

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// awaitsWave reports whether a Migration begins only after those of earlier waves.
func awaitsWave(m *api.Migration) bool {
	return m.Spec.Wave > 0 && m.Status.Baseline == nil && m.Spec.Mode == api.ModeRun
}

// hasMoved reports whether a Migration has completed at the destination.
func hasMoved(m *api.Migration) bool {
	completed := meta.FindStatusCondition(m.Status.Conditions, api.ConditionCompleted)
	return completed != nil && ended(m) && completed.Reason == api.ReasonMoved
}

// waveHold returns the Migrations of earlier waves in its namespace that a Migration waits for; nil if there
// are none. A Migration that was rolled back has not moved, so later waves wait for it too: they may depend on
// it at the destination.
func waveHold(m *api.Migration, all []api.Migration) *plan.Hold {
	if !awaitsWave(m) {
		return nil
	}
	var names []string
	for i := range all {
		if other := &all[i]; other.Spec.Wave < m.Spec.Wave && !hasMoved(other) {
			names = append(names, other.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	return &plan.Hold{
		Reason:  api.ReasonQueued,
		Message: fmt.Sprintf("waiting for the waves before %d: not moved yet in namespace %s: %s", m.Spec.Wave, m.Namespace, plan.Listed(names)),
		Remedy:  "to begin without them: " + plan.Kubectl(localName, "").Do("patch", "migration", "-n", m.Namespace, m.Name, "--type=merge", "-p", `{"spec":{"wave":0}}`),
	}
}

// wave returns the waveHold of the Migrations that exist now.
func (r *Reconciler) wave(ctx context.Context, m *api.Migration) (*plan.Hold, error) {
	if !awaitsWave(m) {
		return nil, nil
	}
	all, err := r.neighbours(ctx, m.Namespace)
	if err != nil {
		return nil, fmt.Errorf("listing the Migrations of earlier waves: %w", err)
	}
	return waveHold(m, all), nil
}

// nextWave requeues the Migrations that may have waited for one that has ended or was deleted. If the list
// fails, they are requeued by their own timers.
func (r *Reconciler) nextWave(ctx context.Context, namespace string) {
	all, err := r.neighbours(ctx, namespace)
	if err != nil {
		return
	}
	var called []types.NamespacedName
	for i := range all {
		if m := &all[i]; awaitsWave(m) && waveHold(m, all) == nil {
			called = append(called, client.ObjectKeyFromObject(m))
		}
	}
	r.call(called)
}

// neighbours returns the Migrations of a namespace from the cache; they must not be changed. They are not
// copied, because each ended Migration lists them when a manager starts, and there may be hundreds.
func (r *Reconciler) neighbours(ctx context.Context, namespace string) ([]api.Migration, error) {
	all := &api.MigrationList{}
	err := r.Client.List(ctx, all, client.InNamespace(namespace), client.UnsafeDisableDeepCopy)
	return all.Items, err
}
