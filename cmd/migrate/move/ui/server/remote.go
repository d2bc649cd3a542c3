package server

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/cmd/migrate/move/ui/board"
	"github.com/sliceshift/sliceshift/internal/records"
)

// RemotePath is where a page is served to other machines. Who may get it may look, and who may post to it may steer,
// as far as their own rights go.
const RemotePath = "/ui"

const (
	// mostRemotePages that are open at once: each has watches of its own.
	mostRemotePages = 16
	// mostAsked are other requests, and those of whom it is not known yet, that are worked on at once.
	mostAsked = 16
	// mostNamespaces that one page shows.
	mostNamespaces = 8
	// visitLasts is how long a page is told of changes before it asks, and is judged, anew.
	visitLasts = 5 * time.Minute
	// askLasts bounds all other requests.
	askLasts = 30 * time.Second
)

// Denied is why somebody is not let in.
type Denied struct {
	// Code is the HTTP code that says so.
	Code    int
	Message string
}

// Error implements error.
func (d Denied) Error() string { return d.Message }

// RemoteOptions say what is served to other machines.
type RemoteOptions struct {
	// Cluster is the name of the one that keeps the migrations.
	Cluster string
	// Namespace is the one that is shown where none is asked for; empty: all.
	Namespace string
	// Admit judges who shows a token, and whether they may send a request of this method to RemotePath. The client that it
	// returns has the rights of that token and no others. The error is a Denied where they are not let in.
	Admit func(ctx context.Context, token, method string) (client.WithWatch, error)
	Clock clock.WithTicker
}

// remote serves the page to users of other machines, each with their own rights. Nothing is shared between two
// requests, not even of the same user: what one was shown is never shown to another.
type remote struct {
	RemoteOptions
	pages, asked chan struct{}
}

// NewRemote is a handler that serves the page below RemotePath, to be reached over TLS only: tokens of a cluster are
// shown to it.
func NewRemote(o RemoteOptions) (http.Handler, error) {
	files, err := fs.Sub(static, "static")
	if err != nil {
		return nil, err
	}
	s := &remote{RemoteOptions: o, pages: make(chan struct{}, mostRemotePages), asked: make(chan struct{}, mostAsked)}
	mux := http.NewServeMux()
	mux.Handle("GET "+RemotePath+"/", http.StripPrefix(RemotePath, http.FileServerFS(files)))
	mux.Handle("GET /{$}", http.RedirectHandler(RemotePath+"/", http.StatusFound))
	for pattern, handle := range map[string]http.HandlerFunc{
		"GET " + RemotePath + "/" + eventsPath:         s.events,
		"GET " + RemotePath + "/" + onePath + "report": s.report,
		"POST " + RemotePath + "/" + onePath + "act":   s.act,
	} {
		mux.Handle(pattern, handle)
	}
	return guard(mux, fromElsewhere), nil
}

// fromElsewhere is why a request is not one of this server's page; empty: it may be. A link of another page may lead
// here: the files of the page tell nothing of a cluster.
func fromElsewhere(r *http.Request) string {
	if navigates(r, RemotePath+"/api/") {
		return ""
	}
	return elsewhere(r, "https://"+r.Host)
}

// admit is who asks; nil: they have been told why not.
func (s *remote) admit(w http.ResponseWriter, r *http.Request) client.WithWatch {
	token := bearer(r)
	if token == "" {
		s.deny(w, Denied{http.StatusUnauthorized, "the page shows and does what you may do yourself: it needs a token of yours"})
		return nil
	}
	asks, err := s.Admit(r.Context(), token, r.Method)
	if err != nil {
		s.deny(w, err)
		return nil
	}
	return asks
}

// deny says why somebody is not let in. One who has no token that counts is asked for another one.
func (s *remote) deny(w http.ResponseWriter, err error) {
	var denied Denied
	if !errors.As(err, &denied) {
		denied = Denied{http.StatusBadGateway, "cluster " + s.Cluster + ": " + err.Error()}
	}
	answer(w, denied.Code, map[string]any{"error": denied.Message, "login": denied.Code == http.StatusUnauthorized || denied.Code == http.StatusForbidden})
}

// enter takes one of the places in a room; nil: there is none, and that was said.
func enter(w http.ResponseWriter, room chan struct{}) (leave func()) {
	select {
	case room <- struct{}{}:
		return func() { <-room }
	default:
		fail(w, http.StatusServiceUnavailable, "too many use this page at once: try it again in a minute")
		return nil
	}
}

// as is what a user may see and do by a client of theirs.
func (s *remote) as(asks client.WithWatch) *user {
	store := func(namespace, name string, record bool) records.Store {
		if record {
			return records.ConfigMap{Client: asks, Namespace: namespace, Name: name}
		}
		return records.Resource{Client: asks, Namespace: namespace, Name: name}
	}
	return &user{Options: Options{Cluster: s.Cluster, Board: board.New(), Store: store, Clock: s.Clock}, remote: true}
}

// events watches what a user may see for as long as the page is open, and a few minutes at most: then it asks anew.
func (s *remote) events(w http.ResponseWriter, r *http.Request) {
	namespaces, why := s.namespaces(r)
	if why != "" {
		fail(w, http.StatusBadRequest, why)
		return
	}
	var asks client.WithWatch
	s.ask(w, r, func(admitted client.WithWatch, _ http.ResponseWriter, _ *http.Request) { asks = admitted })
	if asks == nil {
		return
	}
	leave := enter(w, s.pages)
	if leave == nil {
		return
	}
	defer leave()
	ctx, end := context.WithTimeout(r.Context(), visitLasts)
	defer end()
	r = r.WithContext(ctx)
	visitor := s.as(asks)
	var watching sync.WaitGroup
	watching.Go(func() { _ = visitor.Board.Watch(ctx, asks, namespaces, s.Clock) }) // the page shows what it could not see
	visitor.events(w, r)
	end()
	watching.Wait()
}

// namespaces are those that a page asks for; why is what is wrong with them.
func (s *remote) namespaces(r *http.Request) (names []string, why string) {
	for name := range strings.FieldsFuncSeq(r.URL.Query().Get("namespaces"), func(c rune) bool { return c == ',' || c == ' ' }) {
		if len(validation.IsDNS1123Label(name)) > 0 {
			return nil, "it is not the name of a namespace: " + name
		}
		names = append(names, name)
	}
	slices.Sort(names)
	switch names = slices.Compact(names); {
	case len(names) > mostNamespaces:
		return nil, "these are too many namespaces for one page: leave them out for all, or name fewer"
	case len(names) == 0:
		return []string{s.Namespace}, ""
	}
	return names, ""
}

// report reads a migration with the user's rights, and tells what it has done.
func (s *remote) report(w http.ResponseWriter, r *http.Request) {
	s.ask(w, r, func(asks client.WithWatch, w http.ResponseWriter, r *http.Request) {
		u, record := s.as(asks), r.PathValue("kind") == "run"
		m, err := u.Store(r.PathValue("namespace"), r.PathValue("name"), record).Load(r.Context())
		if err == nil {
			err = u.Board.Show(m, record)
		}
		if err != nil {
			u.refuse(w, err)
			return
		}
		u.report(w, r)
	})
}

func (s *remote) act(w http.ResponseWriter, r *http.Request) {
	s.ask(w, r, func(asks client.WithWatch, w http.ResponseWriter, r *http.Request) { s.as(asks).act(w, r) })
}

// ask has one thing done with the rights of who asks, within a bound of time.
func (s *remote) ask(w http.ResponseWriter, r *http.Request, do func(client.WithWatch, http.ResponseWriter, *http.Request)) {
	leave := enter(w, s.asked)
	if leave == nil {
		return
	}
	defer leave()
	ctx, end := context.WithTimeout(r.Context(), askLasts)
	defer end()
	r = r.WithContext(ctx)
	if r.Method == http.MethodPost {
		if err := http.NewResponseController(w).SetReadDeadline(s.Clock.Now().Add(askLasts)); err != nil {
			fail(w, http.StatusInternalServerError, err.Error())
			return
		}
	}
	if asks := s.admit(w, r); asks != nil {
		do(asks, w, r)
	}
}
