package engine

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/metrics"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/volumes"
)

// unreachable returns the decision for a cluster that did not answer or refused the request.
func unreachable(err error) plan.Decision {
	if endpoint.NotLent(err) {
		return *plan.Stalled(api.ReasonPermissionMissing, endpoint.OneLine(err), plan.RemedyLending)
	}
	if apierrors.IsForbidden(err) {
		return *plan.Stalled(api.ReasonPermissionMissing, endpoint.OneLine(err), plan.RemedyRights)
	}
	return *plan.Stalled(api.ReasonClusterUnreachable, endpoint.OneLine(err), plan.RemedyUnreachable)
}

// conclude carries out the result of a pass: it writes the record, one effect, or only the status.
func (e *Engine) conclude(ctx context.Context, m *api.Migration, step planner.Step) (Outcome, error) {
	outcome := Outcome{Snapshot: step.Snapshot, Decision: step.Decision, Done: step.Decision.Done != ""}
	e.seen.note(m, step.Snapshot)
	e.seen.reached(step.Snapshot.Record.Handoff, step.Decision.Step, step.Snapshot.Now)
	if step.Do == planner.SaveRecord && !e.others.begins(step) {
		return Outcome{Snapshot: step.Snapshot, RequeueAfter: planner.RequeueUnobserved}, nil
	}
	if step.Do == planner.Write && !e.others.hasPlace(step) {
		return Outcome{Snapshot: step.Snapshot, RequeueAfter: planner.RequeueRefused}, nil
	}
	if step.Do == planner.Write && e.status.kept != nil {
		step.Do = planner.Confirm
	}
	if step.Do == planner.Confirm {
		before := m.DeepCopy()
		err := e.status.write(ctx, m)
		step = e.save(step, m, err)
		if lost := notStored(err); lost != nil {
			step, err = e.stallUnstored(ctx, before, m, lost, &outcome)
			outcome.RequeueAfter = step.RequeueAfter
			return outcome, err
		}
		if err != nil {
			return outcome, fmt.Errorf("confirming the record of Migration %s/%s: %w", m.Namespace, m.Name, err)
		}
	}
	if step.Do == planner.Write {
		if step, outcome.Wrote = e.write(ctx, m, step); outcome.Wrote {
			e.seen.wrote(*step.Decision.Effect, e.clock.Now())
		}
	}
	outcome.Decision = step.Decision
	var err error
	if step.Do == planner.SaveRecord || step.Do == planner.Report {
		step, err = e.report(ctx, m, step, &outcome)
	}
	outcome.RequeueAfter = e.status.heart.requeue(m, e.clock.Now(), planner.Patient(m, step.RequeueAfter, e.clock.Now()))
	return outcome, err
}

// report writes a decision, with its record if it has one, into the status. It saves the status only if the
// change is worth a write.
func (e *Engine) report(ctx context.Context, m *api.Migration, step planner.Step, outcome *Outcome) (planner.Step, error) {
	before, record := m.DeepCopy(), step.Decision.Record
	seen := before.Status
	e.seen.fewestIn(&seen)
	if record != nil {
		outcome.Finished = planner.FinishedHandoff(step.Snapshot, *record)
		applyRecord(m, *record)
	}
	render(m, step.Snapshot, step.Decision)
	renderWaits(m, step)
	renderAhead(m, e.early.held, step.Decision)
	date(m, seen, e.clock.Now())
	e.seen.noteFewest(m, step.Snapshot)
	e.seen.fewestIn(&m.Status)
	renderHistory(m, seen, step.Snapshot.Now, outcome.Finished, &e.seen)
	e.seen.clients.render(m, e.clock.Now())
	if before.Status.Baseline == nil {
		renderWarnings(m, step.Decision)
	}
	left, beats := e.status.heart.left(m, e.clock.Now())
	due := beats && left <= 0
	if record == nil && !due {
		if !changed(before, m) && e.status.kept == nil {
			return e.turnBack(ctx, m, step)
		}
		stalled := meta.IsStatusConditionTrue(before.Status.Conditions, api.ConditionStalled)
		if left := e.state.Postpones(step, stalled, e.clock.Now()); left > 0 && e.status.kept == nil {
			before.DeepCopyInto(m)
			step.RequeueAfter = min(step.RequeueAfter, left)
			return step, nil
		}
	}
	beat := e.status.heart.beat(m, e.clock.Now())
	err := e.status.write(ctx, m)
	step = e.save(step, m, err)
	if lost := notStored(err); lost != nil {
		return e.stallUnstored(ctx, before, m, lost, outcome)
	}
	if err != nil {
		before.DeepCopyInto(m)
		return step, fmt.Errorf("writing the status of Migration %s/%s: %w", m.Namespace, m.Name, err)
	}
	e.status.heart.last = beat
	outcome.saved(before, m)
	return step, nil
}

// saved records the differences between the previous status and the written one.
func (outcome *Outcome) saved(before, after *api.Migration) {
	outcome.Saved, outcome.Stalls = true, beginsToStall(before, after)
	outcome.GoesOn = stalled(before) && !stalled(after)
	if reason := heldAhead(after); reason != heldAhead(before) {
		outcome.AheadHeld = reason
	}
	hold := outcome.Decision.Hold
	outcome.Waits = hold != nil && !hold.Stalled && progress(before) != progress(after)
}

// progress returns the reason of the condition Progressing.
func progress(m *api.Migration) string {
	if found := meta.FindStatusCondition(m.Status.Conditions, api.ConditionProgressing); found != nil {
		return found.Reason
	}
	return ""
}

// turnBack switches a migration to mode Rollback if its user has enabled that, after the status shows the
// reason.
func (e *Engine) turnBack(ctx context.Context, m *api.Migration, step planner.Step) (planner.Step, error) {
	if hold := step.Decision.Hold; hold == nil || !hold.TurnBack || m.Spec.Mode == api.ModeRollback {
		return step, nil
	}
	before := m.DeepCopy()
	err := e.status.records.TurnBack(ctx, m)
	if step = e.save(step, m, err); err != nil {
		before.DeepCopyInto(m)
		return step, fmt.Errorf("turning Migration %s/%s back: %w", m.Namespace, m.Name, err)
	}
	step.RequeueAfter = planner.RequeueUnobserved
	return step, nil
}

// save reports the result of a write of the Migration to the pass.
func (e *Engine) save(step planner.Step, m *api.Migration, err error) planner.Step {
	answer := planner.Answer{Kind: kindOf(err)}
	metrics.Wrote(metrics.WriteStatus, answer.Kind)
	if err == nil {
		answer.Version = m.ResourceVersion
		e.status.landed(m)
	}
	return e.state.Answered(step, answer, e.clock.Now())
}

// write carries out the effect of a step, and reports whether the write has landed.
func (e *Engine) write(ctx context.Context, m *api.Migration, step planner.Step) (planner.Step, bool) {
	effect := *step.Decision.Effect
	object, err := e.world.Do(ctx, step.Focus.On(m), effect)
	answer := planner.Answer{Kind: kindOf(err), Cluster: e.clusters.links.pair.At(effect.Side).Cluster}
	metrics.Wrote(string(effect.Verb), answer.Kind)
	if err != nil {
		answer.Message = endpoint.OneLine(err)
	} else if watched(object) && !effect.ForMovers() {
		answer.Version, answer.Object = object.GetResourceVersion(), e.clusters.watches.await(watchedObject{object, effect.Side}, e.state.Awaited)
	}
	return e.state.Answered(step, answer, e.clock.Now()), err == nil
}

// kindOf classifies the error of a write. After any error that is not listed it is unknown whether the write
// has landed.
func kindOf(err error) planner.Kind {
	switch {
	case err == nil:
		return planner.Landed
	case namespaceGone(err):
		return planner.NamespaceGone
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err), apierrors.IsNotFound(err):
		return planner.Changed
	case endpoint.LacksRight(err):
		return planner.MissingRight
	case unsent(err):
		return planner.Unsent
	case notStored(err) != nil, apierrors.IsForbidden(err), apierrors.IsInvalid(err), apierrors.IsBadRequest(err), endpoint.WebhookRefused(err):
		return planner.Refused
	default:
		return planner.NoAnswer
	}
}

// unsent reports whether a write was not sent.
func unsent(err error) bool {
	_, is := errors.AsType[*volumes.UnsentError](err)
	return is
}

// namespaceGone reports whether an API server refused a write because the namespace does not exist. Its answer
// names the namespace (kubernetes apiserver, admission plugin NamespaceLifecycle), also to an identity that may
// not read namespaces.
func namespaceGone(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || !apierrors.IsNotFound(err) {
		return false
	}
	details := status.Status().Details
	return details != nil && details.Kind == "namespaces"
}
