package duel

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// end reverts all faults, compares the sides once they are healthy, and again after the sets are deleted.
func (p *play) end(ctx context.Context) error {
	p.begin()
	p.apart = true // a controller may act on the first correction before the others
	for _, kind := range []string{stepLetGo, stepReady, stepRelease} {
		if err := p.both(func(s *side) error { s.unbound = false; return s.mend(ctx, kind) }); err != nil {
			return err
		}
	}
	p.wish.Replicas, p.wish.MinReadySeconds, p.wish.UpdateStrategy = new(int32(3)), 0, rolling(0, nil)
	p.wish.newImage("")
	err := p.both(func(s *side) error { return s.write(ctx, p.wish) })
	if err == nil {
		err = p.allow(ctx)
	}
	if err == nil {
		err = p.settle(ctx)
	}
	if err != nil {
		return fmt.Errorf("when all is mended: %w", err)
	}
	if st := p.ours.last.status; st.AvailableReplicas != 3 || st.UpdatedReplicas != 3 {
		return fmt.Errorf("the sides are equal and not complete:\n%s", p)
	}
	p.begin()
	p.apart = true // the garbage collector deletes pods in any order
	if err := p.both(func(s *side) error { return s.deleteSet(ctx) }); err != nil {
		return err
	}
	if err := p.settle(ctx); err != nil {
		return fmt.Errorf("when the set is deleted: %w", err)
	}
	return nil
}

// deleteSet deletes the set, and leaves its dependents to the garbage collector.
func (s *side) deleteSet(ctx context.Context) error {
	set := s.object()
	set.SetNamespace(s.namespace)
	set.SetName(s.set)
	if err := s.client.Delete(ctx, set, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		return client.IgnoreNotFound(err)
	}
	s.await(func(ctx context.Context) bool {
		return apierrors.IsNotFound(s.cache.Get(ctx, s.key(s.set), s.object()))
	})
	return nil
}

// clear removes the remaining objects of a script.
func (s *side) clear(ctx context.Context) error {
	s.unbound = true
	if err := s.deleteSet(ctx); err != nil {
		return err
	}
	in := client.InNamespace(s.namespace)
	for _, object := range []client.Object{&corev1.Pod{}, &corev1.PersistentVolumeClaim{}} {
		if err := s.client.DeleteAllOf(ctx, object, in); err != nil {
			return err
		}
	}
	return s.client.DeleteAllOf(ctx, &corev1.PersistentVolume{}, client.MatchingLabels{"duel": s.namespace})
}

// clear resets the lane.
func (p *play) clear(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	if err := p.both(func(s *side) error { return s.refuse(ctx, nil) }); err != nil {
		return err
	}
	for {
		err := p.both(func(s *side) error { return errors.Join(s.clear(ctx), s.mend(ctx, stepLetGo)) })
		if err != nil {
			return err
		}
		left := 0
		_ = p.both(func(s *side) error {
			for _, list := range []client.ObjectList{&corev1.PodList{}, &corev1.PersistentVolumeClaimList{}} {
				if err := s.client.List(ctx, list, client.InNamespace(s.namespace)); err != nil {
					return err
				}
				switch list := list.(type) {
				case *corev1.PodList:
					left += len(list.Items)
				case *corev1.PersistentVolumeClaimList:
					left += len(list.Items)
				}
			}
			return nil
		})
		if left == 0 {
			return nil
		}
		if err := p.tick(ctx); err != nil {
			return fmt.Errorf("%d pods and claims stay of a script: %w", left, err)
		}
	}
}
