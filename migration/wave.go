package migration

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/migration/plan"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// awaitsWave says whether a Migration begins only after those of earlier waves.
func awaitsWave(m *api.Migration) bool {
	return m.Spec.Wave > 0 && m.Status.Baseline == nil && m.Spec.Mode == api.ModeRun
}

// hasMoved says whether a Migration has come to its end at the destination.
func hasMoved(m *api.Migration) bool {
	completed := meta.FindStatusCondition(m.Status.Conditions, api.ConditionCompleted)
	return completed != nil && ended(m) && completed.Reason == api.ReasonMoved
}

// waveHold says which Migrations of its namespace a Migration waits for because they are of earlier waves;
// nil: for none. One that was rolled back has not moved, and is waited for as well: what comes after it was
// to find it at the destination.
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

// wave is waveHold of the Migrations that are there now.
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

// nextWave has those looked at that may have waited for one which has ended or is gone. Who is not called,
// because the list fails, looks again by itself.
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

// neighbours are the Migrations of a namespace, as the cache has them and not to be changed: each one that has
// ended asks when a manager starts, and there may be hundreds.
func (r *Reconciler) neighbours(ctx context.Context, namespace string) ([]api.Migration, error) {
	all := &api.MigrationList{}
	err := r.Client.List(ctx, all, client.InNamespace(namespace), client.UnsafeDisableDeepCopy)
	return all.Items, err
}
