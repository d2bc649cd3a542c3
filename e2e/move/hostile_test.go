package move

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/config"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/e2e/hostile"
)

// TestHostile: one tenant's clusters send arbitrary answers to a manager that also serves others. Nothing
// outside the tenant is read, written or revealed, and the moves of others continue.
func TestHostile(t *testing.T) {
	n := startTenancy(t, "tenants")
	t.Run("tenants", func(t *testing.T) {
		for name, does := range map[string]func(*tenant){
			"an obedient cluster":             obedient,
			"S2 redirects":                    redirected,
			"S2 bodies":                       echoed,
			"S3 endless answers":              endless,
			"S3 replicas":                     countless,
			"S4 slow bytes":                   dribbling,
			"S1 a disk swapped on its way":    swappedDisks,
			"S1 other objects than asked for": swapped,
			"S5 a claim on another's volume":  swappedClaims,
			"S6 a forged record":              forged,
			"K1 it says that it is ours":      impostors,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				does(n.tenant(t))
			})
		}
		t.Run("others go on", func(t *testing.T) {
			t.Parallel()
			for range 3 {
				t.Logf("a move of 2 took %s", n.neighbour(t, 2, 30*time.Second))
			}
		})
	})
	peak := n.manager.Peak()
	t.Logf("the manager's peak was %d MiB", peak>>20)
	if peak > shippedMemory(t) {
		t.Errorf("more than the manifest allows: %d MiB", shippedMemory(t)>>20)
	}
}

// obedient moves an application between two well-behaved servers. This proves that the other servers are
// refused for their behaviour, not for being test servers.
func obedient(h *tenant) {
	from, to := h.server("from"), h.server("to")
	from.Deploy(h.namespace, "web", 2)
	to.Prepare(h.namespace)
	h.awaitReason(h.migrates("web", "from", "to"), time.Minute, api.ReasonMoved)
	if n := len(to.All("pods")); n != 2 {
		h.t.Errorf("%d pods are there", n)
	}
}

// insideBody is the content that no tenant may see.
const insideBody = "the-answer-of-something-inside"

// inside is a service that only the manager can reach.
type inside struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string
}

func startInside(t *testing.T) *inside {
	in := &inside{}
	in.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		in.mu.Lock()
		defer in.mu.Unlock()
		in.asked = append(in.asked, r.Method+" "+r.URL.Path+" "+r.Header.Get("Authorization"))
		_, _ = w.Write([]byte(insideBody))
	}))
	t.Cleanup(in.Close)
	return in
}

// redirected: requests to a server are never redirected elsewhere.
func redirected(h *tenant) {
	in := startInside(h.t)
	var all []*api.Migration
	for _, tc := range []struct {
		name string
		code int
		// from is the path prefix that is redirected.
		from string
	}{{"all-302", 302, "/"}, {"all-307", 307, "/"}, {"api-302", 302, "/api/v1/namespaces"}, {"api-307", 307, "/apis/authorization.k8s.io/v1/self"}} {
		s := h.server(tc.name)
		s.Deploy(h.namespace, "web", 1)
		s.Hook(func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.HasPrefix(r.URL.Path, tc.from) {
				return false
			}
			w.Header().Set("Location", in.URL+r.URL.Path)
			w.WriteHeader(tc.code)
			_, _ = w.Write([]byte(insideBody))
			return true
		})
		all = append(all, h.migrates(tc.name+"-source", tc.name, ""), h.migrates(tc.name+"-destination", "", tc.name))
	}
	h.refused(all, time.Minute, "redirects are not followed")
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.asked) > 0 {
		h.t.Errorf("it was asked: %v", in.asked)
	}
	h.tells(insideBody, hostile.Token)
}

// refused waits until the Migrations report that a cluster does not answer properly.
func (h *tenant) refused(all []*api.Migration, within time.Duration, says string) {
	h.t.Helper()
	for _, m := range all {
		condition := h.awaitReason(m, within, api.ReasonClusterUnreachable)
		if !strings.Contains(condition.Message, says) {
			h.t.Errorf("Migration %s: %s: it does not say %q", m.Name, condition.Message, says)
		}
	}
}

// tells checks that the secrets appear in no Migration or event of the tenant, and not in the log.
func (h *tenant) tells(secrets ...string) {
	h.t.Helper()
	migrations, events := &api.MigrationList{}, &corev1.EventList{}
	h.must(h.client.List(h.t.Context(), migrations, client.InNamespace(h.namespace)))
	h.must(h.client.List(h.t.Context(), events, client.InNamespace(h.namespace)))
	told, err := json.Marshal([]any{migrations, events})
	h.must(err)
	for where, text := range map[string]string{"the Migrations and their events": string(told), "the log": h.manager.Said()} {
		for _, secret := range secrets {
			if strings.Contains(text, secret) {
				h.t.Errorf("%s tell %q", where, secret)
			}
		}
	}
	if len(migrations.Items) == 0 || len(events.Items) == 0 {
		h.t.Errorf("%d Migrations and %d events: nothing is told at all", len(migrations.Items), len(events.Items))
	}
}

// echoed: an answer of a server that is not an API server is not shown to the author of its address.
func echoed(h *tenant) {
	var all []*api.Migration
	for name, answer := range map[string]http.HandlerFunc{
		"text": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(insideBody)) },
		"error": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = w.Write([]byte(insideBody))
		},
		"json": func(w http.ResponseWriter, _ *http.Request) {
			hostile.JSON(w, http.StatusBadGateway, hostile.Object{"error": insideBody})
		},
	} {
		s := h.server(name)
		s.Hook(hostile.Always(answer))
		all = append(all, h.migrates(name+"-source", name, ""), h.migrates(name+"-destination", "", name))
	}
	h.refused(all, time.Minute, "cluster ")
	h.tells(insideBody, hostile.Token)
}

// countless: impossible numbers of ordinals are refused before memory or time is spent in proportion to them.
func countless(h *tenant) {
	for name, ordinals := range map[string][2]int{"many": {0, 100_000_000}, "overflow": {1 << 30, 1 << 30}, "last": {1<<31 - 2, 3}} {
		s := h.server(name)
		s.Deploy(h.namespace, "web", ordinals[1])
		set := s.Find("statefulsets", h.namespace, "web")
		spec, _ := set["spec"].(hostile.Object)
		spec["ordinals"] = hostile.Object{"start": ordinals[0]}
		s.Put("statefulsets", set)
		h.awaitReason(h.migrates(name, name, ""), time.Minute, api.ReasonOrdinalsUnbounded)
	}
}

// dribbling: a server that sends a byte from time to time counts as not answering.
func dribbling(h *tenant) {
	s := h.server("slow")
	s.Hook(hostile.Always(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for r.Context().Err() == nil {
			_, _ = w.Write([]byte(" "))
			w.(http.Flusher).Flush()
			harness.Sleep(r.Context(), 200*time.Millisecond)
		}
	}))
	h.refused([]*api.Migration{h.migrates("source", "slow", ""), h.migrates("destination", "", "slow")}, 90*time.Second, "")
}

// TestHostileSilence: servers that accept connections but never answer do not block workers that others need.
// Their Migrations report that.
func TestHostileSilence(t *testing.T) {
	n := startTenancy(t, "silence")
	alone := n.neighbour(t, 3, time.Minute)
	h := n.tenant(t)
	all := append(h.silent(), n.tenant(t).silent()...) // more servers than workers
	if workers := config.Default().Concurrency; len(all) <= workers {
		t.Fatalf("%d silent servers say nothing of %d workers", len(all), workers)
	}
	beside := time.Duration(0)
	t.Run("S4 others go on", func(t *testing.T) {
		for range 3 {
			beside = max(beside, n.neighbour(t, 3, 2*alone+2*time.Second))
		}
	})
	t.Logf("a move of 3 took %s alone, and %s at most beside %d silent servers", alone, beside, len(all))
	t.Run("S4 it is said", func(t *testing.T) {
		h.t = t
		for _, m := range all {
			h.awaitReason(m, 45*time.Second, api.ReasonClusterUnreachable)
		}
	})
}
