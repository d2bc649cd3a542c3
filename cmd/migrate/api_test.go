package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/yaml"

	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/internal/records"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// cluster is an API server that keeps ConfigMaps and the namespace kube-system, and
// nothing else: as much as the verbs need that steer a run.
type cluster struct {
	*httptest.Server
	mu      sync.Mutex
	version int
	maps    map[string]*corev1.ConfigMap
	writes  []string
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{maps: map[string]*corev1.ConfigMap{}}
	mux := http.NewServeMux()
	reply := func(pattern string, value any) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, value) })
	}
	reply("GET /api", metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}})
	reply("GET /apis", metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}})
	reply("GET /api/v1", metav1.APIResourceList{
		TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: "v1",
		APIResources: []metav1.APIResource{
			{Name: "configmaps", SingularName: "configmap", Namespaced: true, Kind: "ConfigMap", Verbs: metav1.Verbs{"get", "update", "create"}},
			{Name: "namespaces", SingularName: "namespace", Kind: "Namespace", Verbs: metav1.Verbs{"get"}},
		},
	})
	mux.HandleFunc("GET /api/v1/namespaces/kube-system", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, corev1.Namespace{TypeMeta: kind("Namespace"), ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: "cluster-1"}})
	})
	mux.HandleFunc("/api/v1/namespaces/{namespace}/configmaps/{name}", c.configMap)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound, r.URL.Path)
	})
	c.Server = httptest.NewServer(mux)
	t.Cleanup(c.Close)
	return c
}

func kind(name string) metav1.TypeMeta { return metav1.TypeMeta{Kind: name, APIVersion: "v1"} }

func answer(w http.ResponseWriter, code int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(value)
}

func refuse(w http.ResponseWriter, code int32, reason metav1.StatusReason, message string) {
	answer(w, int(code), metav1.Status{TypeMeta: kind("Status"), Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message})
}

// configMap reads or updates one ConfigMap.
func (c *cluster) configMap(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := r.PathValue("namespace") + "/" + r.PathValue("name")
	have := c.maps[key]
	switch {
	case have == nil:
		refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound, key+" not found")
	case r.Method == http.MethodGet:
		answer(w, http.StatusOK, have)
	case r.Method == http.MethodPut:
		body, _ := io.ReadAll(r.Body)
		object, _, err := serializer.NewCodecFactory(clusters.NewScheme()).UniversalDeserializer().Decode(body, nil, nil)
		next, ok := object.(*corev1.ConfigMap)
		if err != nil || !ok || next.ResourceVersion != have.ResourceVersion {
			refuse(w, http.StatusConflict, metav1.StatusReasonConflict, fmt.Sprint("conflict: ", err))
			return
		}
		c.writes = append(c.writes, key)
		c.put(next)
		answer(w, http.StatusOK, next)
	}
}

func (c *cluster) put(object *corev1.ConfigMap) {
	c.version++
	object.TypeMeta = kind("ConfigMap")
	object.ResourceVersion = strconv.Itoa(c.version)
	c.maps[object.Namespace+"/"+object.Name] = object
}

// keep makes m the record of a run.
func (c *cluster) keep(t *testing.T, m *api.Migration) {
	t.Helper()
	stored := m.DeepCopy()
	stored.TypeMeta = metav1.TypeMeta{APIVersion: api.GroupVersion.String(), Kind: "Migration"}
	stored.ObjectMeta = metav1.ObjectMeta{Namespace: m.Namespace, Name: m.Name, Annotations: m.Annotations}
	data, err := yaml.Marshal(stored)
	if err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.put(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: m.Namespace, Name: "sliceshift-" + m.Name, UID: "record", Labels: map[string]string{records.LabelKey: m.Name}},
		Data:       map[string]string{"migration.yaml": string(data)},
	})
}

// kept is what the record says now.
func (c *cluster) kept(t *testing.T) *api.Migration {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	m := &api.Migration{}
	if err := yaml.Unmarshal([]byte(c.maps["shop/sliceshift-web"].Data["migration.yaml"]), m); err != nil {
		t.Fatal(err)
	}
	return m
}

// kubeconfig names this cluster east, and one west that does not answer.
func (c *cluster) kubeconfig(t *testing.T) string {
	t.Helper()
	path := writeKubeconfig(t, "east", "west")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "kubeconfig")
	addresses := strings.NewReplacer("https://east.invalid:1", c.URL, "https://west.invalid:1", "http://127.0.0.1:1")
	if err := os.WriteFile(path, []byte(addresses.Replace(string(data))), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
