package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/sliceshift/sliceshift/config"
)

// TestK2LocalCluster: if the API server of the manager's own cluster sends a Retry-After of an hour, the client waits
// two seconds.
func TestK2LocalCluster(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	t.Cleanup(server.Close)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	kubeconfig := `{apiVersion: v1, kind: Config, current-context: a, clusters: [{name: a, cluster: {server: "` + server.URL + `"}}], users: [{name: a}], contexts: [{name: a, context: {cluster: a, user: a}}]}`
	if err := os.WriteFile(path, []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	local, err := localConfig(config.Config{Kubeconfig: path})
	if err != nil {
		t.Fatal(err)
	}
	c, err := rest.HTTPClientFor(local)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Get(server.URL) //nolint:noctx // the server is of this test
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if after := resp.Header.Get("Retry-After"); after != "2" {
		t.Errorf("it waits for %s s", after)
	}
}
