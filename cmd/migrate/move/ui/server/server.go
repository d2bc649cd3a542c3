// Package server serves a web page for viewing and steering moves: files, a stream of events, and actions, all with the
// permissions of the user who started it.
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

// Forecast is the plan of a migration from its current state, and its obstacles.
type Forecast struct {
	Page page.Page
	// Checks is the result of the checks before the first write; nil after the migration has begun.
	Checks *preflight.Report
}

// Options are the options of a page.
type Options struct {
	// Cluster is the name of the cluster that stores the migrations.
	Cluster string
	Board   *board.Board
	// Store returns the store of a migration.
	Store func(namespace, name string, record bool) records.Store
	// Plan runs the planner on the current state of source and destination. It writes nothing. If it is nil, there are
	// no plans.
	Plan func(ctx context.Context, m board.Migration) (Forecast, error)
	// Evacuation returns the state of an Evacuation as a document.
	Evacuation func(ctx context.Context, namespace, name string) (page.Page, error)

	Clock clock.WithTicker
}

// user is the scope of one user.
type user struct {
	Options
	// remote is true if a manager serves the page to other machines.
	remote bool
	// planning allows one plan at a time, because a plan reads much data.
	planning chan struct{}
}

// Server serves the page, and its requests, on the machine of its user.
type Server struct {
	*user
	token string
	http.Handler
}

// Paths of cluster data, below that of the page.
const (
	eventsPath     = "api/events"
	onePath        = "api/{kind}/{namespace}/{name}/"
	evacuationPath = "api/evacuation/{namespace}/{name}/"
)

// New prepares the server, with a new random token.
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
		"GET /" + evacuationPath + "report": s.evacuation,
	} {
		mux.Handle(pattern, s.authorized(handle))
	}
	s.Handler = guard(mux, onThisMachine)
	return s, nil
}

// Token returns the token that every request for cluster data needs.
func (s *Server) Token() string { return s.token }

// find returns the migration of a request. If there is none, it has answered with an error.
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
		_, _ = w.Write(append(printable.JSON(data), '\n')) // the client has disconnected
	}
}

func fail(w http.ResponseWriter, code int, message string) {
	answer(w, code, map[string]string{"error": message})
}
