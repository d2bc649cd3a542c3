package migration

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

	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/metrics"
	"github.com/sliceshift/sliceshift/migration/observe"
	"github.com/sliceshift/sliceshift/migration/pass"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/workload"
)

// unreachable is for a cluster that could not be asked.
func unreachable(err error) plan.Decision {
	if endpoint.NotLent(err) {
		return *plan.Stalled(api.ReasonPermissionMissing, endpoint.OneLine(err), plan.RemedyLending)
	}
	if apierrors.IsForbidden(err) {
		return *plan.Stalled(api.ReasonPermissionMissing, endpoint.OneLine(err), plan.RemedyRights)
	}
	return *plan.Stalled(api.ReasonClusterUnreachable, endpoint.OneLine(err), plan.RemedyUnreachable)
}

// conclude carries out what a pass has come to: the record, or one effect, or only the status.
func (e *Engine) conclude(ctx context.Context, m *api.Migration, step pass.Step) (Outcome, error) {
	outcome := Outcome{Snapshot: step.Snapshot, Decision: step.Decision, Done: step.Decision.Done != ""}
	e.fewest.note(m.Status.Handoff, step.Snapshot)
	e.down.note(m, step.Snapshot)
	if step.Do == pass.SaveRecord && !e.begins(step) {
		return Outcome{Snapshot: step.Snapshot, RequeueAfter: pass.RequeueUnobserved}, nil
	}
	if step.Do == pass.Write && !e.hasPlace(step) {
		return Outcome{Snapshot: step.Snapshot, RequeueAfter: pass.RequeueRefused}, nil
	}
	if step.Do == pass.Write && e.kept != nil {
		step.Do = pass.Confirm
	}
	if step.Do == pass.Confirm {
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
	if step.Do == pass.Write {
		if step, outcome.Wrote = e.write(ctx, m, step); outcome.Wrote {
			e.down.wrote(*step.Decision.Effect, e.clock.Now())
		}
	}
	outcome.Decision = step.Decision
	var err error
	if step.Do == pass.SaveRecord || step.Do == pass.Report {
		step, err = e.report(ctx, m, step, &outcome)
	}
	outcome.RequeueAfter = e.heart.requeue(m, e.clock.Now(), step.RequeueAfter)
	return outcome, err
}

// report describes a decision in the status, with its record if there is one, and writes that when
// it is worth a write.
func (e *Engine) report(ctx context.Context, m *api.Migration, step pass.Step, outcome *Outcome) (pass.Step, error) {
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

// saved notes what is new in a status that was written.
func (outcome *Outcome) saved(before, after *api.Migration) {
	outcome.Saved, outcome.Stalls = true, beginsToStall(before, after)
	outcome.GoesOn = stalled(before) && !stalled(after)
	if reason := heldAhead(after); reason != heldAhead(before) {
		outcome.AheadHeld = reason
	}
	hold := outcome.Decision.Hold
	outcome.Waits = hold != nil && !hold.Stalled && progress(before) != progress(after)
}

// progress is the reason of the condition Progressing.
func progress(m *api.Migration) string {
	if found := meta.FindStatusCondition(m.Status.Conditions, api.ConditionProgressing); found != nil {
		return found.Reason
	}
	return ""
}

// turnBack has a migration go back whose user has asked for that, once the status says why.
func (e *Engine) turnBack(ctx context.Context, m *api.Migration, step pass.Step) (pass.Step, error) {
	if hold := step.Decision.Hold; hold == nil || !hold.TurnBack || m.Spec.Mode == api.ModeRollback {
		return step, nil
	}
	before := m.DeepCopy()
	err := e.records.TurnBack(ctx, m)
	if step = e.save(step, m, err); err != nil {
		before.DeepCopyInto(m)
		return step, fmt.Errorf("turning Migration %s/%s back: %w", m.Namespace, m.Name, err)
	}
	step.RequeueAfter = pass.RequeueUnobserved
	return step, nil
}

// save tells the pass what became of a write of the Migration.
func (e *Engine) save(step pass.Step, m *api.Migration, err error) pass.Step {
	answer := pass.Answer{Kind: kindOf(err)}
	metrics.Wrote(metrics.WriteStatus, answer.Kind)
	if err == nil {
		answer.Version, e.saved, e.kept = m.ResourceVersion, m.DeepCopy(), nil
	}
	return e.state.Answered(step, answer, e.clock.Now())
}

// write carries the effect of a step out, and says whether it has landed.
func (e *Engine) write(ctx context.Context, m *api.Migration, step pass.Step) (pass.Step, bool) {
	effect := *step.Decision.Effect
	object, err := e.world.Do(ctx, m, effect)
	answer := pass.Answer{Kind: kindOf(err), Cluster: e.sides.At(effect.Side).Cluster}
	metrics.Wrote(string(effect.Verb), answer.Kind)
	if err != nil {
		answer.Message = endpoint.OneLine(err)
	} else if watched(object) && !effect.ForMovers() {
		answer.Version, answer.Object = object.GetResourceVersion(), e.await(watchedObject{Object: object, side: effect.Side})
	}
	return e.state.Answered(step, answer, e.clock.Now()), err == nil
}

// await keeps an object that was written until the caches show it, and returns the name by which
// the pass knows it.
func (e *Engine) await(object watchedObject) string {
	maps.DeleteFunc(e.written, func(name string, _ watchedObject) bool {
		return !slices.ContainsFunc(e.state.Awaited, func(a pass.Awaited) bool { return a.Object == name })
	})
	name := fmt.Sprintf("%s %T %s", object.side, object.Object, client.ObjectKeyFromObject(object))
	if e.written == nil {
		e.written = map[string]watchedObject{}
	}
	e.written[name] = object
	return name
}

// kindOf is what the error of a write says of it. Any error that is not listed leaves open whether
// it has landed.
func kindOf(err error) pass.Kind {
	switch {
	case err == nil:
		return pass.Landed
	case namespaceGone(err):
		return pass.NamespaceGone
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err), apierrors.IsNotFound(err):
		return pass.Changed
	case endpoint.LacksRight(err):
		return pass.MissingRight
	case notStored(err) != nil, apierrors.IsForbidden(err), apierrors.IsInvalid(err), apierrors.IsBadRequest(err), endpoint.WebhookRefused(err):
		return pass.Refused
	default:
		return pass.NoAnswer
	}
}

// namespaceGone says whether an API server refused a write for want of its namespace. The answer
// names it (kubernetes apiserver, admission plugin NamespaceLifecycle), also to an identity that
// may not read namespaces.
func namespaceGone(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || !apierrors.IsNotFound(err) {
		return false
	}
	details := status.Status().Details
	return details != nil && details.Kind == "namespaces"
}

// watched says whether a view shows objects of this kind.
func watched(object client.Object) bool {
	switch object.(type) {
	case *policyv1.PodDisruptionBudget, *corev1.PersistentVolume, *corev1.PersistentVolumeClaim, *corev1.Service:
		return true
	default:
		return workload.Is(object)
	}
}

// heldCopy is what holds the copies of an ordinal whose turn is to come.
type heldCopy struct {
	hold plan.Hold
	// found is where.
	found foundIn
	// again is when it is tried again.
	again time.Time
}

// foundIn is where it was found what holds a copy.
type foundIn int

const (
	// inAnswer: a write was refused. One that lands ends it.
	inAnswer foundIn = iota
	// inSnapshot: it was seen. It ends when it is not seen any more.
	inSnapshot
)

// early goes on with the copies of ordinals whose turn is to come, where the migration itself waits. It writes at most
// once.
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
			outcome.RequeueAfter = pass.RequeueUnobserved
			return nil
		}
	}
	e.earlyDue = e.clock.Now().Add(planner.EarlyLook)
	outcome.RequeueAfter = min(outcome.RequeueAfter, planner.EarlyLook)
	return nil
}

// earlyOf does the next thing for one of them, and says whether it has.
func (e *Engine) earlyOf(ctx context.Context, m *api.Migration, ordinal int32) (wrote bool, err error) {
	step := e.state.BeginEarly(ordinal)
	for step.Do == pass.Read {
		snapshot := e.world.Snapshot(ctx, observe.AsHandoff(m, ordinal), step.Reads)
		snapshot.Record, snapshot.Early = observe.RecordOf(m), &ordinal
		e.hampered(&snapshot)
		e.relay(snapshot)
		step = e.state.Next(step, snapshot)
	}
	switch step.Do {
	case pass.Write:
		step, wrote = e.write(ctx, m, step)
		e.holdEarly(ordinal, step.Decision.Hold, inAnswer, wrote)
	case pass.Report:
		e.holdEarly(ordinal, step.Decision.Hold, inSnapshot, true)
	case pass.SaveRecord:
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

// holdEarly keeps what holds the copies of an ordinal, and where that was found. Where nothing is found any more it ends; but what
// was seen does not end with a write that lands.
func (e *Engine) holdEarly(ordinal int32, hold *plan.Hold, found foundIn, ends bool) {
	if e.held == nil {
		e.held = map[int32]heldCopy{}
	}
	switch {
	case hold != nil:
		e.held[ordinal] = heldCopy{hold: *hold, found: found, again: e.clock.Now().Add(pass.RequeueRefused)}
	case ends && (found == inSnapshot || e.held[ordinal].found == inAnswer):
		delete(e.held, ordinal)
	}
}
