package duel

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// settle waits until both sides have settled, and compares them.
func (p *play) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, longest, errors.New("the sides do not settle"))
	defer cancel()
	for {
		if err := p.looked(ctx); err != nil {
			return err
		}
		done, err := p.judge(ctx)
		if done || err != nil {
			return err
		}
	}
}

// looked waits until both controllers have observed the last edit.
func (p *play) looked(ctx context.Context) error {
	for {
		if err := p.tick(ctx); err != nil {
			return fmt.Errorf("%w\n%s", err, p)
		}
		caughtUp := true
		err := p.both(func(s *side) error {
			caughtUp = s.caughtUp(ctx) && caughtUp
			return s.refresh(ctx)
		})
		if err != nil || caughtUp && p.native.last.observed && p.ours.last.observed {
			return err
		}
	}
}

// refresh reads the state of a side, and records when it changed.
func (s *side) refresh(ctx context.Context) error {
	now, err := s.look(ctx)
	if err != nil {
		return err
	}
	now.happened = s.events.count()
	if !maps.Equal(now.lines, s.last.lines) || now.observed != s.last.observed || now.happened != s.last.happened {
		s.since = time.Now()
	}
	s.last = now
	return nil
}

// judge reports whether the sides have settled in a state that is equal, or explained.
func (p *play) judge(ctx context.Context) (done bool, err error) {
	still := min(time.Since(p.native.since), time.Since(p.ours.since))
	found := p.compare()
	if len(found) == 0 {
		if still < p.quiet() {
			return false, nil
		}
		return true, p.judgeEvents()
	}
	if p.backsOff() || still < max(p.quiet(), 2*stuck) {
		return false, nil
	}
	if helped, err := p.remedy(ctx); helped || err != nil {
		return false, err
	}
	if !p.nudged {
		p.nudged = true
		return false, p.wake(ctx)
	}
	used, unexplained := explain(p.moment(found))
	if len(unexplained) == 0 {
		p.tally.use(used)
		p.apart = true
		return true, p.judgeEvents()
	}
	if still < patience {
		return false, nil
	}
	return false, fmt.Errorf("the sides differ:\n%s\n%s", inLines(unexplained), p)
}

// compare returns the differences of the ends. The ends of a rushed script result from different histories, so their
// remaining revisions and claims do not count.
func (p *play) compare() []difference {
	found := compareStates(p.native.last, p.ours.last)
	if !p.script.Settings.Rushed {
		return found
	}
	return slices.DeleteFunc(found, func(d difference) bool {
		claim, is := strings.CutPrefix(d.about, "claim ")
		_, claim, _ = strings.Cut(claim, "-")
		ordinal, _ := ordinalOf(p.wish.name, claim)
		return d.about == "revisions" || is && !p.wish.owns(ordinal)
	})
}

// judgeEvents compares the events.
func (p *play) judgeEvents() error {
	m := p.moment(nil)
	m.nativeEvents, m.ourEvents = p.native.events.take(), p.ours.events.take()
	if p.apart {
		return nil
	}
	m.found = compareEvents(p.wish, m.nativeEvents, m.ourEvents)
	used, unexplained := explain(m)
	p.tally.use(used)
	if len(unexplained) > 0 {
		return fmt.Errorf("the ends are equal, the ways are not:\n%s\nnative: %s\nours:   %s\n%s", inLines(unexplained), inWords(m.nativeEvents), inWords(m.ourEvents), p)
	}
	return nil
}

func (p *play) moment(found []difference) *moment {
	return &moment{wish: p.wish, minor: p.native.minor, refused: p.refused, settled: !p.script.Settings.Rushed, before: p.before, native: p.native.last, ours: p.ours.last, found: found}
}

// quiet returns how long nothing may happen before both sides count as settled.
func (p *play) quiet() time.Duration {
	want := *p.wish.Replicas
	for _, s := range []*side{p.native, p.ours} {
		st := s.last.status
		if st.Replicas != want || st.AvailableReplicas != want || len(s.last.pods) != int(want) || st.UpdatedReplicas != want && p.wish.partition() == 0 {
			return stuck + time.Duration(p.wish.MinReadySeconds)*time.Second
		}
	}
	return quiet
}

func sortedKeys(lines map[string]string) []string { return slices.Sorted(maps.Keys(lines)) }

// remedy applies a repair of ours to the native side, so that both can continue together. It reports whether there was
// anything to repair.
//
// apps/v1 never replaces a pod that is not Ready and has a revision other than that of the template: its documentation
// requires a manual deletion (kubernetes#67250). Ours has already deleted the pod.
func (p *play) remedy(ctx context.Context) (helped bool, err error) {
	if helped, err = p.remedyLeaving(ctx); helped || err != nil || p.wish.onDelete() {
		return helped, err
	}
	for ordinal, theirs := range p.native.last.pods {
		mine, has := p.ours.last.pods[ordinal]
		replaced := !has || mine.updated || mine.terminating
		if !p.wish.inScope(ordinal) || theirs.updated || theirs.ready || theirs.terminating || !replaced {
			continue
		}
		if err := p.native.delete(ctx, theirs.pod); err != nil {
			return false, err
		}
		helped, p.apart = true, true
	}
	if helped {
		p.tally.use(map[string]bool{explainedBroken: true})
	}
	return helped, nil
}

// remedyLeaving repairs pods outside of the range: in OrderedReady, apps/v1 neither deletes nor updates any other pod
// while two of them are not Ready. Ours has already deleted the first of them.
func (p *play) remedyLeaving(ctx context.Context) (helped bool, err error) {
	m := p.moment(nil)
	ordinal, stuck := m.leavingStuck()
	mine, has := p.ours.last.pods[ordinal]
	if !stuck || has && !mine.terminating {
		return false, nil
	}
	if err := p.native.delete(ctx, p.native.last.pods[ordinal].pod); err != nil {
		return false, err
	}
	p.tally.use(map[string]bool{explainedLeaving: true})
	p.apart = true
	return true, nil
}

// backsOff reports whether ours waits before it replaces a finished pod, where apps/v1 does not wait. The ends are
// equal.
func (p *play) backsOff() bool {
	if !strings.Contains(p.ours.last.held, "the next one is created after a backoff") {
		return false
	}
	if !p.backedOff {
		p.tally.use(map[string]bool{explainedBackoff: true})
	}
	p.backedOff = true
	return true
}
