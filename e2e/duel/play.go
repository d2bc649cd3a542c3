package duel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// play is one script as it is played.
type play struct {
	script       Script
	wish         *wish
	native, ours *side
	tally        *tally
	// before is what the sides were like when the last step was made.
	before [2]state
	// apart is true when what has happened since cannot be compared.
	apart bool
	// backedOff is true when ours has waited since before it replaced a pod that had ended.
	backedOff bool
	// refused is true while the API server refuses writes.
	refused bool
}

// beyond is an ordinal that no script owns.
const beyond = 15

// Times of a play.
const (
	// quiet is how long nothing may happen on both sides when they are complete, and
	// stuck how long when they are not, beyond minReadySeconds.
	quiet = 300 * time.Millisecond
	stuck = 1500 * time.Millisecond
	// patience is how long they may differ while nothing happens.
	patience = 12 * time.Second
	// longest is how long they may need.
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

// begin is called before a step is made.
func (p *play) begin() {
	p.before = [2]state{p.native.last, p.ours.last}
	p.apart, p.backedOff = p.script.Settings.Rushed || len(p.compare()) > 0, false
}

func (p *play) both(do func(*side) error) error {
	return errors.Join(do(p.native), do(p.ours))
}

// do makes a step on both sides.
func (p *play) do(ctx context.Context, step Step) error {
	if edits := step.edit(p.wish); edits != nil {
		for i, edit := range edits {
			if i > 0 {
				p.apart = true // how far the first one gets is chance
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

// allow takes refusals back, and makes both controllers look: none of them is told that a
// write would be accepted by now.
func (p *play) allow(ctx context.Context) error {
	if err := p.both(func(s *side) error { return s.refuse(ctx, nil) }); err != nil {
		return err
	}
	p.refused = false
	return p.nudge(ctx)
}

// harm makes a step that is about an ordinal. What the API server refuses was none.
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
	return p.both(func(s *side) error {
		err := do(s)
		if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
}

// pause is for a script that is rushed.
func (p *play) pause(ctx context.Context, span time.Duration) error {
	end := time.Now().Add(span)
	for time.Now().Before(end) {
		if err := p.tick(ctx); err != nil {
			return err
		}
	}
	return nil
}

// tick lets a moment pass, in which claims get their volumes.
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

// clear leaves the lane as it was.
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

// String shows both sides.
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
