// Package rehearse drives a rehearsal in this process, and prints its result.
package rehearse

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/rehearsal"
	"github.com/sliceshift/sliceshift/migration/view"
)

// Clusters reads and writes the clusters of a rehearsal.
type Clusters interface {
	Look(ctx context.Context, r rehearsal.Record) (rehearsal.Facts, error)
	Do(ctx context.Context, r rehearsal.Record, w rehearsal.Write) error
}

// Records stores the record of a rehearsal. Save and Held fail if another process has written it.
type Records interface {
	Save(ctx context.Context, r rehearsal.Record) error
	Held(ctx context.Context) error
}

// Driver drives one rehearsal to its end.
type Driver struct {
	*command.Common
	Stage Clusters
	Store Records
	// Record is the rehearsal.
	Record rehearsal.Record
	// Again is the command that deletes the remaining objects.
	Again string
	// Latest returns the latest requests to the source; nil if they are not measured.
	Latest func() *rehearsal.Requests

	said  string
	began time.Time
	// wrote is the last write, since the last record or wait.
	wrote string
}

const (
	// pause is the time between two passes that wait.
	pause = 500 * time.Millisecond
	// cleanWithin is how long the deletion of the objects may take.
	cleanWithin = 10 * time.Minute
	// mostTries is how often a pass that fails is repeated.
	mostTries = 20
)

// Drive rehearses. When ctx ends, everything is deleted first; only a second signal, which ends the process, leaves
// objects. It returns the record at the end.
func (d *Driver) Drive(ctx context.Context) (rehearsal.Record, error) {
	if err := d.Store.Save(context.WithoutCancel(ctx), d.Record); err != nil {
		return d.Record, err
	}
	return d.loop(ctx, func() bool { return ctx.Err() != nil })
}

// Clean deletes everything of a rehearsal that an earlier process has begun.
func (d *Driver) Clean(ctx context.Context) (rehearsal.Record, error) {
	return d.loop(ctx, func() bool { return true })
}

// loop makes passes until nothing is left to do. No request is cancelled by a signal, so no write is in doubt.
func (d *Driver) loop(ctx context.Context, stop func() bool) (rehearsal.Record, error) {
	working := context.WithoutCancel(ctx)
	d.began = d.Clock.Now()
	ticker := d.Clock.NewTicker(pause)
	defer ticker.Stop()
	signal, failures := ctx.Done(), 0
	for {
		finished, moved, err := d.pass(working, stop())
		switch {
		case finished:
			return d.Record, nil
		case err != nil && (failures+1 >= mostTries || !passing(err)):
			return d.Record, fmt.Errorf("%w; to delete the remaining objects: %s", err, d.Again)
		case err != nil:
			failures++
			d.say("waiting: " + endpoint.OneLine(err))
		case moved:
			failures = 0
			continue
		}
		if d.overdue() {
			return d.Record, &command.ExitError{Code: command.ExitTimeout, Err: fmt.Errorf("the objects of the rehearsal are not deleted after %s: %s; to continue: %s", cleanWithin, d.said, d.Again)}
		}
		select {
		case <-ticker.C():
		case <-signal:
			signal = nil // once
			d.say("stopping: deleting everything that the rehearsal has created")
		}
	}
}

// overdue reports whether the deletion takes too long.
func (d *Driver) overdue() bool {
	end := d.Record.End
	return end != nil && d.Clock.Since(end.Time.Time) > cleanWithin && d.Clock.Since(d.began) > cleanWithin
}

// pass makes one pass. moved is true if it has changed something.
func (d *Driver) pass(ctx context.Context, stop bool) (finished, moved bool, err error) {
	facts, err := d.Stage.Look(ctx, d.Record)
	if err != nil {
		return false, false, err
	}
	if facts.Stop = stop; d.Latest != nil {
		facts.Latest = d.Latest()
	}
	switch step := rehearsal.Next(facts); {
	case step.Finished:
		return true, false, nil
	case step.Stuck != nil:
		return false, false, command.Refusedf("%s: %s; %s", step.Stuck.Reason, step.Stuck.Message, step.Stuck.Remedy)
	case step.Record != nil:
		return false, true, d.save(ctx, *step.Record)
	case step.Write != nil:
		return d.write(ctx, *step.Write)
	default:
		d.say("waiting until " + step.Wait)
		return false, false, nil
	}
}

func (d *Driver) save(ctx context.Context, next rehearsal.Record) error {
	if err := d.Store.Save(ctx, next); err != nil {
		return err
	}
	if end := next.End; end != nil && d.Record.End == nil && end.Outcome != rehearsal.Rehearsed {
		d.say(string(end.Outcome) + ": " + end.Message)
	}
	d.Record = next
	return nil
}

// write does one write, if no other process has taken the record. An API server that refuses to create an object ends
// the rehearsal.
func (d *Driver) write(ctx context.Context, w rehearsal.Write) (finished, moved bool, err error) {
	if err := d.Store.Held(ctx); err != nil {
		return false, false, err
	}
	err = d.Stage.Do(ctx, d.Record, w)
	switch {
	case err == nil:
		// A write without effect, such as of an object that has changed, is not repeated at once.
		again := w.String() == d.wrote
		d.wrote = w.String()
		d.say(d.wrote)
		return false, !again, nil
	case d.Record.End == nil && refuses(err):
		next := d.Record
		next.End = &rehearsal.End{Outcome: rehearsal.Failed, Reason: "WriteRefused", Message: endpoint.OneLine(err), Remedy: "allow it there, and rehearse again", Time: metav1.NewMicroTime(d.Clock.Now())}
		return false, true, d.save(ctx, next)
	}
	return false, false, err
}

// refuses reports whether an API server has refused a request, so that a repetition would not help.
func refuses(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsNotFound(err) || meta.IsNoMatchError(err)
}

// passing reports whether an error may pass without an action of the user.
func passing(err error) bool {
	return command.ExitCode(err) == command.ExitFailure && !refuses(err) && !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) && !apierrors.IsUnauthorized(err)
}

// say shows a line of progress, unless it is the last one again.
func (d *Driver) say(text string) {
	if text == d.said {
		return
	}
	d.said = text
	fmt.Fprintf(d.ErrOut, "%s  %s\n", terminal.Pad(view.Coarse(d.Clock.Since(d.began)), len("59m59s")), text)
}
