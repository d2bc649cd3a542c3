package slices

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// lived is a stage with one pod, and the states that its pod has had.
type lived struct {
	*stage
	states []api.LifecycleState
	writes int
}

func newLived(t *testing.T, edit func(*api.StatefulSetSpec)) *lived {
	t.Helper()
	l := &lived{stage: newStage(t, 1)}
	l.refuse = func(verb string, o client.Object) error {
		if _, is := o.(*corev1.Pod); is && verb == "patch" {
			l.writes++
		}
		return nil
	}
	l.change(func(spec *api.StatefulSetSpec) {
		spec.UpdateStrategy.RollingUpdate.PodUpdatePolicy = api.InPlaceIfPossible
		edit(spec)
	})
	return l
}

// live runs all participants, and returns the states of the pod and the number of its writes.
func (l *lived) live(t *testing.T, passes int) (states []api.LifecycleState, writes int) {
	t.Helper()
	l.states, l.writes = nil, 0
	for range passes {
		if err := l.passes(1); err != nil {
			t.Fatal(err)
		}
		pod := l.pods()["web-0"]
		if pod == nil {
			continue
		}
		if state := api.LifecycleState(pod.Labels[api.LifecycleStateLabelKey]); len(l.states) == 0 || l.states[len(l.states)-1] != state {
			l.states = append(l.states, state)
		}
	}
	return l.states, l.writes
}

func (l *lived) label(t *testing.T, key, value string) {
	t.Helper()
	pod := l.pods()["web-0"]
	pod.Labels[key] = value
	if err := l.server.Update(l.ctx, pod); err != nil {
		t.Fatal(err)
	}
}

// tier rolls out another label, which is an in-place update.
func (l *lived) tier(value string) {
	l.t.Helper()
	l.change(func(spec *api.StatefulSetSpec) { spec.Template.Labels["tier"] = value })
}

// TestLifecycleStates: the state of an in-place update is written with other writes. For a hook, the state is also written
// separately.
func TestLifecycleStates(t *testing.T) {
	const normal, preparing, updating, updated = api.LifecycleNormal, api.LifecyclePreparingUpdate, api.LifecycleUpdating, api.LifecycleUpdated
	none := func(*api.StatefulSetSpec) {}
	hooked := func(spec *api.StatefulSetSpec) {
		spec.Template.Labels["hold"] = "yes"
		spec.Lifecycle = &api.Lifecycle{InPlaceUpdate: &api.LifecycleHook{LabelsHandler: map[string]string{"hold": "yes"}}}
	}
	check := func(t *testing.T, l *lived, passes, most int, want ...api.LifecycleState) {
		t.Helper()
		if states, writes := l.live(t, passes); !slices.Equal(states, want) || writes > most {
			t.Errorf("states %q in %d writes, want %q in %d", states, writes, want, most)
		}
	}
	t.Run("U-05 by three writes", func(t *testing.T) {
		l := newLived(t, none)
		check(t, l, 4, 0, normal)
		l.tier("back")
		check(t, l, 10, 3, preparing, updating, normal)
	})
	t.Run("U-05 a hook", func(t *testing.T) {
		l := newLived(t, hooked)
		check(t, l, 4, 0, normal)
		l.tier("back")
		check(t, l, 5, 1, preparing)
		l.label(t, "hold", "no")
		check(t, l, 10, 3, preparing, updating, normal) // the template has the mark
	})
	t.Run("U-05 a hook whose marks come back later", func(t *testing.T) {
		l := newLived(t, func(spec *api.StatefulSetSpec) { hooked(spec); delete(spec.Template.Labels, "hold") })
		check(t, l, 4, 0, normal)
		l.label(t, "hold", "yes")
		check(t, l, 2, 0, normal)
		l.tier("back")
		check(t, l, 5, 1, preparing)
		l.label(t, "hold", "no")
		check(t, l, 10, 3, preparing, updating, updated)
		l.label(t, "hold", "yes")
		check(t, l, 4, 1, normal)
	})
	t.Run("U-05 a hold that is taken back", func(t *testing.T) {
		l := newLived(t, hooked)
		check(t, l, 4, 0, normal)
		l.tier("back")
		check(t, l, 5, 1, preparing)
		l.change(func(spec *api.StatefulSetSpec) { spec.Paused = true })
		check(t, l, 5, 1, normal)
	})
	t.Run("U-05 on its way out", func(t *testing.T) {
		l := newLived(t, func(spec *api.StatefulSetSpec) {
			hooked(spec)
			spec.Lifecycle.PreDelete = spec.Lifecycle.InPlaceUpdate
		})
		check(t, l, 4, 0, normal)
		l.image("b:1")
		l.change(func(spec *api.StatefulSetSpec) { spec.UpdateStrategy.RollingUpdate.PodUpdatePolicy = api.ReCreate })
		check(t, l, 5, 1, api.LifecyclePreparingDelete)
		l.change(func(spec *api.StatefulSetSpec) { spec.Paused = true })
		check(t, l, 5, 1, normal)
	})
	t.Run("U-05 where pods are made anew, none", func(t *testing.T) {
		l := newLived(t, func(spec *api.StatefulSetSpec) { spec.UpdateStrategy.RollingUpdate.PodUpdatePolicy = api.ReCreate })
		check(t, l, 4, 1, "")
		l.tier("back")
		check(t, l, 10, 1, "")
	})
}
