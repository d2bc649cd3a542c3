package auditor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sliceshift/sliceshift/e2e/auditor/judge"
)

// sampleReplicas judges I4, looks for a breach of I1 between two appearances, and counts available replicas. The first
// phase is the state that the watches saw; each later phase is live. It reads again until nothing changed between two
// phases.
func (a *Auditor) sampleReplicas(ctx context.Context) (judged bool, err error) {
	what, first := a.state.snapshot(a.ordinals)
	return untilUnchanged(a, first, func(first [2]judge.ReplicaSide) ([2]judge.ReplicaSide, error) {
		second, err := phase(ctx, a, func(ctx context.Context, s *side) (judge.ReplicaSide, error) {
			return s.replicas(ctx, what)
		})
		for _, i := range judge.BothSides() {
			second[i].Seen = first[i].Seen
		}
		return second, err
	}, func(first, second [2]judge.ReplicaSide) bool {
		a.judgeReplicas(first, second)
		return judge.Unchanged(first, second)
	})
}

// untilUnchanged reads one phase after the other and judges each with the previous one, until nothing changed between
// two of them.
func untilUnchanged[S any](a *Auditor, first [2]S, read func(first [2]S) ([2]S, error), judged func(first, second [2]S) (same bool)) (bool, error) {
	for range maxTorn {
		second, err := read(first)
		if err != nil {
			return false, err
		}
		if judged(first, second) {
			return true, nil
		}
		a.ledger.tornSample()
		first = second
	}
	return false, nil
}

func (a *Auditor) judgeReplicas(first, second [2]judge.ReplicaSide) {
	for _, pair := range judge.Coexisting(first, second) {
		a.reportTogether(pair)
	}
	a.state.noteAvailable(judge.MostAvailable(a.ordinals, first, second), a.options.Clock.Now())
	if a.bounded() {
		a.checkBudget(first, second)
	}
}

// bounded reports whether a budget bounds the move.
func (a *Auditor) bounded() (is bool) {
	a.state.do(func(s *state) { is = a.options.Budget > 0 || s.word != nil })
	return is
}

func (a *Auditor) checkBudget(first, second [2]judge.ReplicaSide) {
	in := judge.BudgetInput{Ordinals: a.ordinals, First: first, Second: second, Budget: a.options.Budget}
	a.state.do(func(s *state) {
		s.served.ProveAll(first)
		s.served.ProveAll(second)
		in.Served, in.Blamed = maps.Clone(s.served.On), maps.Clone(s.blamed)
		if s.inPlace != nil {
			in.Replaced = maps.Clone(s.inPlace.replaced)
		}
	})
	verdict := judge.Budget(in)
	a.state.do(func(s *state) {
		if s.word != nil && s.word.Budget != in.Budget {
			in.Budget = s.word.Budget
			verdict.Broken = s.word.Breaks(verdict, a.options.Clock.Now())
		}
	})
	if a.live.Load() {
		a.ledger.checked(I4)
	}
	if verdict.Broken {
		a.ledger.violated(I4, WholeSet, fmt.Sprintf("the move holds %d down (ordinals %v) and the budgets allow %d more (%s): d is %d",
			len(verdict.Held), verdict.Held, verdict.Allowed, strings.Join(verdict.Shares, ", "), in.Budget))
	}
}

// reportTogether records that both sides' pods of one ordinal existed at once.
func (a *Auditor) reportTogether(pair [2]judge.PodState) {
	ordinal := pair[judge.Source].Ordinal
	a.ledger.violated(I1, ordinal, fmt.Sprintf("%s and %s existed at the same time",
		a.describePod(judge.Source, pair[judge.Source]), a.describePod(judge.Destination, pair[judge.Destination])))
}

func (a *Auditor) describePod(index judge.SideIndex, pod judge.PodState) string {
	s := a.sides[index]
	return fmt.Sprintf("pod %s/%s in %s (uid %s)", s.Namespace, judge.PodName(s.Set, pod.Ordinal), s.Name, pod.UID)
}

// sampleChanged judges I2 and I3 for the volumes that changed, from the watches and then live, like sampleReplicas.
func (a *Auditor) sampleChanged(ctx context.Context) (judged bool, err error) {
	keys := a.state.takeDirty()
	if len(keys) == 0 {
		return true, nil
	}
	judged, err = a.sampleVolumes(ctx, a.state.storageOf(a.sides, keys), func(ctx context.Context, s *side) (judge.VolumeSide, error) {
		return s.bindingsOf(ctx, keys)
	})
	if !judged {
		a.state.touch(keys...)
	}
	return judged, err
}

// sampleAll judges I2 and I3 for all volumes, including those that a claim outside the set may have taken.
func (a *Auditor) sampleAll(ctx context.Context) (judged bool, err error) {
	list := func(ctx context.Context, s *side) (judge.VolumeSide, error) { return s.storage(ctx) }
	first, err := phase(ctx, a, list)
	if err != nil {
		return false, err
	}
	return a.sampleVolumes(ctx, first, list)
}

func (a *Auditor) sampleVolumes(ctx context.Context, first [2]judge.VolumeSide, read func(context.Context, *side) (judge.VolumeSide, error)) (judged bool, err error) {
	return untilUnchanged(a, first, func([2]judge.VolumeSide) ([2]judge.VolumeSide, error) {
		return phase(ctx, a, read)
	}, func(first, second [2]judge.VolumeSide) bool {
		a.judgeVolumes(first, second)
		return a.sameStorage(first, second)
	})
}

func (a *Auditor) judgeVolumes(first, second [2]judge.VolumeSide) {
	bound := [2][]judge.Binding{}
	for _, i := range judge.BothSides() {
		bound[i] = judge.Bindings(first[i], second[i])
		if a.oneNamespace {
			bound[i] = judge.OfSet(bound[i])
		}
	}
	a.record(bound[judge.Source], judge.Source)
	a.noteBound(bound[judge.Source])
	a.checkShared(bound)
	a.checkTwice(bound)
	for _, i := range judge.BothSides() {
		a.checkHandles(i, bound[i])
		a.checkFates(second[i], i)
	}
	if a.live.Load() && len(a.state.origins())+len(a.options.OwnVolumes)+len(a.options.Copied) > 0 {
		a.ledger.checked(I2)
		a.ledger.checked(I3)
	}
}

// record stores the volume of each claim when the claim is first bound.
func (a *Auditor) record(bound []judge.Binding, index judge.SideIndex) {
	for _, b := range judge.OfSet(bound) {
		if slices.Contains(a.options.OwnVolumes, b.Claim.Key.Template) {
			continue
		}
		if b.Volume.Handle == "" {
			a.ledger.notProved(I3, b.Claim.Key.Ordinal, fmt.Sprintf(
				"volume %s in %s is of a kind whose storage the auditor cannot name", b.Volume.Name, a.sides[index].Name))
			continue
		}
		origin := judge.Origin{Handle: b.Volume.Handle, Folder: b.Volume.Folder, Side: index}
		if slices.Contains(a.options.Copied, b.Claim.Key.Template) {
			a.state.rememberCopied(*b.Claim.Key, origin)
			continue
		}
		a.state.remember(*b.Claim.Key, origin)
	}
}

func (a *Auditor) checkShared(bound [2][]judge.Binding) {
	for _, pair := range judge.SharedHandles(bound) {
		ordinal := WholeSet
		if key := pair[judge.Destination].Claim.Key; key != nil {
			ordinal = key.Ordinal
		}
		a.ledger.violated(I2, ordinal, fmt.Sprintf("%q was usable on both sides at once: %s and %s",
			pair[judge.Source].Volume.Handle, a.describeBinding(judge.Source, pair[judge.Source]), a.describeBinding(judge.Destination, pair[judge.Destination])))
	}
}

func (a *Auditor) checkHandles(index judge.SideIndex, bound []judge.Binding) {
	right, wrong := judge.Handles(bound, a.state.origins())
	a.state.do(func(s *state) {
		for _, key := range right {
			on := s.verified[key]
			on[index] = true
			s.verified[key] = on
		}
	})
	for _, w := range wrong {
		a.ledger.violated(I3, w.Key.Ordinal, fmt.Sprintf("%s, which is %q instead of %q",
			a.describeBinding(index, w.Got), w.Got.Volume.Handle, w.Want.Handle))
	}
}

func (a *Auditor) checkFates(storage judge.VolumeSide, index judge.SideIndex) {
	for _, pv := range storage.Volumes {
		if a.isOurs(a.sides[index], pv) {
			a.checkFate(a.sides[index], pv)
		}
	}
}

// checkFate judges one state of a volume of the set.
func (a *Auditor) checkFate(s *side, pv judge.VolumeState) {
	if message := judge.Fate(pv); message != "" {
		a.ledger.violated(I3, a.ordinalOfVolume(s, pv), fmt.Sprintf("volume %s (%q) in %s %s", pv.Name, pv.Handle, s.Name, message))
	}
}

// sameStorage reports whether everything of the set was the same in both phases.
func (a *Auditor) sameStorage(first, second [2]judge.VolumeSide) bool {
	for _, i := range judge.BothSides() {
		if !slices.Equal(a.relevant(i, first[i]), a.relevant(i, second[i])) {
			return false
		}
	}
	return true
}

// relevant returns the resourceVersions of all objects that belong to the set.
func (a *Auditor) relevant(index judge.SideIndex, storage judge.VolumeSide) []string {
	var versions []string
	for _, c := range storage.Claims {
		if c.Key != nil {
			versions = append(versions, string(c.UID)+c.RV)
		}
	}
	for _, pv := range storage.Volumes {
		if a.isOurs(a.sides[index], pv) {
			versions = append(versions, string(pv.UID)+pv.RV)
		}
	}
	return versions
}

func (a *Auditor) describeBinding(index judge.SideIndex, b judge.Binding) string {
	s := a.sides[index]
	return fmt.Sprintf("claim %s/%s in %s is bound to volume %s", s.Namespace, b.Claim.Name, s.Name, b.Volume.Name)
}
