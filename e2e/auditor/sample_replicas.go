package auditor

import (
	"context"
	"fmt"
	"maps"
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
