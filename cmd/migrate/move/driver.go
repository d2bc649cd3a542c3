package move

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/rand"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/drain"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/progress"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/migration/engine"
	"github.com/sliceshift/sliceshift/migration/health"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/view"
	"github.com/sliceshift/sliceshift/volumes"
)

// driver drives a migration in this process and reports what happens.
type driver struct {
	*command.Common
	task    *task
	tracker *progress.Tracker
	display progress.Display
	writes  *drain.Writes
	// mode is the mode in which the run began.
	mode        api.Mode
	exitOnStall bool
	// told is true if the user was warned about facts that could not be determined, and continued.
	told bool
}

// drive runs the engine until it is done, stalled or stopped.
func (d driver) drive(ctx context.Context) error {
	// A signal or the timeout must not interrupt a write. The engine's context ends only when no write is in flight.
	running, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(nil)
	defer context.AfterFunc(ctx, func() {
		d.writes.Wait()
		end(command.Cause(ctx))
	})()

	changes, stop, err := records.Follow(running, d.task.source, d.task.store)
	if err != nil {
		return err
	}
	defer stop()
	m, err := d.task.store.Load(running)
	if err != nil {
		return command.Unreachable(d.task.source.Name(), err)
	}
	bell := engine.NewBell()
	e := engine.NewEngine(m, engine.Options{
		Source: d.task.source, Destination: d.task.destination, Records: d.task.store, Holder: d.holder(), Notify: bell.Ring, Clock: d.Clock,
		Policy: volumes.Unrestricted(), Access: engine.Access{Secrets: health.Secrets{Reader: d.task.source.Live(), Kubectl: d.task.kubectl()}, Addresses: health.Addresses{Any: true}, Probes: health.Addresses{Any: true}},
		Onward: d.movedOn, ServerTime: d.task.source.ServerTime,
	})
	err = engine.Loop{Engine: e, Store: d.task.store, Bell: bell, Changes: changes, Report: d.report, Unsaved: d.unsaved}.Run(running)
	if err != nil && running.Err() != nil {
		err = context.Cause(running)
	}
	return d.finish(err)
}

// movedOn returns the migration that may have moved ordinals on from the destination of a migration to recover. The
// cluster that keeps the record must answer. The destination is asked only if it responds, because it may be off.
func (d driver) movedOn(ctx context.Context, m *api.Migration) (string, error) {
	name, err := movedOnAt(ctx, d.task.source, d.task.store.Namespace, m)
	if name != "" || d.told {
		return name, nil
	}
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, probeFor)
	defer cancel()
	if id, err := d.task.destination.ID(ctx); err != nil || id != m.Status.Baseline.DestinationCluster {
		return "", nil // the user has said that it is off
	}
	return movedOnAt(ctx, d.task.destination, cmp.Or(m.Spec.Destination.Namespace, m.Namespace), m)
}

// holder returns an identity of this process that no other driver of a migration ever has.
func (d driver) holder() string {
	const letters = 8
	name, err := d.Hostname()
	if err != nil {
		name = "cli"
	}
	return name + "-" + rand.String(letters)
}

// report shows the result of an engine pass, and returns an error if the run ends.
func (d driver) report(m *api.Migration, outcome engine.Outcome) error {
	for _, e := range d.tracker.Observe(d.Clock.Now(), m, outcome) {
		if e.Kind == progress.Completed && e.Reason == api.ReasonMoved {
			e.WayBack = d.wayBack(m)
		}
		d.display.Show(e)
	}
	d.display.Update(d.tracker.State)
	decision := outcome.Decision
	switch hold := decision.Hold; {
	case outcome.Done:
		return d.done(decision, outcome.Snapshot.Record.AutomaticRollback)
	case hold == nil || !hold.Stalled:
		return nil
	case hold.Reason == api.ReasonSuperseded:
		return fmt.Errorf("%s; look at it: %s", hold.Message, d.Again("status", d.task.store.Name, d.task.store.Namespace))
	case m.Status.Baseline == nil && hold.Reason != api.ReasonClusterUnreachable:
		// Something has changed since the preflight.
		return command.Refusedf("the %s is refused: %s; nothing has been changed", view.WordsOf(m).Noun, hold.Message)
	case d.exitOnStall:
		return command.Refusedf("stalled: %s: %s", hold.Reason, hold.Message)
	}
	return nil
}

// wayBack returns the command that plans the move back, with the flags that select the same clusters.
func (d driver) wayBack(m *api.Migration) string {
	if m.Spec.Storage != nil {
		return wayBackInPlace(d.Common, m)
	}
	if within(m) {
		return wayBack(d.Common, m, "")
	}
	here := strings.NewReplacer("--kubeconfig ", "--to-kubeconfig ", "--context ", "--to-context ").Replace(d.task.source.Flags())
	there := cmp.Or(d.task.destination.Flags(), "--context CONTEXT")
	return wayBack(d.Common, m, there+" "+cmp.Or(here, "--to-context CONTEXT"))
}

// done returns the error of a completed run, if any. It is an error if another command has reversed the run meanwhile.
func (d driver) done(decision plan.Decision, turn *api.AutomaticRollback) error {
	switch hold := decision.Hold; {
	case hold != nil && hold.Stalled || hold != nil && hold.Reason == api.ReasonAlreadyCompleted:
		return fmt.Errorf("%s; %s", hold.Message, hold.Remedy)
	case decision.Done == api.ReasonRolledBack && d.mode != api.ModeRollback && turn != nil:
		return fmt.Errorf("rolled back, as onFailure of %s says: %s", turn.By, turn.Message)
	case decision.Done == api.ReasonRolledBack && d.mode != api.ModeRollback:
		return errors.New("rolled back: the mode was set to Rollback meanwhile")
	case decision.Done == api.ReasonRecovered && d.mode != api.ModeRecover:
		return errors.New("recovered: the mode was set to Recover meanwhile")
	}
	return nil
}

// unsaved shows that the record cannot be written, and decides whether to continue. The engine does nothing until then.
func (d driver) unsaved(m *api.Migration, outcome engine.Outcome, err error) error {
	if errors.Is(err, drain.ErrStopping) {
		return nil // it is stopping
	}
	hold := plan.Hold{
		Reason: api.ReasonClusterUnreachable, Stalled: true,
		Message: fmt.Sprintf("cluster %s: the record cannot be written: %v", d.task.source.Name(), err),
		Remedy:  "check the cluster and the kubeconfig; no side is changed until the record is written",
	}
	if found := outcome.Decision.Hold; found != nil && found.Stalled {
		hold = *found
	}
	for _, e := range d.tracker.Held(d.Clock.Now(), hold, m.Status.Handoff) {
		d.display.Show(e)
	}
	d.display.Update(d.tracker.State)
	if d.exitOnStall {
		return command.Refusedf("stalled: %s: %s", hold.Reason, hold.Message)
	}
	return nil
}

// finish adds how to continue if a run ends early.
func (d driver) finish(err error) error {
	code := command.ExitCode(err)
	if code == command.ExitDone || code == command.ExitFailure && !errors.Is(err, command.ErrInterrupted) {
		return err
	}
	d.display.Show(d.tracker.Stopped(d.Clock.Now()))
	return command.WithCode(code, fmt.Errorf("%w\nto go on: %s", err, d.CommandLine()))
}
