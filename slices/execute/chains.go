package execute

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/sliceshift/sliceshift/slices/decide"
	"github.com/sliceshift/sliceshift/slices/observe"
)

// firstAtOnce is the initial number of concurrent writes, mostAtOnce the maximum.
const (
	firstAtOnce = 8
	mostAtOnce  = 64
)

// failure is the error of an action.
type failure struct {
	decide.Action
	err error
}

// Execute executes a decision. It also updates the readiness gates and the lifecycle states of the pods, which Decide does
// not cover.
func (c *PodControl) Execute(ctx context.Context, decision decide.Decision) error {
	return c.all(ctx, slices.Concat(c.gates(decision.Held), c.states(decision), decision.Actions))
}

// Refused reports whether a refused request must be retried later.
func (c *PodControl) Refused() bool { return c.refused.Load() }

// Refusals returns the writes that the API server refused, in the order of their ordinals.
func (c *PodControl) Refusals() []decide.Refusal { return c.refusals }

// all executes actions: those of one ordinal in sequence, those of several ordinals concurrently. It starts with a few, and
// each chain that completes raises the limit by one. After a refusal it starts no further action of that verb, because the
// API server would refuse it again. Other verbs continue, so that an error of one pod does not delay the others.
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
			if reason, is := isByBudget(each.err); is { // another pod may have another budget
				if each.Verb == decide.Evict {
					c.refusals = append(c.refusals, decide.Refusal{Verb: each.Verb, Ordinal: each.Ordinal, UID: each.UID, Message: reason, At: c.Now()})
				}
				continue
			}
			failed = append(failed, each.err)
			refused[each.Verb] = refused[each.Verb] || !apierrors.IsConflict(each.err)
			if isRefusal(each.err) {
				c.refusals = append(c.refusals, decide.Refusal{Verb: each.Verb, Ordinal: each.Ordinal, UID: each.UID, Message: each.err.Error()})
			}
		}
		running, most = running-1, min(most+1, mostAtOnce)
	}
	slices.SortStableFunc(c.refusals, func(a, b decide.Refusal) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
	return errors.Join(failed...)
}

// chainsOf groups actions by ordinal, in the order of the ordinals' first action.
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

// worthwhile returns the actions of a chain that can still run after the API server refused some verbs. It returns none if
// the chain could not be completed.
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

// chain executes the actions of one ordinal.
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
		failed = append(failed, failure{action, fmt.Errorf("%s of pod %s/%s: %w", action.Verb, c.Set.Namespace, observe.PodName(c.Set.Name, action.Ordinal), err)})
		if keepsBack(actions[i:], err) {
			break
		}
	}
	return failed
}

// keepsBack reports whether the failure of the first action skips the remaining ones. After a conflict, the changed pod must
// be observed first.
func keepsBack(actions []decide.Action, err error) bool {
	verb := actions[0].Verb
	return apierrors.IsConflict(err) || verb != OpenGate && verb != CloseGate
}
