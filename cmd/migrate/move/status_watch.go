package move

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"sigs.k8s.io/yaml"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/progress"
	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	"github.com/sliceshift/sliceshift/internal/printable"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/migration/view"
)

// redrawStatusEvery is how often a watched status is redrawn: often enough for its seconds, too seldom to flicker.
const redrawStatusEvery = 250 * time.Millisecond

// follow shows each change until the migration is completed.
func (o *statusOptions) follow(ctx context.Context, k *storedMigration) error {
	show := o.lineOfChange
	switch {
	case o.output.Value == "json":
		show = o.jsonOfChange
	case o.output.Value == "yaml":
		show = o.yamlOfChange
	case o.Terminal() && o.Interactive():
		watched := newWatched(o, k)
		defer watched.close()
		show = watched.set
	case o.Terminal():
		redrawn := newRedrawing(o)
		defer redrawn.close()
		show = redrawn.set
	}
	last := ""
	var undriven error
	err := k.follow(ctx, o.Clock, func(m *api.Migration) (bool, error) {
		shown := *k
		shown.Migration = m
		undriven = o.refuseUndriven(&shown)
		if err := show(&shown, &last); err != nil {
			return false, err
		}
		return records.Completed(m) != "", nil
	})
	if errors.Is(err, command.ErrInterrupted) {
		// An interrupt is the usual end of a watch. It is an error only if no process drives the migration.
		if undriven != nil {
			return undriven
		}
		return &command.ExitError{Code: command.ExitFailure, Err: err, Silent: true}
	}
	return err
}

func (o *statusOptions) lineOfChange(k *storedMigration, last *string) error {
	text := o.line(k)
	if text == *last {
		return nil
	}
	*last = text
	_, err := fmt.Fprintf(o.Out, "%s  %s\n", o.Clock.Now().Format(time.TimeOnly), text)
	return err
}

// line describes a migration in one line, without durations, so that the line differs only after a change.
func (o *statusOptions) line(k *storedMigration) string {
	row := k.row(o.Common)
	row.Handoff = withoutDown(row.Handoff)
	for i := range row.Further {
		row.Further[i].Down = nil
	}
	text := row.Line(o.Clock.Now())
	if u := k.undriven(o.Common); u != nil {
		text += "  " + o.howOn(k)
	}
	return text
}

// withoutDown returns a handoff without the growing durations.
func withoutDown(h *view.Handoff) *view.Handoff {
	if h == nil {
		return nil
	}
	other := *h
	other.Down = nil
	return &other
}

func (o *statusOptions) jsonOfChange(k *storedMigration, last *string) error {
	return o.documentOfChange(k, last, func(v any) error { return json.NewEncoder(o.Out).Encode(v) })
}

func (o *statusOptions) yamlOfChange(k *storedMigration, last *string) error {
	return o.documentOfChange(k, last, func(v any) error {
		data, err := yaml.Marshal(v)
		if err == nil {
			_, err = fmt.Fprintln(o.Out, "---\n"+strings.TrimSpace(string(data)))
		}
		return err
	})
}

// documentOfChange writes a migration if it, or whether a process drives it, has changed. Growing durations are not a
// change.
func (o *statusOptions) documentOfChange(k *storedMigration, last *string, write func(any) error) error {
	data, err := json.Marshal(k.Migration)
	key := fmt.Sprintf("%t %s", k.undriven(o.Common) != nil, data)
	if err != nil || key == *last {
		return err
	}
	*last = key
	return write(k.exported(o.Common))
}

// redrawing shows a status in place.
type redrawing struct {
	o     *statusOptions
	mu    sync.Mutex
	area  terminal.Area
	shown *storedMigration
	stop  func()
}

func newRedrawing(o *statusOptions) *redrawing {
	r := &redrawing{o: o, area: terminal.Area{Out: printable.Behind(o.Out)}}
	r.stop = terminal.Redraw(o.Clock, redrawStatusEvery, r.draw)
	return r
}

func (r *redrawing) set(k *storedMigration, _ *string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shown = k
	return nil
}

func (r *redrawing) draw() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.shown != nil {
		r.area.Draw(nil, r.lines(r.o.Width()-1))
	}
}

func (r *redrawing) lines(width int) []string {
	return strings.Split(strings.TrimRight(r.o.page(width, r.shown), "\n"), "\n")
}

// close leaves the complete last state on the terminal.
func (r *redrawing) close() {
	r.stop()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.shown != nil {
		r.area.Draw(r.lines(0), nil)
	}
}

// watchedLive shows a status on a terminal. It is read-only: of its keys only ^C has an effect.
type watchedLive struct {
	o     *statusOptions
	live  *progress.Live
	shown *storedMigration
	// last identifies the last line.
	last string
}

func newWatched(o *statusOptions, k *storedMigration) *watchedLive {
	w := &watchedLive{o: o, live: progress.NewLive(o.Common, progress.Steering{Interrupt: o.Interrupt})}
	k.lost = w.live.Lost
	return w
}

// set shows a change in place. It adds a line if an ordinal has moved or the reason of the hold has changed.
func (w *watchedLive) set(k *storedMigration, _ *string) error {
	w.shown = k
	p := progress.Recorded(k.Migration, k.record, k.connection.ServerTime(w.o.Clock.Now()))
	if u := k.undriven(w.o.Common); u != nil {
		p = p.WithHold(view.Hold{Reason: api.ReasonNotDriven, Message: u.Text() + "; " + w.o.howOn(k), Stalled: true, Since: u.Since})
	}
	w.live.Update(p)
	if about := fmt.Sprintf("%d %s", p.Moved, p.Reason()); about != w.last {
		w.last = about
		w.live.Line(w.o.Clock.Now().Format(time.TimeOnly) + "  " + w.o.line(k))
	}
	return nil
}

// close leaves the complete last state on the terminal.
func (w *watchedLive) close() {
	w.live.Close()
	if w.shown != nil {
		_, _ = io.WriteString(w.o.Out, w.o.page(0, w.shown)) // if the terminal is closed, the next signal ends the command
	}
}
