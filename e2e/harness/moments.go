package harness

import (
	"context"
	"fmt"
	"testing"
	"time"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/migration/engine"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// Moment is a point of a move at which a test does something once.
type Moment func(do func() error) Report

// When returns the moment of the first pass for which is returns true.
func When(is func(*api.Migration, engine.Outcome) bool) Moment {
	return func(do func() error) Report {
		done := false
		return func(m *api.Migration, outcome engine.Outcome) error {
			if done || !is(m, outcome) {
				return nil
			}
			done = true
			return do()
		}
	}
}

// Arrival returns the moment at which an ordinal has arrived.
func Arrival(ordinal int32) Moment {
	return When(func(_ *api.Migration, outcome engine.Outcome) bool {
		return outcome.Finished != nil && outcome.Finished.Ordinal == ordinal
	})
}

// Wrote returns the moment at which a matching effect was carried out.
func Wrote(is func(*plan.Effect) bool) Moment {
	return When(func(_ *api.Migration, outcome engine.Outcome) bool {
		return outcome.Wrote && is(outcome.Decision.Effect)
	})
}

// WroteOn returns the moment at which an effect with this verb was carried out on a side.
func WroteOn(side plan.SideName, verb plan.Verb) Moment {
	return Wrote(func(e *plan.Effect) bool { return e.Side == side && e.Verb == verb })
}

// CopyStep returns the moment at which a step of method Copy was taken. role is the role of the affected mover,
// or empty.
func CopyStep(verb volumes.Verb, role volumes.Role) Moment {
	return Wrote(func(e *plan.Effect) bool {
		return e.Verb == plan.CarryVolume && e.Volume.Verb == verb && e.Volume.Copy.Role == role
	})
}

// StalledWith returns the moment at which a migration stalls with this reason.
func StalledWith(reason string) Moment {
	return When(func(_ *api.Migration, outcome engine.Outcome) bool {
		hold := outcome.Decision.Hold
		return hold != nil && hold.Stalled && hold.Reason == reason
	})
}

// HeldWith returns the moment at which a migration waits with this reason.
func HeldWith(reason string) Moment {
	return When(func(_ *api.Migration, outcome engine.Outcome) bool {
		hold := outcome.Decision.Hold
		return hold != nil && hold.Reason == reason
	})
}

// OnWrite calls do once, after the n-th write to a cluster.
func OnWrite(n int, do func() error) Report {
	count := 0
	return func(_ *api.Migration, outcome engine.Outcome) error {
		if !outcome.Wrote {
			return nil
		}
		if count++; count == n {
			return do()
		}
		return nil
	}
}

// OnVerb calls do once, after the first write with this verb.
func OnVerb(verb plan.Verb, do func() error) Report {
	return Wrote(func(e *plan.Effect) bool { return e.Verb == verb })(do)
}

// Report observes each pass of a run; an error ends the run.
type Report func(*api.Migration, engine.Outcome) error

// Mover creates the record and connects to both clusters.
func (v *Move) Mover() *fixture.Mover {
	v.T.Helper()
	mover, err := fixture.NewMover(v.Ctx, v.From.RESTConfig(), v.To.RESTConfig(), v.Migration)
	v.Must(err)
	return mover
}

// Run moves the application to the end in this process.
func (v *Move) Run(reports ...Report) *fixture.Mover {
	v.T.Helper()
	mover := v.Mover()
	v.Drive(mover, reports...)
	return mover
}

// Drive runs the migration to the end in this process.
func (v *Move) Drive(mover *fixture.Mover, reports ...Report) {
	v.T.Helper()
	Drive(v.Ctx, v.T, mover, reports...)
}

// Drive runs a migration to its end in this process.
func Drive(ctx context.Context, t testing.TB, mover *fixture.Mover, reports ...Report) {
	t.Helper()
	if err := Follow(ctx, t, mover, reports...); err != nil {
		t.Fatalf("the run ended with: %v", err)
	}
}

// Follow runs a migration in this process, logs each action, and passes each pass to the reports. An error of a
// report ends the run.
func Follow(ctx context.Context, t testing.TB, mover *fixture.Mover, reports ...Report) error {
	t.Helper()
	begin, last := time.Now(), ""
	return mover.Run(ctx, func(m *api.Migration, outcome engine.Outcome) error {
		if line := Narrate(outcome); line != "" && line != last {
			last = line
			t.Logf("%5.1f s  %s", time.Since(begin).Seconds(), line)
		}
		for _, look := range reports {
			if err := look(m, outcome); err != nil {
				return err
			}
		}
		return nil
	})
}

// Narrate returns a line that describes a pass.
func Narrate(outcome engine.Outcome) string {
	switch d := outcome.Decision; {
	case d.Effect != nil && outcome.Wrote:
		return d.Effect.String()
	case d.Hold != nil:
		return fmt.Sprintf("hold %s: %s", d.Hold.Reason, d.Hold.Message)
	case outcome.Finished != nil:
		return fmt.Sprintf("ordinal %d arrived", outcome.Finished.Ordinal)
	}
	return ""
}
