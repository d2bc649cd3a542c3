package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/ui/board"
	"github.com/sliceshift/sliceshift/internal/printable"
	"github.com/sliceshift/sliceshift/migration/report"
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

// detail holds everything that the page shows of one migration.
type detail struct {
	view.Row
	UID types.UID `json:"uid"`
	// Where names the object that stores the migration.
	Where    string         `json:"where"`
	Ordinals []view.Ordinal `json:"ordinals"`
	// Steps lists the steps of a handoff with the methods in use.
	Steps []view.Step `json:"steps"`
	Pace  *view.Pace  `json:"pace,omitempty"`
	// Ahead is why copies for later turns are held, while the move continues.
	Ahead *view.Hold `json:"ahead,omitempty"`
	// Report is the report so far.
	Report report.Report `json:"report"`
	// Clients describes the client requests in each of its handoffs. It is absent if they were not measured.
	Clients []string         `json:"clients,omitempty"`
	Gates   []api.GateStatus `json:"gates,omitempty"`
	Hooks   []api.HookRun    `json:"hooks,omitempty"`
	Actions []view.Action    `json:"actions"`
}

// detail returns the detail of a migration, at a time of its API server.
func (s *user) detail(m board.Migration, now time.Time) detail {
	row, told := view.NewRow(m.Migration, m.Record).At(m.Migration, now), s.reportOf(m, now)
	return detail{
		Row: row, UID: m.UID, Where: row.Where(), Ordinals: row.Ordinals(), Steps: view.StepsOf(m.Migration),
		Pace: view.PaceOf(m.Migration), Ahead: view.HeldAhead(m.Migration), Report: told, Clients: told.HandoffClients(),
		Gates: m.Status.Gates, Hooks: m.Status.Hooks, Actions: view.Actions(m.Migration, m.Record),
	}
}

// reportOf returns the report of a migration, at a time of its API server.
func (s *user) reportOf(m board.Migration, now time.Time) report.Report {
	at := report.Place{Cluster: s.Cluster, Record: view.NewRow(m.Migration, m.Record).Where(), Destination: view.DestinationOf(m.Migration), Run: m.Record}
	return report.Of(m.Migration, at, now)
}
