package execute

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/sliceshift/sliceshift/slices/decide"
	"github.com/sliceshift/sliceshift/slices/observe"
)

// firstAtOnce is how many pods are written at the same time at first, mostAtOnce how many
// in the end.
const (
	firstAtOnce = 8
	mostAtOnce  = 64
)

// failure is an action that failed.
type failure struct {
	verb decide.Verb
	err  error
}

// Execute carries out a decision, and brings in line with it what Decide knows nothing of: the
// readiness gates and the lifecycle states of the pods.
func (c *PodControl) Execute(ctx context.Context, decision decide.Decision) error {
	return c.all(ctx, slices.Concat(c.gates(decision.Held), c.states(decision), decision.Actions))
}

// Refused says whether something was refused that is to be asked for again later.
func (c *PodControl) Refused() bool { return c.refused.Load() }

// all carries out actions: those of one ordinal one after the other, those of several
// ordinals at the same time. It begins with a few, and each that succeeds lets one more
// run beside the others. What the API server refuses once it would refuse often, so that
// no other action of that verb is begun; those of other verbs are, for no pod waits for
// what has gone wrong with another one.
func (c *PodControl) all(ctx context.Context, actions []decide.Action) error {
	chains, refused := chainsOf(actions), map[decide.Verb]bool{}
	results := make(chan []failure)
	var failed []error
	for next, running, most := 0, 0, firstAtOnce; next < len(chains) || running > 0; {
		if next < len(chains) && running < most {
			chain := worthwhile(chains[next], refused)
			if next++; len(chain) > 0 {
				go func() { results <- c.chain(ctx, chain) }()
				running++
			}
			continue
		}
		for _, each := range <-results {
			failed = append(failed, each.err)
			refused[each.verb] = refused[each.verb] || !apierrors.IsConflict(each.err)
		}
		running, most = running-1, min(most+1, mostAtOnce)
	}
	return errors.Join(failed...)
}

// chainsOf groups actions by ordinal, in the order in which the ordinals appear.
func chainsOf(actions []decide.Action) [][]decide.Action {
	var chains [][]decide.Action
	at := map[int32]int{}
	for _, action := range actions {
		i, found := at[action.Ordinal]
		if !found {
			i = len(chains)
			at[action.Ordinal], chains = i, append(chains, nil)
		}
		chains[i] = append(chains[i], action)
	}
	return chains
}

// worthwhile is what to begin of a chain when the API server has refused some verbs: nothing
// of one that could not be carried through.
func worthwhile(chain []decide.Action, refused map[decide.Verb]bool) []decide.Action {
	var out []decide.Action
	for i, action := range chain {
		switch {
		case !refused[action.Verb]:
			out = append(out, action)
		case keepsBack(chain[i:], nil):
			return nil
		}
	}
	return out
}

// chain carries out the actions of one ordinal.
func (c *PodControl) chain(ctx context.Context, actions []decide.Action) (failed []failure) {
	pod := c.pods[actions[0].Ordinal]
	for i, action := range actions {
		var err error
		switch action.Verb {
		case OpenGate:
			pod, err = c.gate(ctx, pod, corev1.ConditionTrue)
		case CloseGate:
			pod, err = c.gate(ctx, pod, corev1.ConditionFalse)
		default:
			err = c.one(ctx, action, pod)
		}
		RecordWrite(string(action.Verb), err)
		if err == nil {
			continue
		}
		failed = append(failed, failure{action.Verb, fmt.Errorf("%s of pod %s/%s: %w", action.Verb, c.Set.Namespace, observe.PodName(c.Set.Name, action.Ordinal), err)})
		if keepsBack(actions[i:], err) {
			break
		}
	}
	return failed
}

// keepsBack says whether the first of some actions, which has failed, keeps back the others. A
// pod that has changed is to be judged anew first.
func keepsBack(actions []decide.Action, err error) bool {
	verb := actions[0].Verb
	return apierrors.IsConflict(err) || verb != OpenGate && verb != CloseGate
}
