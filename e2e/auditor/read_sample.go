package auditor

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxReads bounds the reads of one phase of a sample at one time and side.
const maxReads = 32

// replicas reads the set, the pods and the budgets that the agenda names.
func (s *side) replicas(ctx context.Context, what agenda) (replicaSide, error) {
	state := replicaSide{Asked: what.ordinals}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(maxReads)
	g.Go(func() (err error) {
		state.Set, err = s.slice(ctx)
		return err
	})
	pods := make([]podState, len(what.ordinals))
	for i, ordinal := range what.ordinals {
		g.Go(func() (err error) {
			pods[i], err = s.pod(ctx, ordinal)
			return err
		})
	}
	budgets := make([]disruptionBudget, len(what.budgets[s.index]))
	for i, name := range what.budgets[s.index] {
		g.Go(func() (err error) {
			budgets[i], err = s.budget(ctx, name)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return replicaSide{}, err
	}
	for _, p := range pods {
		if p.exists() {
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

// bindingsOf reads the claims of some volumes of the set and what they name.
func (s *side) bindingsOf(ctx context.Context, keys []volumeKey) (volumeSide, error) {
	state := volumeSide{Namespace: s.Namespace}
	found := make([]binding, len(keys))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(maxReads)
	for i, key := range keys {
		g.Go(func() (err error) {
			found[i], err = s.binding(ctx, key.claimName(s.Set))
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return volumeSide{}, err
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
func (s *side) storage(ctx context.Context) (volumeSide, error) {
	state := volumeSide{Namespace: s.Namespace}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		list, err := s.core.CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return fmt.Errorf("list volumes in %s: %w", s.Name, err)
		}
		for i := range list.Items {
			state.Volumes = append(state.Volumes, viewVolume(&list.Items[i]))
		}
		return nil
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
func phase[T any](ctx context.Context, a *Auditor, read func(context.Context, *side) (T, error)) ([2]T, error) {
	ctx, cancel := context.WithTimeout(ctx, a.options.RequestTimeout)
	defer cancel()
	var states [2]T
	g, ctx := errgroup.WithContext(ctx)
	for _, i := range bothSides() {
		g.Go(func() (err error) {
			states[i], err = read(ctx, a.sides[i])
			return err
		})
	}
	return states, g.Wait()
}
