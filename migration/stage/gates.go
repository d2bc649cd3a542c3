package stage

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/health"
	"github.com/sliceshift/sliceshift/migration/rehearsal"
)

// gate is a health gate with its last answers, by pod.
type gate struct {
	spec  api.HealthGate
	asker health.Asker
	// not is why it is not asked; empty if it is.
	not  string
	last map[types.UID]answer
}

// answer is the last answer about a pod, and when it was given.
type answer struct {
	rehearsal.Gate
	at time.Time
}

// standardInterval and standardTimeout are the defaults of a gate.
const (
	standardInterval = 10 * time.Second
	standardTimeout  = 5 * time.Second
)

func secondsOf(n *int32, standard time.Duration) time.Duration {
	if n == nil {
		return standard
	}
	return time.Duration(*n) * time.Second
}

// prepareGates creates the askers of the gates. A gate that asks for something that a rehearsal does not have is not
// asked.
func (s *Stage) prepareGates() {
	for _, each := range s.Spec.Gates {
		g := gate{spec: each, last: map[types.UID]answer{}}
		switch {
		case !slices.Contains(each.At, api.GateAfterStart):
			g.not = "it is for another moment than the start of a pod"
		case each.Prometheus != nil:
			g.not = "its metrics are those of the running application"
		case s.Word != nil && slices.Contains(s.Word.Unasked, each.Name):
			g.not = "it waits for members that no pod of a rehearsal reaches"
		case each.Job != nil && each.Job.Side == api.GateSource:
			g.not = "its Job would run at the source"
		case each.Job != nil && len(rehearsal.Escapes(each.Job.Spec.Template.Spec, nil)) > 0:
			g.not = "no NetworkPolicy can hold its Job: " + rehearsal.Escapes(each.Job.Spec.Template.Spec, nil)[0]
		default:
			var err error
			if g.asker, err = health.New(each, s.sides()); err != nil {
				g.not = health.AnswerOf(err).Message
			}
		}
		s.gates = append(s.gates, g)
	}
}

// askGates asks each gate about each pod, unless its last answer is recent or has passed.
func (s *Stage) askGates(ctx context.Context, r rehearsal.Record, pods []rehearsal.Pod) []rehearsal.Gate {
	var all []rehearsal.Gate
	for _, g := range s.gates {
		if g.not != "" {
			all = append(all, rehearsal.Gate{Name: g.spec.Name, Verdict: rehearsal.GateNotAsked, Message: g.not})
			continue
		}
		for _, p := range pods {
			all = append(all, s.askGate(ctx, r, g, p))
		}
	}
	return all
}

func (s *Stage) askGate(ctx context.Context, r rehearsal.Record, g gate, p rehearsal.Pod) rehearsal.Gate {
	before, asked := g.last[p.UID]
	if asked && (before.Verdict == rehearsal.GatePassed || s.Clock.Since(before.at) < secondsOf(g.spec.IntervalSeconds, standardInterval)) {
		return before.Gate
	}
	ctx, cancel := context.WithTimeout(ctx, secondsOf(g.spec.TimeoutSeconds, standardTimeout))
	defer cancel()
	at := s.Pair.Destination
	got := g.asker.Ask(ctx, health.Subject{
		Migration: types.NamespacedName{Namespace: s.Pair.Source.Namespace, Name: s.Pair.Source.Set}, MigrationUID: r.ID,
		Side: api.GateDestination, Cluster: at.Cluster, Namespace: at.Namespace, StatefulSet: at.Set,
		Pod: p.Name, PodUID: p.UID, Ordinal: &p.Ordinal, Direction: string(api.Forward), Point: api.GateAfterStart,
	})
	verdicts := map[health.Verdict]rehearsal.Verdict{health.Passed: rehearsal.GatePassed, health.Failed: rehearsal.GateFailed, health.Invalid: rehearsal.GateFailed}
	now := rehearsal.Gate{Name: g.spec.Name, Pod: p.Name, Verdict: rehearsal.GateUnanswered, Message: got.Message}
	if verdict, known := verdicts[got.Verdict]; known {
		now.Verdict = verdict
	}
	g.last[p.UID] = answer{now, s.Clock.Now()}
	return now
}
