package harness

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/migration"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// Report observes each pass of a run; an error ends the run.
type Report func(*api.Migration, migration.Outcome) error

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
	return mover.Run(ctx, func(m *api.Migration, outcome migration.Outcome) error {
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
func Narrate(outcome migration.Outcome) string {
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
