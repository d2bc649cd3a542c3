package handoff

import (
	"context"

	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/measure"
)

// engine is the contender sliceshift.
type engine struct {
	command measure.Command
	// sent are the requests during the handoffs of all rounds.
	sent measure.Counts
}

func (e *engine) move(ctx context.Context, app fixture.App) (measure.Timing, error) {
	taken, sent, err := e.command.Move(ctx, app)
	e.sent = e.sent.Add(sent)
	return taken, err
}
