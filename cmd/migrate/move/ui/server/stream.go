package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/sliceshift/sliceshift/cmd/migrate/move/ui/board"
	"github.com/sliceshift/sliceshift/internal/printable"
	"github.com/sliceshift/sliceshift/migration/view"
)

const (
	// flushEvery is how often a page is told of changes at most.
	flushEvery = 100 * time.Millisecond
	// beatEvery is how often something is sent although nothing has changed: a page that hears nothing knows that
	// the process has ended, and a page that does not read is left.
	beatEvery    = 5 * time.Second
	writeTimeout = 15 * time.Second
)

// state is the event that says where everything is from.
type state struct {
	Cluster string           `json:"cluster"`
	Feeds   []board.Standing `json:"feeds"`
	Steps   []view.Step      `json:"steps"`
	// Remote is true where the page is served to other machines: it asks for a token, and makes no plans.
	Remote bool `json:"remote,omitempty"`
}

// stream is a page that is told of changes.
type stream struct {
	user *user
	page *board.Page
	// shown is the one that the page shows in full; empty: none.
	shown view.Key
	out   http.ResponseWriter
	// begun is true once all rows were sent, also when there are none.
	begun bool
}

// events sends all rows, then each change, and all of the one that the page shows, until the page is closed.
func (s *user) events(w http.ResponseWriter, r *http.Request) {
	page, err := s.Board.Join()
	if err != nil {
		fail(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	defer page.Leave()
	w.Header().Set("Content-Type", "text/event-stream")
	to := &stream{user: s, page: page, shown: view.Key(r.URL.Query().Get("one")), out: w}
	beat, flush := s.Clock.NewTicker(beatEvery), s.Clock.NewTicker(flushEvery)
	defer beat.Stop()
	defer flush.Stop()
	for {
		select {
		case <-r.Context().Done():
			return
		case <-beat.C():
			err = to.send("now", s.Clock.Now())
		case <-page.Changed():
			err = to.tell()
		}
		if err != nil {
			return // the page has gone away
		}
		select {
		case <-r.Context().Done():
			return
		case <-flush.C():
		}
	}
}

// tell sends what has changed; the first time that is all there is.
func (t *stream) tell() error {
	c := t.page.Take()
	now := t.user.Clock.Now()
	if err := t.send("now", now); err != nil {
		return err
	}
	if c.Feeds != nil {
		if err := t.send("state", state{t.user.Cluster, c.Feeds, view.Steps(), t.user.remote}); err != nil {
			return err
		}
	}
	if len(c.Rows) > 0 || !t.begun {
		t.begun = true
		if err := t.send("rows", c.Rows); err != nil {
			return err
		}
	}
	if len(c.Gone) > 0 {
		if err := t.send("gone", c.Gone); err != nil {
			return err
		}
	}
	if t.shown == "" || !c.Touched(t.shown) {
		return nil
	}
	m, found := t.user.Board.Get(t.shown)
	if !found {
		return nil
	}
	return t.send("one", t.user.detail(m, t.user.Board.Time(now)))
}

// send sends one event.
func (t *stream) send(event string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	control := http.NewResponseController(t.out)
	if err := control.SetWriteDeadline(t.user.Clock.Now().Add(writeTimeout)); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(t.out, "event: %s\ndata: %s\n\n", event, printable.JSON(data)); err != nil {
		return err
	}
	return control.Flush()
}
