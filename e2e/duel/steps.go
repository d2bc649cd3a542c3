package duel

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/e2e/cluster"
)

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
