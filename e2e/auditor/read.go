package auditor

import (
	"context"
	"fmt"

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

// attachment reads one VolumeAttachment; the zero state means NotFound.
func (s *side) attachment(ctx context.Context, name string) (attachment, error) {
	a, err := s.core.StorageV1().VolumeAttachments().Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return attachment{}, nil
	}
	if err != nil {
		return attachment{}, fmt.Errorf("read attachment %s in %s: %w", name, s.Name, err)
	}
	return viewAttachment(a), nil
}

// budget reads one disruption budget; the zero state means NotFound.
func (s *side) budget(ctx context.Context, name string) (disruptionBudget, error) {
	pdb, err := s.core.PolicyV1().PodDisruptionBudgets(s.Namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return disruptionBudget{}, nil
	}
	if err != nil {
		return disruptionBudget{}, fmt.Errorf("read disruption budget %s/%s in %s: %w", s.Namespace, name, s.Name, err)
	}
	return viewBudget(pdb), nil
}
