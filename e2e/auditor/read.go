package auditor

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// All reads in this file are live: without a resourceVersion the API server
// answers with the latest state, never from a cache that may lag.

// pod reads one pod of the set; the zero state means NotFound.
func (s *side) pod(ctx context.Context, ordinal int32) (podState, error) {
	name := podName(s.Set, ordinal)
	pod, err := s.core.CoreV1().Pods(s.Namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return podState{Ordinal: ordinal}, nil
	}
	if err != nil {
		return podState{}, fmt.Errorf("read pod %s/%s in %s: %w", s.Namespace, name, s.Name, err)
	}
	return viewPod(pod, ordinal), nil
}

// slice reads the set; the zero state means NotFound.
func (s *side) slice(ctx context.Context) (sliceState, error) {
	set, err := s.sets.Get(ctx, s.Set, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return sliceState{}, nil
	}
	if err != nil {
		return sliceState{}, fmt.Errorf("read set %s: %w", s, err)
	}
	return viewSlice(set), nil
}

// binding reads a claim and the volume that it names.
func (s *side) binding(ctx context.Context, claim string) (binding, error) {
	pvc, err := s.core.CoreV1().PersistentVolumeClaims(s.Namespace).Get(ctx, claim, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return binding{}, nil
	}
	if err != nil {
		return binding{}, fmt.Errorf("read claim %s/%s in %s: %w", s.Namespace, claim, s.Name, err)
	}
	b := binding{Claim: viewClaim(pvc, s.Set, s.templates)}
	if b.Claim.VolumeName != "" {
		b.Volume, err = s.volume(ctx, b.Claim.VolumeName)
	}
	return b, err
}

// volume reads one volume; the zero state means NotFound.
func (s *side) volume(ctx context.Context, name string) (volumeState, error) {
	pv, err := s.core.CoreV1().PersistentVolumes().Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return volumeState{}, nil
	}
	if err != nil {
		return volumeState{}, fmt.Errorf("read volume %s in %s: %w", name, s.Name, err)
	}
	return viewVolume(pv), nil
}

// volumes reads all volumes of the side's cluster.
func (s *side) volumes(ctx context.Context) ([]volumeState, error) {
	list, err := s.core.CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list volumes in %s: %w", s.Name, err)
	}
	states := make([]volumeState, 0, len(list.Items))
	for i := range list.Items {
		states = append(states, viewVolume(&list.Items[i]))
	}
	return states, nil
}

// attachments reads all VolumeAttachments of the side's cluster.
func (s *side) attachments(ctx context.Context) ([]attachment, error) {
	list, err := s.core.StorageV1().VolumeAttachments().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list attachments in %s: %w", s.Name, err)
	}
	states := make([]attachment, 0, len(list.Items))
	for i := range list.Items {
		a := &list.Items[i]
		if a.Spec.Source.PersistentVolumeName != nil {
			states = append(states, attachment{
				Name: a.Name, RV: a.ResourceVersion, Node: a.Spec.NodeName, Volume: *a.Spec.Source.PersistentVolumeName,
			})
		}
	}
	return states, nil
}

// replicas reads what a replica sample needs of this side.
func (s *side) replicas(ctx context.Context) (replicaSide, error) {
	var state replicaSide
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		state.Set, err = s.slice(ctx)
		return err
	})
	g.Go(func() error {
		list, err := s.core.CoreV1().Pods(s.Namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return fmt.Errorf("list pods of %s: %w", s, err)
		}
		for i := range list.Items {
			if ordinal, ok := ordinalOf(list.Items[i].Name, s.Set); ok {
				state.Pods = append(state.Pods, viewPod(&list.Items[i], ordinal))
			}
		}
		return nil
	})
	g.Go(func() error {
		list, err := s.core.PolicyV1().PodDisruptionBudgets(s.Namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return fmt.Errorf("list disruption budgets of %s: %w", s, err)
		}
		for i := range list.Items {
			state.Budgets = append(state.Budgets, viewBudget(&list.Items[i]))
		}
		return nil
	})
	return state, g.Wait()
}

// storage reads what a volume sample needs of this side.
func (s *side) storage(ctx context.Context) (volumeSide, error) {
	state := volumeSide{Namespace: s.Namespace}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		state.Volumes, err = s.volumes(ctx)
		return err
	})
	g.Go(func() error {
		list, err := s.core.CoreV1().PersistentVolumeClaims(s.Namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return fmt.Errorf("list claims of %s: %w", s, err)
		}
		for i := range list.Items {
			state.Claims = append(state.Claims, viewClaim(&list.Items[i], s.Set, s.templates))
		}
		return nil
	})
	return state, g.Wait()
}

// phase reads both sides at once and returns when all answers are in.
func phase[T any](ctx context.Context, sides [2]*side, read func(*side, context.Context) (T, error)) ([2]T, error) {
	var states [2]T
	g, ctx := errgroup.WithContext(ctx)
	for _, i := range bothSides() {
		g.Go(func() (err error) {
			states[i], err = read(sides[i], ctx)
			return err
		})
	}
	return states, g.Wait()
}
