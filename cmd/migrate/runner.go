package main

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/migration"
	"github.com/sliceshift/sliceshift/migration/plan"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// runner drives a migration in this process and tells what happens.
type runner struct {
	options  *runOptions
	task     *task
	narrator *narrator
	display  display
	brake    *brake
	// asked is the mode that the run began with.
	asked api.Mode
}

// drive runs the engine until it is done, stalled or told to stop.
func (o *runOptions) drive(ctx context.Context, r runner) error {
	// A signal or the timeout must not tear a write apart: the engine's own context
	// ends only when none is on its way.
	running, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(nil)
	defer context.AfterFunc(ctx, func() {
		r.brake.press()
		end(causeOf(ctx))
	})()

	changes, stop, err := records.Follow(running, r.task.source, r.task.store)
	if err != nil {
		return err
	}
	defer stop()
	m, err := r.task.store.Load(running)
	if err != nil {
		return unreachable(r.task.source.Name(), err)
	}
	bell := migration.NewBell()
	engine := migration.NewEngine(m, migration.Options{
		Source: r.task.source, Destination: r.task.destination, Records: r.task.store, Holder: o.holder(), Notify: bell.Ring, Clock: o.clock,
		Policy: volumes.Unrestricted(),
	})
	err = migration.Loop{Engine: engine, Store: r.task.store, Bell: bell, Changes: changes, Report: r.report, Unsaved: r.unsaved}.Run(running)
	if err != nil && running.Err() != nil {
		err = context.Cause(running)
	}
	return r.ended(err)
}

// holder identifies this process among all that ever drove a migration.
func (o *runOptions) holder() string {
	const letters = 8
	name, err := o.hostname()
	if err != nil {
		name = "cli"
	}
	return name + "-" + rand.String(letters)
}

// report tells what a pass has brought, and says whether to go on.
func (r *runner) report(m *api.Migration, outcome migration.Outcome) error {
	for _, e := range r.narrator.tell(r.options.clock.Now(), m, outcome) {
		r.display.show(e)
	}
	r.display.update(r.narrator.progress)
	decision := outcome.Decision
	switch hold := decision.Hold; {
	case outcome.Done:
		return r.done(decision)
	case hold == nil || !hold.Stalled:
		return nil
	case hold.Reason == api.ReasonSuperseded:
		return fmt.Errorf("%s; look at it with %s status %s", hold.Message, r.options.program, r.options.set)
	case m.Status.Baseline == nil && hold.Reason != api.ReasonClusterUnreachable:
		// Something has changed since the preflight.
		return refusedf("the move is refused: %s; nothing has been changed", hold.Message)
	case r.options.exitOnStall:
		return refusedf("stalled: %s: %s", hold.Reason, hold.Message)
	}
	return nil
}

// done says what it means that nothing is left to do. A run that was turned round
// from elsewhere has not done what it was called for.
func (r *runner) done(decision plan.Decision) error {
	switch hold := decision.Hold; {
	case hold != nil && hold.Stalled || hold != nil && hold.Reason == api.ReasonAlreadyCompleted:
		return fmt.Errorf("%s; %s", hold.Message, hold.Remedy)
	case decision.Done == api.ReasonRolledBack && r.asked != api.ModeRollback:
		return errors.New("rolled back: somebody has set the mode to Rollback meanwhile")
	case decision.Done == api.ReasonRecovered && r.asked != api.ModeRecover:
		return errors.New("recovered: somebody has set the mode to Recover meanwhile")
	}
	return nil
}

// unsaved tells that the record cannot be written, and says whether to go on. The
// engine goes no further then.
func (r *runner) unsaved(m *api.Migration, outcome migration.Outcome, err error) error {
	if errors.Is(err, errBraked) {
		return nil // it was told to end
	}
	hold := plan.Hold{
		Reason: api.ReasonClusterUnreachable, Stalled: true,
		Message: fmt.Sprintf("cluster %s: the record cannot be written: %v", r.task.source.Name(), err),
		Remedy:  "nothing is done on either side until it can; check the cluster and the kubeconfig",
	}
	if found := outcome.Decision.Hold; found != nil && found.Stalled {
		hold = *found
	}
	for _, e := range r.narrator.holdOn(r.options.clock.Now(), hold, m.Status.Handoff) {
		r.display.show(e)
	}
	r.display.update(r.narrator.progress)
	if r.options.exitOnStall {
		return refusedf("stalled: %s: %s", hold.Reason, hold.Message)
	}
	return nil
}

// ended tells how to go on when a run ends before its time.
func (r *runner) ended(err error) error {
	code := exitCode(err)
	if code == exitDone || code == exitFailure && !errors.Is(err, errInterrupted) {
		return err
	}
	r.display.show(r.narrator.stopped(r.options.clock.Now()))
	return withCode(code, fmt.Errorf("%w\nto go on: %s", err, r.options.again()))
}
