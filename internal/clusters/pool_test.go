package clusters

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
)

// watching counts the watches of a server by path.
type watching struct {
	mu    sync.Mutex
	paths map[string]int
}

func (w *watching) count(next http.HandlerFunc) http.HandlerFunc {
	return func(to http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("watch") != "" {
			w.mu.Lock()
			w.paths[r.URL.Path]++
			w.mu.Unlock()
		}
		next(to, r)
	}
}

func (w *watching) of(path string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.paths[path]
}

// tenants connects tenants of one pool to a server, and watches namespace shop.
type tenants struct {
	*testing.T
	pool   *Pool
	config *rest.Config
}

func newTenants(t *testing.T, answer http.HandlerFunc) tenants {
	server := httptest.NewTLSServer(answer)
	t.Cleanup(server.Close)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return tenants{t, NewPool(8 << 20), &rest.Config{Host: server.URL, QPS: -1, TLSClientConfig: rest.TLSClientConfig{CAData: authority}}}
}

func (s tenants) look(key string, tenant Tenant) (view *View, leave func()) {
	s.Helper()
	connection, release, err := s.pool.Get(key, "of-"+string(tenant), s.config, tenant)
	if err != nil {
		s.Fatal(err)
	}
	view, away, err := connection.Watch(s.Context(), Scope{Namespace: "shop"}, Subscription{Set: "web", Notify: func() {}})
	if err != nil {
		s.Fatal(err)
	}
	return view, func() { away(); release(); release() }
}

// TestPoolShares: for any number of tenants and Secrets, a cluster is watched once for each identity, and its volumes are
// kept once. Each tenant is charged for the objects that it is shown, and all of it is returned.
func TestPoolShares(t *testing.T) {
	const volumes = "/api/v1/persistentvolumes"
	w := &watching{paths: map[string]int{}}
	s := newTenants(t, w.count(stream("pods", 50)))
	view, leave := s.look("same", "shop")
	again, leaveAgain := s.look("same", "bank")
	if view.connection.Name() != "of-shop" || again.connection.Name() != "of-bank" || view.connection.core != again.connection.core || w.of(volumes) != 1 || s.pool.Len() != 1 {
		t.Errorf("%s and %s, %d watches over %d connections", view.connection.Name(), again.connection.Name(), w.of(volumes), s.pool.Len())
	}
	if shop, bank := s.pool.allowance("shop").room(), s.pool.allowance("bank").room(); shop != bank || shop == 8<<20 {
		t.Errorf("one has %d left, the other one %d", shop, bank)
	}
	leave()
	if err := again.List(t.Context(), &corev1.PodList{}); err != nil || s.pool.allowance("shop").room() != 8<<20 {
		t.Errorf("one has left, with %d, and the other one: %v", s.pool.allowance("shop").room(), err)
	}
	other, leaveOther := s.look("another", "bank")
	if w.of(volumes) != 2 || s.pool.Len() != 2 {
		t.Errorf("%d watches over %d connections", w.of(volumes), s.pool.Len())
	}
	if kept := again.volumes.volumes; kept != &s.pool.volumes || other.volumes.volumes != kept {
		t.Error("their volumes are kept apart")
	}
	leaveAgain()
	leaveOther()
	if left := s.pool.allowance("bank").room(); s.pool.Len() != 0 || left != 8<<20 {
		t.Errorf("%d connections and %d bytes are left", s.pool.Len(), left)
	}
}

// TestPoolPutsOut: a tenant whose allowance is used up is not shown shared data any more, and the others are. A tenant
// without room for the kept data cannot connect (S3).
func TestPoolPutsOut(t *testing.T) {
	s := newTenants(t, stream("pods", 50))
	poor, leavePoor := s.look("same", "poor")
	defer leavePoor()
	rich, leaveRich := s.look("same", "rich")
	defer leaveRich()
	elsewhere := s.pool.allowance("poor")
	elsewhere.take(elsewhere.room())
	if !rich.connection.core.share.take(1) {
		t.Fatal("nobody pays")
	}
	if err := poor.List(t.Context(), &corev1.PodList{}); err == nil || !strings.Contains(err.Error(), "cluster of-poor: it holds more in all that is watched of it") {
		t.Errorf("it is shown more: %v", err)
	}
	if err := rich.List(t.Context(), &corev1.PodList{}); err != nil {
		t.Error(err)
	}
	full := s.pool.allowance("full")
	full.take(full.room())
	if _, _, err := s.pool.Get("same", "of-full", s.config, "full"); err == nil || !strings.Contains(err.Error(), "cluster of-full: it holds more") {
		t.Errorf("it is let in: %v", err)
	}
	if s.pool.Len() != 1 {
		t.Errorf("%d connections", s.pool.Len())
	}
}

// TestPoolMapper: the resources of the trusted cluster are known in advance, and those of other clusters are discovered.
func TestPoolMapper(t *testing.T) {
	s := newTenants(t, stream("pods", 1))
	known := meta.NewDefaultRESTMapper(nil)
	s.pool.Mapper = known
	for tenant, want := range map[Tenant]bool{"": true, "shop": false} {
		connection, release, err := s.pool.Get("of "+string(tenant), "east", s.config, tenant)
		if err != nil {
			t.Fatal(err)
		}
		defer release()
		if got := connection.core.mapper.RESTMapper == meta.RESTMapper(known); got != want {
			t.Errorf("tenant %q: %v", tenant, got)
		}
	}
}
