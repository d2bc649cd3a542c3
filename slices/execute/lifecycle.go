package execute

import (
	"cmp"
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/slices/decide"
	"github.com/sliceshift/sliceshift/slices/observe"
)

// TellState writes the lifecycle state of a pod when no other write includes it. Decide does not cover it.
const TellState decide.Verb = "TellState"

// tellsStates reports whether the pods of a set have a lifecycle state.
func tellsStates(set *api.StatefulSet) bool {
	rolling := set.Spec.UpdateStrategy.RollingUpdate
	return updateHook(set) != nil || rolling != nil && rolling.PodUpdatePolicy != "" && rolling.PodUpdatePolicy != api.ReCreate
}

func updateHook(set *api.StatefulSet) *api.LifecycleHook {
	if set.Spec.Lifecycle == nil {
		return nil
	}
	return set.Spec.Lifecycle.InPlaceUpdate
}

// restoreMarks gives a pod that is updated in place the labels of lifecycle.inPlaceUpdate that its template has. Their owner
// has changed them on the pod to let the update begin.
func restoreMarks(set *api.StatefulSet, pod *corev1.Pod, template *corev1.PodTemplateSpec) {
	if hook := updateHook(set); hook != nil {
		for key := range hook.LabelsHandler {
			if value, has := template.Labels[key]; has {
				pod.Labels[key] = value
			}
		}
	}
}

func stateOf(pod *corev1.Pod) api.LifecycleState {
	return cmp.Or(api.LifecycleState(pod.Labels[api.LifecycleStateLabelKey]), api.LifecycleNormal)
}

// labelState sets the lifecycle state on a pod that is about to be written.
func labelState(set *api.StatefulSet, pod *corev1.Pod) {
	if !tellsStates(set) {
		return
	}
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	pod.Labels[api.LifecycleStateLabelKey] = string(lifecycleState(set, pod, false))
}

// lifecycleState returns the state of a pod. held reports whether lifecycle.inPlaceUpdate delays its update.
func lifecycleState(set *api.StatefulSet, pod *corev1.Pod, held bool) api.LifecycleState {
	lifecycle, progress := set.Spec.Lifecycle, observe.InPlaceOf(pod)
	switch {
	case lifecycle != nil && lifecycle.PreDelete != nil && pod.Annotations[api.TerminationReasonAnnotationKey] != "":
		return api.LifecyclePreparingDelete
	case progress != nil && progress.Patched != nil:
		return api.LifecycleUpdating
	case progress != nil || held:
		return api.LifecyclePreparingUpdate
	case slices.Contains([]api.LifecycleState{api.LifecycleUpdating, api.LifecycleUpdated}, stateOf(pod)) && updateHook(set) != nil && !observe.Holds(updateHook(set), pod):
		return api.LifecycleUpdated
	default:
		return api.LifecycleNormal
	}
}

// states returns the actions that write lifecycle states for the owner of a hook: the pod waits for the hook, or the hook's
// marks are back. Without a hook, the state is written only with other writes. It is also left to the other write if the pod
// has another action.
func (c *PodControl) states(decision decide.Decision) []decide.Action {
	if updateHook(c.Set) == nil {
		return nil
	}
	var actions []decide.Action
	for ordinal, pod := range c.pods {
		busy := slices.ContainsFunc(decision.Actions, func(a decide.Action) bool { return a.Ordinal == ordinal })
		if !busy && pod.DeletionTimestamp == nil && stateOf(pod) != lifecycleState(c.Set, pod, heldForUpdate(decision.Held, ordinal)) {
			actions = append(actions, decide.Action{Verb: TellState, Ordinal: ordinal, UID: pod.UID})
		}
	}
	slices.SortFunc(actions, func(a, b decide.Action) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
	c.held = decision.Held
	return actions
}

func heldForUpdate(held []decide.Hold, ordinal int32) bool {
	return slices.ContainsFunc(held, func(hold decide.Hold) bool { return hold.Ordinal == ordinal && hold.Reason == decide.HeldInPlaceUpdate })
}

func (c *PodControl) tellState(ctx context.Context, action decide.Action, pod *corev1.Pod) error {
	state := lifecycleState(c.Set, pod, heldForUpdate(c.held, action.Ordinal))
	return c.patch(ctx, action, pod, map[string]any{"metadata": map[string]any{"labels": map[string]any{api.LifecycleStateLabelKey: string(state)}}})
}
