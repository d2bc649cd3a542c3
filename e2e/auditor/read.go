package auditor

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sliceshift/sliceshift/e2e/auditor/judge"
	"github.com/sliceshift/sliceshift/e2e/auditor/view"
)

// All reads in this file are live: without a resourceVersion the API server answers with the latest state, never from
// a cache that may lag.

// pod reads one pod of the set; the zero state means NotFound.
func (s *side) pod(ctx context.Context, ordinal int32) (judge.PodState, error) {
	name := judge.PodName(s.Set, ordinal)
	pod, err := s.core.CoreV1().Pods(s.Namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return judge.PodState{Ordinal: ordinal}, nil
	}
	if err != nil {
		return judge.PodState{}, fmt.Errorf("read pod %s/%s in %s: %w", s.Namespace, name, s.Name, err)
	}
	return view.Pod(pod, ordinal), nil
}

// viewed converts an object that was read; the zero state means NotFound.
func viewed[O, S any](what string, object O, err error, view func(O) S) (S, error) {
	var none S
	switch {
	case apierrors.IsNotFound(err):
		return none, nil
	case err != nil:
		return none, fmt.Errorf("read %s: %w", what, err)
	}
	return view(object), nil
}

// slice reads the set.
func (s *side) slice(ctx context.Context) (judge.SliceState, error) {
	set, err := s.sets.Get(ctx, s.Set, metav1.GetOptions{})
	return viewed("set "+s.String(), set, err, view.Slice)
}

// binding reads a claim and the volume that it names.
func (s *side) binding(ctx context.Context, claim string) (judge.Binding, error) {
	pvc, err := s.core.CoreV1().PersistentVolumeClaims(s.Namespace).Get(ctx, claim, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return judge.Binding{}, nil
	}
	if err != nil {
		return judge.Binding{}, fmt.Errorf("read claim %s/%s in %s: %w", s.Namespace, claim, s.Name, err)
	}
	b := judge.Binding{Claim: view.Claim(pvc, s.Set, s.templates)}
	if b.Claim.VolumeName != "" {
		b.Volume, err = s.volume(ctx, b.Claim.VolumeName)
	}
	return b, err
}

// volume reads one volume.
func (s *side) volume(ctx context.Context, name string) (judge.VolumeState, error) {
	pv, err := s.core.CoreV1().PersistentVolumes().Get(ctx, name, metav1.GetOptions{})
	return viewed("volume "+name+" in "+s.Name, pv, err, view.Volume)
}

// attachment reads one VolumeAttachment.
func (s *side) attachment(ctx context.Context, name string) (judge.Attachment, error) {
	a, err := s.core.StorageV1().VolumeAttachments().Get(ctx, name, metav1.GetOptions{})
	return viewed("attachment "+name+" in "+s.Name, a, err, view.Attachment)
}

// budget reads one disruption budget.
func (s *side) budget(ctx context.Context, name string) (judge.DisruptionBudget, error) {
	pdb, err := s.core.PolicyV1().PodDisruptionBudgets(s.Namespace).Get(ctx, name, metav1.GetOptions{})
	return viewed("disruption budget "+s.Namespace+"/"+name+" in "+s.Name, pdb, err, view.Budget)
}

// maxReads bounds the concurrent reads of one phase of a sample on one side.
const maxReads = 32

// replicas reads the set, and the pods and budgets of the agenda.
func (s *side) replicas(ctx context.Context, what agenda) (judge.ReplicaSide, error) {
	state := judge.ReplicaSide{Asked: what.ordinals}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(maxReads)
	g.Go(func() (err error) {
		state.Set, err = s.slice(ctx)
		return err
	})
	pods := make([]judge.PodState, len(what.ordinals))
	for i, ordinal := range what.ordinals {
		g.Go(func() (err error) {
			pods[i], err = s.pod(ctx, ordinal)
			return err
		})
	}
	budgets := make([]judge.DisruptionBudget, len(what.budgets[s.index]))
	for i, name := range what.budgets[s.index] {
		g.Go(func() (err error) {
			budgets[i], err = s.budget(ctx, name)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return judge.ReplicaSide{}, err
	}
	for _, p := range pods {
		if p.Exists() {
			state.Pods = append(state.Pods, p)
		}
	}
	for _, b := range budgets {
		if b.UID != "" {
			state.Budgets = append(state.Budgets, b)
		}
	}
	return state, nil
}

// bindingsOf reads the claims of some volumes of the set, and the volumes that they name.
func (s *side) bindingsOf(ctx context.Context, keys []judge.VolumeKey) (judge.VolumeSide, error) {
	state := judge.VolumeSide{Namespace: s.Namespace}
	found := make([]judge.Binding, len(keys))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(maxReads)
	for i, key := range keys {
		g.Go(func() (err error) {
			found[i], err = s.binding(ctx, key.ClaimName(s.Set))
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return judge.VolumeSide{}, err
	}
	for _, b := range found {
		if b.Claim.UID != "" {
			state.Claims = append(state.Claims, b.Claim)
		}
		if b.Volume.UID != "" {
			state.Volumes = append(state.Volumes, b.Volume)
		}
	}
	return state, nil
}

// storage lists all claims of the side's namespace and all volumes of its cluster.
func (s *side) storage(ctx context.Context) (judge.VolumeSide, error) {
	state := judge.VolumeSide{Namespace: s.Namespace}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		list, err := s.core.CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return fmt.Errorf("list volumes in %s: %w", s.Name, err)
		}
		for i := range list.Items {
			state.Volumes = append(state.Volumes, view.Volume(&list.Items[i]))
		}
		return nil
	})
	g.Go(func() error {
		list, err := s.core.CoreV1().PersistentVolumeClaims(s.Namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return fmt.Errorf("list claims of %s: %w", s, err)
		}
		for i := range list.Items {
			state.Claims = append(state.Claims, view.Claim(&list.Items[i], s.Set, s.templates))
		}
		return nil
	})
	err := g.Wait() // before its result is copied
	return state, err
}

// phase reads both sides concurrently and returns when all answers have arrived.
func phase[T any](ctx context.Context, a *Auditor, read func(context.Context, *side) (T, error)) ([2]T, error) {
	ctx, cancel := context.WithTimeout(ctx, a.options.RequestTimeout)
	defer cancel()
	var states [2]T
	g, ctx := errgroup.WithContext(ctx)
	for _, i := range judge.BothSides() {
		g.Go(func() (err error) {
			states[i], err = read(ctx, a.sides[i])
			return err
		})
	}
	err := g.Wait() // before its result is copied
	return states, err
}
