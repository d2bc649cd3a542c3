package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/metrics"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/migration/world"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/workload"
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
	e.fewest.note(m.Status.Handoff, step.Snapshot)
	e.down.note(m, step.Snapshot)
	if step.Do == planner.SaveRecord && !e.begins(step) {
		return Outcome{Snapshot: step.Snapshot, RequeueAfter: planner.RequeueUnobserved}, nil
	}
	if step.Do == planner.Write && !e.hasPlace(step) {
		return Outcome{Snapshot: step.Snapshot, RequeueAfter: planner.RequeueRefused}, nil
	}
	if step.Do == planner.Write && e.kept != nil {
		step.Do = planner.Confirm
	}
	if step.Do == planner.Confirm {
		before := m.DeepCopy()
		err := e.store(ctx, m)
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
			e.down.wrote(*step.Decision.Effect, e.clock.Now())
		}
	}
	outcome.Decision = step.Decision
	var err error
	if step.Do == planner.SaveRecord || step.Do == planner.Report {
		step, err = e.report(ctx, m, step, &outcome)
	}
	outcome.RequeueAfter = e.heart.requeue(m, e.clock.Now(), planner.Patient(m, step.RequeueAfter, e.clock.Now()))
	return outcome, err
}

// report writes a decision, with its record if it has one, into the status. It saves the status only if the
// change is worth a write.
func (e *Engine) report(ctx context.Context, m *api.Migration, step planner.Step, outcome *Outcome) (planner.Step, error) {
	before, record := m.DeepCopy(), step.Decision.Record
	seen := before.Status
	seen.Handoff = e.fewest.in(seen.Handoff)
	if record != nil {
		outcome.Finished = planner.FinishedHandoff(step.Snapshot, *record)
		applyRecord(m, *record)
	}
	render(m, step.Snapshot, step.Decision)
	renderAhead(m, e.held, step.Decision)
	date(m, seen, e.clock.Now())
	e.fewest.note(m.Status.Handoff, step.Snapshot)
	m.Status.Handoff = e.fewest.in(m.Status.Handoff)
	renderHistory(m, seen, step.Snapshot.Now, outcome.Finished, e.down)
	e.clients.render(m, e.clock.Now())
	if before.Status.Baseline == nil {
		renderWarnings(m, step.Decision)
	}
	left, beats := e.heart.left(m, e.clock.Now())
	due := beats && left <= 0
	if record == nil && !due {
		if !changed(before, m) && e.kept == nil {
			return e.turnBack(ctx, m, step)
		}
		stalled := meta.IsStatusConditionTrue(before.Status.Conditions, api.ConditionStalled)
		if left := e.state.Postpones(step, stalled, e.clock.Now()); left > 0 && e.kept == nil {
			before.DeepCopyInto(m)
			step.RequeueAfter = min(step.RequeueAfter, left)
			return step, nil
		}
	}
	beat := e.heart.beat(m, e.clock.Now())
	err := e.store(ctx, m)
	step = e.save(step, m, err)
	if lost := notStored(err); lost != nil {
		return e.stallUnstored(ctx, before, m, lost, outcome)
	}
	if err != nil {
		before.DeepCopyInto(m)
		return step, fmt.Errorf("writing the status of Migration %s/%s: %w", m.Namespace, m.Name, err)
	}
	e.heart.last = beat
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
	err := e.records.TurnBack(ctx, m)
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
		answer.Version, e.saved, e.kept = m.ResourceVersion, m.DeepCopy(), nil
	}
	return e.state.Answered(step, answer, e.clock.Now())
}

// write carries out the effect of a step, and reports whether the write has landed.
func (e *Engine) write(ctx context.Context, m *api.Migration, step planner.Step) (planner.Step, bool) {
	effect := *step.Decision.Effect
	object, err := e.world.Do(ctx, m, effect)
	answer := planner.Answer{Kind: kindOf(err), Cluster: e.sides.At(effect.Side).Cluster}
	metrics.Wrote(string(effect.Verb), answer.Kind)
	if err != nil {
		answer.Message = endpoint.OneLine(err)
	} else if watched(object) && !effect.ForMovers() {
		answer.Version, answer.Object = object.GetResourceVersion(), e.await(watchedObject{Object: object, side: effect.Side})
	}
	return e.state.Answered(step, answer, e.clock.Now()), err == nil
}

// await keeps a written object until the caches show it, and returns the name by which the pass knows it.
func (e *Engine) await(object watchedObject) string {
	maps.DeleteFunc(e.written, func(name string, _ watchedObject) bool {
		return !slices.ContainsFunc(e.state.Awaited, func(a planner.Awaited) bool { return a.Object == name })
	})
	name := fmt.Sprintf("%s %T %s", object.side, object.Object, client.ObjectKeyFromObject(object))
	if e.written == nil {
		e.written = map[string]watchedObject{}
	}
	e.written[name] = object
	return name
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

// watched reports whether a view shows objects of this kind.
func watched(object client.Object) bool {
	switch object.(type) {
	case *policyv1.PodDisruptionBudget, *corev1.PersistentVolume, *corev1.PersistentVolumeClaim, *corev1.Service:
		return true
	default:
		return workload.Is(object)
	}
}

// heldCopy is the reason that holds the copy of an ordinal ahead of its turn.
type heldCopy struct {
	hold plan.Hold
	// found is where the reason was found.
	found foundIn
	// again is when the copy is tried again.
	again time.Time
}

// foundIn is where the reason that holds a copy was found.
type foundIn int

const (
	// inAnswer means that a write was refused. The hold ends when a write lands.
	inAnswer foundIn = iota
	// inSnapshot means that the reason was observed. The hold ends when it is not observed any more.
	inSnapshot
)

// early continues the copies of ordinals ahead of their turns while the migration itself waits. It writes at
// most once.
func (e *Engine) early(ctx context.Context, m *api.Migration, outcome *Outcome) error {
	ordinals := planner.EarlyOrdinals(outcome.Snapshot)
	maps.DeleteFunc(e.held, func(k int32, _ heldCopy) bool { return !slices.Contains(ordinals, k) })
	if e.held == nil && outcome.Snapshot.Source.Reach == plan.Seen && len(ordinals) == 0 {
		e.held = map[int32]heldCopy{}
	}
	if len(ordinals) == 0 {
		return nil
	}
	if left := e.earlyDue.Sub(e.clock.Now()); left > 0 {
		outcome.RequeueAfter = min(outcome.RequeueAfter, left)
		return nil
	}
	for _, ordinal := range ordinals {
		if e.clock.Now().Before(e.held[ordinal].again) {
			continue
		}
		wrote, err := e.earlyOf(ctx, m, ordinal)
		if err != nil {
			return err
		}
		if wrote {
			outcome.RequeueAfter = planner.RequeueUnobserved
			return nil
		}
	}
	e.earlyDue = e.clock.Now().Add(planner.EarlyLook)
	outcome.RequeueAfter = min(outcome.RequeueAfter, planner.EarlyLook)
	return nil
}

// earlyOf takes the next action for the copy of one such ordinal, and reports whether it wrote.
func (e *Engine) earlyOf(ctx context.Context, m *api.Migration, ordinal int32) (wrote bool, err error) {
	step := e.state.BeginEarly(ordinal)
	for step.Do == planner.Read {
		snapshot := e.world.Snapshot(ctx, world.AsHandoff(m, ordinal), step.Reads)
		snapshot.Record, snapshot.Early = world.RecordOf(m), &ordinal
		e.hampered(&snapshot)
		e.relay(snapshot)
		step = e.state.Next(step, snapshot)
	}
	switch step.Do {
	case planner.Write:
		step, wrote = e.write(ctx, m, step)
		e.holdEarly(ordinal, step.Decision.Hold, inAnswer, wrote)
	case planner.Report:
		e.holdEarly(ordinal, step.Decision.Hold, inSnapshot, true)
	case planner.SaveRecord:
		before := m.DeepCopy()
		applyRecord(m, *step.Decision.Record)
		err = e.store(ctx, m)
		e.save(step, m, err)
		if lost := notStored(err); lost != nil {
			return false, e.holdUnstoredEarly(ctx, before, m, lost, ordinal)
		}
		if err != nil {
			before.DeepCopyInto(m)
			return false, fmt.Errorf("writing the status of Migration %s/%s: %w", m.Namespace, m.Name, err)
		}
		wrote = true
	default:
	}
	return wrote, nil
}

// holdEarly records the reason that holds an ordinal's copy and where it was found, or removes it if it does
// not apply any more. A write that lands does not remove a reason that was observed in a snapshot.
func (e *Engine) holdEarly(ordinal int32, hold *plan.Hold, found foundIn, ends bool) {
	if e.held == nil {
		e.held = map[int32]heldCopy{}
	}
	switch {
	case hold != nil:
		e.held[ordinal] = heldCopy{hold: *hold, found: found, again: e.clock.Now().Add(planner.RequeueRefused)}
	case ends && (found == inSnapshot || e.held[ordinal].found == inAnswer):
		delete(e.held, ordinal)
	}
}
