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
	// flushEvery is the minimal interval between changes that are sent to a page.
	flushEvery = 100 * time.Millisecond
	// beatEvery is the interval of events without a change. Without them a page knows that the process has ended, and a
	// page that does not read is closed.
	beatEvery    = 5 * time.Second
	writeTimeout = 15 * time.Second
)

// state is the event with the cluster and the state of its feeds.
type state struct {
	Cluster string           `json:"cluster"`
	Feeds   []board.Standing `json:"feeds"`
	Steps   []view.Step      `json:"steps"`
	// Remote is true if the page is served to other machines: it asks for a token, and has no plans.
	Remote bool `json:"remote,omitempty"`
}

// stream sends changes to a page.
type stream struct {
	user *user
	page *board.Page
	// shown is the selected migration of the page, or empty.
	shown view.Key
	out   http.ResponseWriter
	// begun is true once all rows were sent, even if there are none.
	begun bool
}

// events sends all rows, then each change, and the detail of the selected migration, until the page is closed.
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
			return // the client has disconnected
		}
		select {
		case <-r.Context().Done():
			return
		case <-flush.C():
		}
	}
}

// tell sends the pending changes; the first time these are all rows.
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
