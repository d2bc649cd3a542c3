package engine

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/planner"
)

// store holds the migration that a Loop drives.
type store interface {
	Records
	Load(ctx context.Context) (*api.Migration, error)
}

// Bell wakes a loop. Several rings during one pass count as one.
type Bell chan struct{}

// NewBell returns a bell.
func NewBell() Bell { return make(Bell, 1) }

// Ring wakes the loop. It never blocks.
func (b Bell) Ring() {
	select {
	case b <- struct{}{}:
	default:
	}
}

// Loop drives one migration in this process.
type Loop struct {
	Engine *Engine
	Store  store
	// Bell must be the one whose Ring the engine's Notify calls.
	Bell Bell
	// Changes receives the migration after another client has changed it.
	Changes <-chan *api.Migration
	// Report is called after every pass. Its error ends the loop.
	Report func(*api.Migration, Outcome) error
	// Unsaved is called instead of Report when the record could not be written for another reason than a
	// conflict. Its error ends the loop. It may be nil.
	Unsaved func(*api.Migration, Outcome, error) error
}

// Run drives the migration until it is done, ctx ends or Report returns an error.
func (l Loop) Run(ctx context.Context) error {
	defer l.Engine.Close()
	m, err := l.Store.Load(ctx)
	if err != nil {
		return err
	}
	for {
		outcome, err := l.Engine.Pass(ctx, m)
		requeueAfter := outcome.RequeueAfter
		switch {
		case err == nil:
			if err := l.Report(m, outcome); err != nil || outcome.Done {
				return err
			}
		case apierrors.IsConflict(err):
			requeueAfter = planner.RequeueUnobserved
			if fresh, err := l.Store.Load(ctx); err == nil {
				m = fresh
			}
		case final(err):
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		default:
			requeueAfter = planner.RequeueUnreachable
			if l.Unsaved == nil {
				break
			}
			if err := l.Unsaved(m, outcome, err); err != nil {
				return err
			}
		}
		if changed := l.wait(ctx, requeueAfter); changed != nil {
			m = changed
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// wait returns when there may be something to do, with the migration if it was changed. A user's change takes
// precedence over any other event that is pending.
func (l Loop) wait(ctx context.Context, atMost time.Duration) *api.Migration {
	timer := time.NewTimer(atMost)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-l.Bell:
	case changed := <-l.Changes:
		return changed
	}
	select {
	case changed := <-l.Changes:
		return changed
	default:
		return nil
	}
}

// final reports whether an error of the record cannot be resolved by a retry.
func final(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || apierrors.IsInvalid(err)
}
