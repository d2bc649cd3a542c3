package duel

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// play is one running script.
type play struct {
	script       Script
	wish         *wish
	native, ours *side
	tally        *tally
	// before holds the states of the sides before the last step.
	before [2]state
	// apart is true if the events since then cannot be compared.
	apart bool
	// backedOff is true if ours has delayed the replacement of a finished pod since then.
	backedOff bool
	// refused is true while the API server refuses writes. nudged is true if both controllers were forced to reconcile
	// since the step.
	refused, nudged bool
}

// beyond is an ordinal outside of the range of every script.
const beyond = 15

// Times of a play.
const (
	// quiet is how long nothing may happen on both sides when they are complete. stuck is that time when they are not,
	// in addition to minReadySeconds.
	quiet = 300 * time.Millisecond
	stuck = 1500 * time.Millisecond
	// patience is how long the sides may differ while nothing happens.
	patience = 12 * time.Second
	// longest is how long the sides may take to settle.
	longest = 2 * time.Minute
)

func (a *arena) play(ctx context.Context, lane int, script Script, t *tally) (failed error) {
	name := "web-" + script.Name
	p := &play{script: script, wish: newWish(name, script.Settings), tally: t}
	p.native, p.ours = newSide(a, lane, true, name), newSide(a, lane, false, name)
	defer func() { failed = errors.Join(failed, p.clear(ctx)) }()
	p.begin()
	if err := p.both(func(s *side) error { return errors.Join(s.refuse(ctx, nil), s.create(ctx, p.wish)) }); err != nil {
		return err
	}
	if err := p.settle(ctx); err != nil {
		return err
	}
	for i, step := range script.Steps {
		p.begin()
		if err := p.do(ctx, step); err != nil {
			return fmt.Errorf("step %d, %s: %w", i+1, step, err)
		}
		t.stepped(step)
		var err error
		if script.Settings.Rushed {
			err = p.pause(ctx, step.Pause)
		} else {
			err = p.settle(ctx)
		}
		if err != nil {
			return fmt.Errorf("after step %d, %s: %w", i+1, step, err)
		}
	}
	return p.end(ctx)
}

// begin prepares for a step; call it before the step is made.
func (p *play) begin() {
	p.before = [2]state{p.native.last, p.ours.last}
	p.apart, p.backedOff, p.nudged = p.script.Settings.Rushed || len(p.compare()) > 0, false, false
}

func (p *play) both(do func(*side) error) error {
	return errors.Join(do(p.native), do(p.ours))
}

// pause waits between the steps of a rushed script.
func (p *play) pause(ctx context.Context, span time.Duration) error {
	end := time.Now().Add(span)
	for time.Now().Before(end) {
		if err := p.tick(ctx); err != nil {
			return err
		}
	}
	return nil
}

// tick waits one interval, and gives claims their volumes.
func (p *play) tick(ctx context.Context) error {
	timer := time.NewTimer(lookAgain)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return p.both(func(s *side) error { return s.provide(ctx) })
	}
}

// String formats both sides.
func (p *play) String() string {
	var text strings.Builder
	for _, s := range []*side{p.native, p.ours} {
		fmt.Fprintf(&text, "%s, since %s:\n", s, time.Since(s.since).Round(time.Millisecond))
		for _, key := range sortedKeys(s.last.lines) {
			fmt.Fprintf(&text, "    %s: %s\n", key, s.last.lines[key])
		}
		if s.last.held != "" {
			fmt.Fprintf(&text, "    held: %s\n", s.last.held)
		}
	}
	return text.String()
}

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
		return fmt.Errorf("after all repairs: %w", err)
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
