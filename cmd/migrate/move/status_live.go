package move

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/sliceshift/sliceshift/cmd/migrate/move/progress"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/status"
	"github.com/sliceshift/sliceshift/internal/records"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// watchedLive shows a status on a terminal whose keys are read.
type watchedLive struct {
	o     *statusOptions
	live  *progress.Live
	shown *storedMigration
	// last is what the last line was about.
	last string
}

func newWatched(ctx context.Context, o *statusOptions, k *storedMigration) *watchedLive {
	w := &watchedLive{o: o, live: progress.NewLive(o.Common, progress.Steering{
		Steer: func(mode api.Mode) error { return k.change(ctx, records.Change{Mode: mode}) }, Interrupt: o.Interrupt,
	})}
	k.lost = w.live.Lost
	return w
}

// set shows a change: in place, and as a line where an ordinal has moved or something else is waited for.
func (w *watchedLive) set(k *storedMigration, _ *string) error {
	w.shown = k
	p := progress.Recorded(k.Migration)
	w.live.Update(p)
	if about := fmt.Sprintf("%d %s", p.Moved, p.Reason()); about != w.last {
		w.last = about
		w.live.Line(w.o.Clock.Now().Format(time.TimeOnly) + "  " + status.Line(k.Migration))
	}
	return nil
}

// close leaves the last state on the terminal, in full.
func (w *watchedLive) close() {
	w.live.Close()
	if w.shown != nil {
		_, _ = io.WriteString(w.o.Out, w.o.page(0, w.shown)) // a terminal that has gone away ends with the next signal
	}
}
