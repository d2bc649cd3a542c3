package server

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// openPage is a recorder that accepts read and write deadlines, like a connection.
type openPage struct{ deadlines }

func (openPage) SetWriteDeadline(time.Time) error { return nil }

// opens requests a page until the server ends it, and returns the status code.
func (f far) opens(ctx context.Context, token string) int {
	r := httptest.NewRequest(http.MethodGet, RemotePath+"/api/events?namespaces=shop", http.NoBody).WithContext(ctx)
	r.Host = "moves.example.com"
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	w := openPage{deadlines{httptest.NewRecorder()}}
	f.ServeHTTP(w, r)
	return w.Code
}

// TestVisitEnds: an open page is ended after 5 minutes, and authorized again when it reconnects. A token that was
// revoked is then rejected.
func TestVisitEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serveFar(t)
		began := time.Now()
		if code := f.opens(t.Context(), "alice"); code != http.StatusOK {
			t.Errorf("the answer is %d", code)
		}
		if took := time.Since(began); took < 4*time.Minute || took > 5*time.Minute+10*time.Second {
			t.Errorf("it was open for %s", took)
		}
		delete(f.clients, "alice")
		if code := f.opens(t.Context(), "alice"); code != http.StatusUnauthorized {
			t.Errorf("with a token that does not count any more the answer is %d", code)
		}
	})
}

// TestPagesAtOnce: 16 pages may be open at once. One more is rejected until one of them is closed.
func TestPagesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := serveFar(t)
		ctx, end := context.WithCancel(t.Context())
		one, endOne := context.WithCancel(ctx)
		var open sync.WaitGroup
		open.Go(func() { f.opens(one, "alice") })
		for range 15 {
			open.Go(func() { f.opens(ctx, "alice") })
		}
		synctest.Wait()
		if code := f.opens(ctx, "bob"); code != http.StatusServiceUnavailable {
			t.Errorf("the 17th is answered with %d", code)
		}
		endOne()
		synctest.Wait()
		var code int
		open.Go(func() { code = f.opens(ctx, "bob") })
		synctest.Wait()
		end()
		if open.Wait(); code != http.StatusOK {
			t.Errorf("one was closed, and the next is answered with %d", code)
		}
	})
}

// TestRequestsAtOnce: 16 other requests may run at once, including those whose user is not yet known.
func TestRequestsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers := make(chan struct{})
		handler, err := NewRemote(RemoteOptions{Cluster: "east", Clock: clock.RealClock{}, Admit: func(context.Context, string, string) (client.WithWatch, error) {
			<-answers
			return nil, Denied{http.StatusUnauthorized, "no such token"}
		}})
		if err != nil {
			t.Fatal(err)
		}
		f := far{t, handler, nil}
		var asked sync.WaitGroup
		for range 16 {
			asked.Go(func() { f.ask(http.MethodGet, farReport, "a", "") })
		}
		synctest.Wait()
		refused := 0
		for range 2 {
			asked.Go(func() {
				if f.ask(http.MethodGet, farReport, "b", "").Code == http.StatusServiceUnavailable {
					refused++
				}
			})
			synctest.Wait()
		}
		if refused != 2 {
			t.Errorf("of two requests more %d are refused", refused)
		}
		close(answers)
		asked.Wait()
	})
}
