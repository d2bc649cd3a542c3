package duel

import (
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/e2e/cluster"
)

// edit returns the writes that change the wish; none if the step is no edit.
func (t Step) edit(w *wish) []func() {
	before := w.Template.DeepCopy()
	change := t.template(w)
	if change == nil {
		change = t.spec(w)
	}
	switch {
	case change == nil:
		return nil
	case t.Kind == stepThereAndBack:
		return []func(){change, func() { w.Template = *before }}
	default:
		return []func(){change}
	}
}

// template returns the edit of the template.
func (t Step) template(w *wish) func() {
	set := func(edit func()) func() {
		return func() {
			w.former = append(w.former, *w.Template.DeepCopy())
			edit()
		}
	}
	switch t.Kind {
	case stepImage:
		return set(func() { w.newImage("") })
	case stepThereAndBack:
		return func() { w.newImage("") }
	case stepBroken:
		return set(func() { w.newImage(never) })
	case stepSlow:
		return set(func() { w.newImage(lateAfter) })
	case stepAnnotate:
		return set(func() {
			w.Template.Labels = map[string]string{appLabel: w.name, "step": []string{"a", "b", "c"}[t.A%3]}
		})
	case stepBack:
		return func() {
			if n := len(w.former); n > 0 {
				w.Template = *w.former[max(0, n-1-int(t.A)/2)].DeepCopy()
			}
		}
	}
	return nil
}

// spec returns any other edit.
func (t Step) spec(w *wish) func() {
	switch t.Kind {
	case stepReplicas:
		return func() { w.Replicas = new(t.A) }
	case stepStart:
		return func() { w.Ordinals.Start = t.B }
	case stepRange:
		return func() { w.Replicas, w.Ordinals.Start = new(t.A), t.B }
	case stepMinReady:
		return func() { w.MinReadySeconds = t.B / 2 }
	case stepHistory:
		return func() { w.RevisionHistoryLimit = new(t.B / 2) }
	case stepRetention:
		policies := []appsv1.PersistentVolumeClaimRetentionPolicyType{
			appsv1.RetainPersistentVolumeClaimRetentionPolicyType, appsv1.DeletePersistentVolumeClaimRetentionPolicyType,
		}
		return func() {
			w.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenScaled: policies[t.A%2], WhenDeleted: policies[t.B%2]}
		}
	}
	return t.strategy(w)
}

func (t Step) strategy(w *wish) func() {
	rolls := w.UpdateStrategy.RollingUpdate
	switch {
	case t.Kind == stepStrategy && t.A%2 == 0:
		return func() {
			w.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}
		}
	case t.Kind == stepStrategy:
		return func() { w.UpdateStrategy = rolling(0, nil) }
	case t.Kind == stepPartition && rolls == nil:
		return func() { w.UpdateStrategy = rolling(t.B, nil) }
	case t.Kind == stepPartition:
		return func() { rolls.Partition = new(t.B) }
	case t.Kind == stepMaxUnavailable && rolls == nil:
		return func() { w.UpdateStrategy = rolling(0, t.mostUnavailable()) }
	case t.Kind == stepMaxUnavailable:
		return func() { rolls.MaxUnavailable = t.mostUnavailable() }
	}
	return nil
}

func (t Step) mostUnavailable() *intstr.IntOrString {
	if texts := []string{"1%", "25%", "50%", "100%"}; t.B < 2 {
		return new(intstr.FromString(texts[t.A%4]))
	}
	return new(intstr.FromInt32([]int32{1, 2, 3, 2147483647}[t.A%4]))
}

// do makes a step on both sides.
func (p *play) do(ctx context.Context, step Step) error {
	if edits := step.edit(p.wish); edits != nil {
		for i, edit := range edits {
			if i > 0 {
				if p.heldUp() {
					return nil
				}
				p.apart = true // how far the first edit is rolled out is random
				if err := p.looked(ctx); err != nil {
					return err
				}
			}
			edit()
			if err := p.both(func(s *side) error { return s.write(ctx, p.wish) }); err != nil {
				return err
			}
		}
		return nil
	}
	at := slices.IndexFunc(refusals, func(r refusal) bool { return r.step == step.Kind })
	switch {
	case at >= 0:
		p.refused = true
		return p.both(func(s *side) error { return s.refuse(ctx, &refusals[at]) })
	case step.Kind == stepAllow:
		return p.allow(ctx)
	case step.Kind == stepUnbound || step.Kind == stepBound:
		return p.both(func(s *side) error { s.unbound = step.Kind == stepUnbound; return nil })
	case step.Kind == stepLetGo || step.Kind == stepReady:
		return p.both(func(s *side) error { return s.mend(ctx, step.Kind) })
	}
	return p.harm(ctx, step)
}

// heldUp reports whether pods were blocked when the step was made. A set that changes to another template and back has
// the same end on both sides only if neither is blocked. How far the first rollout gets is random, and a pod that the
// second does not replace stays.
func (p *play) heldUp() bool {
	for i, s := range []*side{p.native, p.ours} {
		if s.unbound || p.refused || len(p.before[i].pods) != int(*p.wish.Replicas) {
			return !p.script.Settings.Rushed
		}
		for _, pod := range p.before[i].pods {
			if !pod.ready || pod.terminating || pod.pod.Annotations[cluster.ReadyDelayAnnotationKey] == never {
				return !p.script.Settings.Rushed
			}
		}
	}
	return false
}

// allow disables refusals, and forces both controllers to reconcile, because neither learns that writes are accepted
// again.
func (p *play) allow(ctx context.Context) error {
	if err := p.both(func(s *side) error { return s.refuse(ctx, nil) }); err != nil {
		return err
	}
	p.refused = false
	return p.nudge(ctx)
}

// harm makes a step about an ordinal. A step that the API server refuses does not count.
func (p *play) harm(ctx context.Context, step Step) error {
	ordinal := p.wish.Ordinals.Start + step.A%max(*p.wish.Replicas, 1)
	var do func(*side) error
	native, ours := p.native.pod(ctx, ordinal), p.ours.pod(ctx, ordinal)
	switch step.Kind {
	case stepClaimDelete, stepClaimAndPod, stepClaimGone:
		do = func(s *side) error { return s.harmClaim(ctx, step, ordinal) }
	case stepStray:
		do = func(s *side) error { return s.stray(ctx, beyond+step.B%2) }
	case stepRelease:
		released := func(pod *corev1.Pod) bool { return pod != nil && pod.Labels[appLabel] == "" }
		if released(native) || released(ours) {
			return p.both(func(s *side) error { return s.mend(ctx, stepRelease) })
		}
		fallthrough
	default:
		if native == nil || ours == nil || (native.DeletionTimestamp == nil) != (ours.DeletionTimestamp == nil) {
			return nil
		}
		do = func(s *side) error {
			return s.harm(ctx, step, map[bool]*corev1.Pod{true: native, false: ours}[s.native])
		}
	}
	err := p.both(func(s *side) error {
		err := do(s)
		if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
	// apps/v1 watches neither claims nor pods that the set does not own.
	if foreign := native != nil && metav1.GetControllerOf(native) == nil; err == nil && (foreign || step.Kind == stepClaimGone) {
		return p.nudge(ctx)
	}
	return err
}

// nudge forces both controllers to reconcile their sets.
func (p *play) nudge(ctx context.Context) error {
	return p.both(func(s *side) error { return s.nudge(ctx) })
}

// wake forces those controllers to reconcile that may not have done so. After refusals a controller retries with an
// increasing delay, and apps/v1 does not watch claims. Ours does: if nothing is refused it must have settled.
func (p *play) wake(ctx context.Context) error {
	if p.refused {
		return p.nudge(ctx)
	}
	return p.native.nudge(ctx)
}

func (s *side) nudge(ctx context.Context) error {
	set := s.object()
	set.SetNamespace(s.namespace)
	set.SetName(s.set)
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"duel":%q}}}`, time.Now())
	return client.IgnoreNotFound(s.client.Patch(ctx, set, client.RawPatch(types.MergePatchType, patch))) // at the end it is deleted
}
