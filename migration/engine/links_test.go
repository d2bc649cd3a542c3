package engine

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	clocktest "k8s.io/utils/clock/testing"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// TestExportsInstalledLater: a migration waits for a cluster that serves no ServiceExport until the definition
// is installed. It is found without a restart, and discovery does not run in every pass.
func TestExportsInstalledLater(t *testing.T) {
	var installed, broken atomic.Bool
	var asked atomic.Int32
	const group, version = "multicluster.x-k8s.io", "multicluster.x-k8s.io/v1beta1"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if broken.Load() {
			http.Error(w, "out of order", http.StatusInternalServerError)
			return
		}
		served := metav1.GroupVersionForDiscovery{GroupVersion: version, Version: "v1beta1"}
		groups := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList"}}
		if installed.Load() {
			groups.Groups = []metav1.APIGroup{{Name: group, Versions: []metav1.GroupVersionForDiscovery{served}, PreferredVersion: served}}
		}
		answer, found := map[string]any{
			"/api":  metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}},
			"/apis": groups,
			"/apis/" + version: metav1.APIResourceList{
				TypeMeta: metav1.TypeMeta{Kind: "APIResourceList"}, GroupVersion: version,
				APIResources: []metav1.APIResource{{Name: "serviceexports", Kind: "ServiceExport", Namespaced: true}},
			},
		}[r.URL.Path]
		if !found || !installed.Load() && r.URL.Path == "/apis/"+version {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer)
	}))
	defer server.Close()
	connection, release, err := clusters.NewPool(1<<20).Get("west", "west", &rest.Config{Host: server.URL}, "")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	now := clocktest.NewFakePassiveClock(time.Unix(1, 0))
	l := &links{clock: now, connections: map[plan.SideName]*clusters.Connection{plan.DestinationSide: connection}}
	m := &api.Migration{Spec: api.MigrationSpec{Services: api.ServicesSpec{Export: true}}}
	at := &endpoint.Endpoint{Side: plan.DestinationSide}
	learn := func(want string, again bool) {
		t.Helper()
		before := asked.Load()
		if err := l.learnExports(t.Context(), m, []*endpoint.Endpoint{at}); err != nil {
			t.Fatal(err)
		}
		if at.ExportVersion != want || again != (asked.Load() > before) {
			t.Errorf("found %q, want %q; asked again: %t, want %t", at.ExportVersion, want, asked.Load() > before, again)
		}
	}
	learn("", true)
	installed.Store(true)
	learn("", false)
	now.SetTime(now.Now().Add(exportsAgain))
	broken.Store(true)
	learn("", true) // it continued without, and does so still
	broken.Store(false)
	now.SetTime(now.Now().Add(exportsAgain))
	learn("v1beta1", true)
	now.SetTime(now.Now().Add(time.Hour))
	learn("v1beta1", false)
}
