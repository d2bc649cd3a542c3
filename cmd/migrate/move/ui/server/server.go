// Package server serves a page on which moves are seen and steered: files, a stream of events, and what a person can
// ask for, all with the rights of the user who has started it.
package server

import (
	"context"
	"crypto/rand"
	"embed"
	"encoding/json"
	"io/fs"
	"net/http"

	"k8s.io/utils/clock"

	"github.com/sliceshift/sliceshift/cmd/migrate/move/ui/board"
	"github.com/sliceshift/sliceshift/internal/printable"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/migration/preflight"
	"github.com/sliceshift/sliceshift/migration/report/page"
	"github.com/sliceshift/sliceshift/migration/view"
)

//go:embed static
var static embed.FS

// Forecast is what a migration would do from here, and what stands in its way.
type Forecast struct {
	Page page.Page
	// Checks are those before the first write; nil: it has begun, and they are over.
	Checks *preflight.Report
}

// Options say what is served.
type Options struct {
	// Cluster is the name of the one that keeps the migrations.
	Cluster string
	Board   *board.Board
	// Store is where a migration is kept.
	Store func(namespace, name string, record bool) records.Store
	// Plan runs the planner over what both sides show. It writes nothing. Nil: no plans are made here.
	Plan  func(ctx context.Context, m board.Migration) (Forecast, error)
	Clock clock.WithTicker
}

// user is what one user may see and do.
type user struct {
	Options
	// remote is true where the page is served to other machines, by a manager.
	remote bool
	// planning is held by who plans: that reads much, so one does at a time.
	planning chan struct{}
}

// Server serves the page on the machine of its user, and what it asks for.
type Server struct {
	*user
	token string
	http.Handler
}

// api are the paths of what is asked of a cluster, below that of the page.
const (
	eventsPath = "api/events"
	onePath    = "api/{kind}/{namespace}/{name}/"
)

// New prepares the server. Its token is another one each time.
func New(o Options) (*Server, error) {
	files, err := fs.Sub(static, "static")
	if err != nil {
		return nil, err
	}
	s := &Server{user: &user{Options: o, planning: make(chan struct{}, 1)}, token: rand.Text()}
	mux := http.NewServeMux()
	mux.Handle("GET /", http.FileServerFS(files))
	for pattern, handle := range map[string]http.HandlerFunc{
		"GET /" + eventsPath: s.events, "GET /" + onePath + "report": s.report, "GET /" + onePath + "plan": s.plan, "POST /" + onePath + "act": s.act,
	} {
		mux.Handle(pattern, s.authorized(handle))
	}
	s.Handler = guard(mux, onThisMachine)
	return s, nil
}

// Token is what a request for anything of a cluster must have.
func (s *Server) Token() string { return s.token }

// find is the migration that a request is about; it has answered when there is none.
func (s *user) find(w http.ResponseWriter, r *http.Request) (board.Migration, bool) {
	m, found := s.Board.Get(keyOf(r))
	if !found {
		fail(w, http.StatusNotFound, "there is no migration "+r.PathValue("namespace")+"/"+r.PathValue("name")+" any more")
	}
	return m, found
}

func keyOf(r *http.Request) view.Key {
	return view.KeyOf(r.PathValue("namespace"), r.PathValue("name"), r.PathValue("kind") == "run")
}

func answer(w http.ResponseWriter, code int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	if data, err := json.Marshal(value); err == nil {
		_, _ = w.Write(append(printable.JSON(data), '\n')) // the page has gone away
	}
}

func fail(w http.ResponseWriter, code int, message string) {
	answer(w, code, map[string]string{"error": message})
}
