package planner

import (
	"fmt"
	"time"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// Kind classifies an API server's answer to a write.
type Kind int

// Kinds of answers. Nothing may be concluded from the zero value.
const (
	// NoAnswer: the write may have landed, or still land.
	NoAnswer Kind = iota
	// Landed: it was carried out.
	Landed
	// Changed: the object was changed, replaced or deleted since it was judged.
	Changed
	// NamespaceGone: the namespace does not exist.
	NamespaceGone
	// MissingRight: the process lacks the permission.
	MissingRight
	// Refused: admission or validation rejected it.
	Refused
	// Unsent: no cluster was asked, because the write would change nothing or is not known.
	Unsent
)

// Answer is the result of a Confirm, a Write, a SaveRecord or a Report.
type Answer struct {
	Kind Kind
	// Version is the new resourceVersion of a Migration or of an object that is watched; empty: there is none, or
	// no watch shows it. Object names such an object.
	Version, Object string
	// Cluster is the cluster that answered and Message its answer in one line, for people.
	Cluster, Message string
}

// Answered returns the step that follows from the answer to a Step. A write that may still arrive is never
// repeated under the same fence, because only a new epoch makes it harmless. So a process that got no answer is no
// longer engaged.
func (s *State) Answered(step Step, answer Answer, now time.Time) Step {
	switch step.Do {
	case Confirm:
		return s.confirmed(step, answer)
	case Write:
		return s.written(step, answer, now)
	case SaveRecord, Report:
		return s.saved(step, answer)
	default:
		return step.rest(step.RequeueAfter)
	}
}

// confirmed allows the fence to be written if its record is the newest. A record that was written again unchanged
// is harmless when it arrives late.
func (s *State) confirmed(step Step, answer Answer) Step {
	if answer.Kind != Landed {
		return step.rest(RequeueAtLatest)
	}
	s.SavedVersion = answer.Version
	step.Do = Write
	return step
}

func (s *State) written(step Step, answer Answer, now time.Time) Step {
	asked := func(form string) string {
		return fmt.Sprintf(form, answer.Cluster, *step.Decision.Effect, answer.Message)
	}
	switch answer.Kind {
	case Landed:
		s.Refusals, s.UnreportedSince = 0, time.Time{}
		if answer.Version == "" {
			return step.rest(RequeueUnobserved)
		}
		s.await(answer.Object, answer.Version, now)
		if step.Decision.Effect.FillsSecond() {
			return step.rest(RequeueUnobserved)
		}
		return step.rest(RequeueAtLatest)
	case Changed, NamespaceGone:
		if s.Refusals++; s.Refusals < mostRefusals {
			return step.rest(RequeueUnobserved << (s.Refusals - 1))
		}
		// Each write was decided on a fresh read. It is still tried again.
		kubectl := step.Snapshot.Side(step.Decision.Effect.Side).Kubectl()
		reason, remedy := api.ReasonWriteRefused, "see which other client writes the object: "+kubectl.Do("get", "--show-managed-fields", "-o", "yaml")
		if answer.Kind == NamespaceGone {
			reason, remedy = api.ReasonNamespaceMissing, "check the namespace, and create it again: "+kubectl.Do("get", "namespaces")
		}
		return step.report(plan.Stalled(reason, asked("cluster %s repeatedly refuses to %s: %s"), remedy))
	case MissingRight:
		return step.report(plan.Stalled(api.ReasonPermissionMissing, asked("cluster %s refused to %s: %s"), step.Decision.Effect.RemedyRights()))
	case Refused:
		if step.Decision.Effect.RunsHook() {
			return step.report(plan.Stalled(api.ReasonHookRefused, asked("cluster %s refused to %s: %s"), RemedyHookRefused(step.Snapshot)))
		}
		return step.report(plan.Stalled(api.ReasonWriteRefused, asked("cluster %s refused to %s: %s"), remedyRefused(step)))
	case Unsent:
		return step.report(plan.Stalled(api.ReasonWriteRefused, asked("cluster %s was not asked to %s, because this program has a defect: %s"), "upgrade sliceshift, and report the message; nothing has changed"))
	default:
		s.Engaged = false
		return step.report(plan.Stalled(api.ReasonClusterUnreachable, asked("cluster %s did not answer when asked to %s: %s"), "nothing is done on either side until it answers"))
	}
}

// remedyRefused returns the remedy for a write that was refused although the process has the permission.
func remedyRefused(step Step) string {
	side := step.Snapshot.Side(step.Decision.Effect.Side)
	words := []string{"quota"}
	if namespace := side.Namespace; namespace != "" {
		words = append(words, "-n", namespace)
	}
	quota := side.Kubectl().Do("describe", words...)
	return fmt.Sprintf("find the cause that the answer names there: a quota (%s), an admission policy or a webhook; change it to allow this", quota)
}

// saved engages the process only if the record has a new fence of its own.
func (s *State) saved(step Step, answer Answer) Step {
	s.UnreportedSince = time.Time{}
	if answer.Kind != Landed {
		s.Engaged = s.Engaged && answer.Kind != NoAnswer
		return step.rest(step.RequeueAfter)
	}
	s.SavedVersion = answer.Version
	if step.Do == Report {
		return step.rest(step.RequeueAfter)
	}
	before, after := step.Snapshot.Record.Fence, step.Decision.Record.Fence
	taken := after != nil && after.Holder == s.Holder && (before == nil || *before != *after)
	kept := after != nil && after.Holder == s.Holder && s.Engaged
	s.Engaged = taken || kept
	return step.rest(RequeueUnobserved)
}
