package move

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/drain"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/progress"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/migration"
	"github.com/sliceshift/sliceshift/migration/health"
	"github.com/sliceshift/sliceshift/migration/plan"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// driver drives a migration in this process and reports what happens.
type driver struct {
	*command.Common
	task    *task
	tracker *progress.Tracker
	display progress.Display
	writes  *drain.Writes
	// mode is the one that the run began with.
	mode        api.Mode
	exitOnStall bool
	// told is true where a person was told before what could not be found out, and has gone on.
	told bool
}

// drive runs the engine until it is done, stalled or told to stop.
func (d driver) drive(ctx context.Context) error {
	// A signal or the timeout must not tear a write apart: the engine's own context
	// ends only when none is on its way.
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
	bell := migration.NewBell()
	engine := migration.NewEngine(m, migration.Options{
		Source: d.task.source, Destination: d.task.destination, Records: d.task.store, Holder: d.holder(), Notify: bell.Ring, Clock: d.Clock,
		Policy: volumes.Unrestricted(), Secrets: health.Secrets{Reader: d.task.source.Live(), Kubectl: d.task.kubectl()}, Addresses: health.Addresses{Any: true}, Probes: health.Addresses{Any: true},
		Onward: d.movedOn, ServerTime: d.task.source.ServerTime,
	})
	err = migration.Loop{Engine: engine, Store: d.task.store, Bell: bell, Changes: changes, Report: d.report, Unsaved: d.unsaved}.Run(running)
	if err != nil && running.Err() != nil {
		err = context.Cause(running)
	}
	return d.finish(err)
}

// movedOn names who may have moved ordinals on from the destination of a migration that is to be recovered. The cluster that keeps the
// record must say so; of the destination, which may be off, it counts what it says.
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
		return "", nil // it is said to be off
	}
	return movedOnAt(ctx, d.task.destination, cmp.Or(m.Spec.Destination.Namespace, m.Namespace), m)
}

// holder identifies this process among all that ever drove a migration.
func (d driver) holder() string {
	const letters = 8
	name, err := d.Hostname()
	if err != nil {
		name = "cli"
	}
	return name + "-" + rand.String(letters)
}

// report shows what a pass of the engine has done, and decides whether to go on.
func (d driver) report(m *api.Migration, outcome migration.Outcome) error {
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
		return command.Refusedf("the move is refused: %s; nothing has been changed", hold.Message)
	case d.exitOnStall:
		return command.Refusedf("stalled: %s: %s", hold.Reason, hold.Message)
	}
	return nil
}

// wayBack is the command that plans the way back of what has moved, by the flags that have led here.
func (d driver) wayBack(m *api.Migration) string {
	if within(m) {
		return wayBack(d.Common, m, "")
	}
	here := strings.NewReplacer("--kubeconfig ", "--to-kubeconfig ", "--context ", "--to-context ").Replace(d.task.source.Flags())
	there := cmp.Or(d.task.destination.Flags(), "--context CONTEXT")
	return wayBack(d.Common, m, there+" "+cmp.Or(here, "--to-context CONTEXT"))
}

// done says what it means that nothing is left to do. A run that was turned round
// from elsewhere has not done what it was called for.
func (d driver) done(decision plan.Decision, turn *api.AutomaticRollback) error {
	switch hold := decision.Hold; {
	case hold != nil && hold.Stalled || hold != nil && hold.Reason == api.ReasonAlreadyCompleted:
		return fmt.Errorf("%s; %s", hold.Message, hold.Remedy)
	case decision.Done == api.ReasonRolledBack && d.mode != api.ModeRollback && turn != nil:
		return fmt.Errorf("rolled back, as onFailure of %s says: %s", turn.By, turn.Message)
	case decision.Done == api.ReasonRolledBack && d.mode != api.ModeRollback:
		return errors.New("rolled back: somebody has set the mode to Rollback meanwhile")
	case decision.Done == api.ReasonRecovered && d.mode != api.ModeRecover:
		return errors.New("recovered: somebody has set the mode to Recover meanwhile")
	}
	return nil
}

// unsaved shows that the record cannot be written, and decides whether to go on. The
// engine goes no further then.
func (d driver) unsaved(m *api.Migration, outcome migration.Outcome, err error) error {
	if errors.Is(err, drain.ErrStopping) {
		return nil // it is stopping
	}
	hold := plan.Hold{
		Reason: api.ReasonClusterUnreachable, Stalled: true,
		Message: fmt.Sprintf("cluster %s: the record cannot be written: %v", d.task.source.Name(), err),
		Remedy:  "nothing is done on either side until it can; check the cluster and the kubeconfig",
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

// finish says how to go on when a run ends before its time.
func (d driver) finish(err error) error {
	code := command.ExitCode(err)
	if code == command.ExitDone || code == command.ExitFailure && !errors.Is(err, command.ErrInterrupted) {
		return err
	}
	d.display.Show(d.tracker.Stopped(d.Clock.Now()))
	return command.WithCode(code, fmt.Errorf("%w\nto go on: %s", err, d.CommandLine()))
}
