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

// RemotePath is the path at which the page is served to other machines. A user with permission to get it may view moves,
// and with permission to post to it may steer them, within the user's own permissions.
const RemotePath = "/ui"

const (
	// mostRemotePages is the maximum of open pages, because each has its own watches.
	mostRemotePages = 16
	// mostAsked is the maximum of other requests at once, including those whose user is not yet known.
	mostAsked = 16
	// mostNamespaces is the maximum of namespaces on one page.
	mostNamespaces = 8
	// visitLasts is how long a page receives changes before it must reconnect and is authorized again.
	visitLasts = 5 * time.Minute
	// askLasts is the timeout of all other requests.
	askLasts = 30 * time.Second
)

// Denied is the error for a user that is not admitted.
type Denied struct {
	// Code is the HTTP status code.
	Code    int
	Message string
}

// Error implements error.
func (d Denied) Error() string { return d.Message }

// RemoteOptions are the options of a page for other machines.
type RemoteOptions struct {
	// Cluster is the name of the cluster that stores the migrations.
	Cluster string
	// Namespace is the namespace that is shown by default; empty means all.
	Namespace string
	// Admit authenticates a token, and checks whether its user may send a request of this method to RemotePath. The
	// returned client has exactly the permissions of the token. The error is a Denied if the user is not admitted.
	Admit func(ctx context.Context, token, method string) (client.WithWatch, error)
	Clock clock.WithTicker
}

// remote serves the page to users of other machines, each with their own permissions. Requests share no data, not even
// those of one user, so nothing can be shown to the wrong user.
type remote struct {
	RemoteOptions
	pages, asked chan struct{}
}

// NewRemote returns a handler that serves the page below RemotePath. It must be served over TLS only, because users send
// it tokens of a cluster.
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

// fromElsewhere returns why a request is not from this server's page, or an empty string if it is allowed. A link on
// another page is allowed, because the files of the page contain no data of a cluster.
func fromElsewhere(r *http.Request) string {
	if navigates(r, RemotePath+"/api/") {
		return ""
	}
	return elsewhere(r, "https://"+r.Host)
}

// admit returns the client of the request's user. If it returns nil, it has answered with the reason.
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

// deny answers why a user is not admitted. With an invalid or missing token the page asks for another one.
func (s *remote) deny(w http.ResponseWriter, err error) {
	var denied Denied
	if !errors.As(err, &denied) {
		denied = Denied{http.StatusBadGateway, "cluster " + s.Cluster + ": " + err.Error()}
	}
	answer(w, denied.Code, map[string]any{"error": denied.Message, "login": denied.Code == http.StatusUnauthorized || denied.Code == http.StatusForbidden})
}

// enter takes a slot in room. If there is none, it answers with an error and returns nil.
func enter(w http.ResponseWriter, room chan struct{}) (leave func()) {
	select {
	case room <- struct{}{}:
		return func() { <-room }
	default:
		fail(w, http.StatusServiceUnavailable, "too many use this page at once: try it again in a minute")
		return nil
	}
}

// as returns the user of a client, limited to that client's permissions.
func (s *remote) as(asks client.WithWatch) *user {
	store := func(namespace, name string, record bool) records.Store {
		return records.StoreOf(asks, namespace, name, record)
	}
	return &user{Options: Options{Cluster: s.Cluster, Board: board.New(), Store: store, Clock: s.Clock}, remote: true}
}

// events sends what the user may see while the page is open, for at most visitLasts. Then the page reconnects.
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
	watching.Go(func() { _ = visitor.Board.Watch(ctx, asks, namespaces, s.Clock) }) // the page shows which feeds failed
	visitor.events(w, r)
	end()
	watching.Wait()
}

// namespaces returns the requested namespaces, or why they are invalid.
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

// report reads a migration with the user's permissions, and answers with its report.
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

// ask calls do with the client of the request's user, within a timeout.
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
