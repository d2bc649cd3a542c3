// Package apitest provides an API server for tests. It serves discovery, reads, writes and watches from a fake client.
package apitest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/sliceshift/sliceshift/internal/clusters"
)

// Server is an API server that serves a given set of resources.
type Server struct {
	*httptest.Server
	served map[schema.GroupVersion]map[string]string
	Store  client.WithWatch
	mu     sync.Mutex
	// writes lists the writes as "METHOD group/name", without dry runs.
	writes []string
	// NoController is true when no controller updates the status of created objects.
	NoController bool
	// Before is called before each request. If it returns an error, the server answers with that error.
	Before func(r *http.Request) error
	// Log answers requests for the logs of pods.
	Log http.HandlerFunc
}

// Serve starts an API server that serves these resources.
func Serve(t *testing.T, served map[schema.GroupVersion]map[string]string, objects ...client.Object) *Server {
	t.Helper()
	s := &Server{served: served, Store: fake.NewClientBuilder().WithScheme(clusters.NewScheme()).WithObjects(objects...).Build()}
	mux := http.NewServeMux()
	reply := func(pattern string, value any) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, value) })
	}
	reply("GET /api", metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}})
	groups := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	for version, resources := range served {
		if version.Group == "" {
			reply("GET /api/"+version.Version, resourceList(version, resources))
			continue
		}
		known := metav1.GroupVersionForDiscovery{GroupVersion: version.String(), Version: version.Version}
		groups.Groups = append(groups.Groups, metav1.APIGroup{Name: version.Group, Versions: []metav1.GroupVersionForDiscovery{known}, PreferredVersion: known})
		reply("GET /apis/"+version.String(), resourceList(version, resources))
	}
	reply("GET /apis", groups)
	for _, root := range []string{"/apis/{group}/{version}", "/api/{version}"} {
		mux.HandleFunc(root+"/namespaces/{namespace}/{resource}", s.many)
		mux.HandleFunc(root+"/namespaces/{namespace}/{resource}/{name}", s.one)
		mux.HandleFunc(root+"/{resource}", s.many)
		mux.HandleFunc(root+"/{resource}/{name}", s.one)
	}
	mux.HandleFunc("GET /api/v1/namespaces/{namespace}/pods/{name}/log", func(w http.ResponseWriter, r *http.Request) { s.Log(w, r) })
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound, r.URL.Path)
	})
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// clusterWide lists the kinds without a namespace.
var clusterWide = []string{"Namespace", "PersistentVolume", "VolumeAttachment", "StorageClass", "VolumeAttributesClass", "Node", "CSINode"}

func resourceList(version schema.GroupVersion, resources map[string]string) metav1.APIResourceList {
	list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: version.String()}
	for name, kind := range resources {
		list.APIResources = append(list.APIResources, metav1.APIResource{
			Name: name, SingularName: strings.ToLower(kind), Namespaced: !slices.Contains(clusterWide, kind), Kind: kind,
			Verbs: metav1.Verbs{"get", "list", "watch", "create", "update", "patch", "delete"},
		})
	}
	return list
}

// Kubeconfig returns a kubeconfig in which this server is context east, and a server that does not answer is west.
func (s *Server) Kubeconfig(t *testing.T) string {
	return s.KubeconfigWith(t, "http://127.0.0.1:1")
}

// KubeconfigWith returns a kubeconfig in which this server is context east, and the given address is west.
func (s *Server) KubeconfigWith(t *testing.T, west string) string {
	t.Helper()
	return Kubeconfig(t, map[string]string{"east": s.URL, "west": west})
}

// Wrote returns the writes that the server received.
func (s *Server) Wrote() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.writes...)
}

// KindOf returns the kind of the requested resource.
func (s *Server) KindOf(r *http.Request) schema.GroupVersionKind {
	version := schema.GroupVersion{Group: r.PathValue("group"), Version: r.PathValue("version")}
	return version.WithKind(s.served[version][r.PathValue("resource")])
}

// admit logs a write and reports whether the request may continue.
func (s *Server) admit(w http.ResponseWriter, r *http.Request, name string) bool {
	if s.Before != nil {
		if err := s.Before(r); err != nil {
			Fail(w, err)
			return false
		}
	}
	if r.Method != http.MethodGet && r.URL.Query().Get("dryRun") == "" {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.writes = append(s.writes, r.Method+" "+r.PathValue("group")+"/"+name)
	}
	return true
}

// Fail answers with the error of an API server.
func Fail(w http.ResponseWriter, err error) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		status = apierrors.NewInternalError(err)
	}
	text := status.Status()
	text.TypeMeta = kind("Status")
	answer(w, int(text.Code), text)
}

// many handles lists, watches and creates.
func (s *Server) many(w http.ResponseWriter, r *http.Request) {
	gvk, namespace := s.KindOf(r), client.InNamespace(r.PathValue("namespace"))
	selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil {
		Fail(w, apierrors.NewBadRequest(err.Error()))
		return
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	switch {
	case r.Method == http.MethodPost:
		body, _ := io.ReadAll(r.Body)
		object, err := s.decode(body)
		if err != nil {
			Fail(w, err)
			return
		}
		if !s.admit(w, r, object.GetName()) {
			return
		}
		opts := []client.CreateOption{writer(r)}
		if r.URL.Query().Get("dryRun") != "" {
			opts = append(opts, client.DryRunAll)
		} else {
			object.SetUID(types.UID("made-" + gvk.Group))
			s.takeOver(object)
		}
		finish(w, object, s.Store.Create(r.Context(), object, opts...))
	case r.URL.Query().Get("watch") != "":
		s.watch(w, r, list, namespace)
	case s.admit(w, r, ""):
		err := s.Store.List(r.Context(), list, namespace, client.MatchingLabelsSelector{Selector: selector})
		if list.GetResourceVersion() == "" {
			list.SetResourceVersion("1")
		}
		finish(w, list, err)
	}
}

// decode decodes a sent object. Clients send Kubernetes' own kinds as protobuf.
func (s *Server) decode(body []byte) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	if json.Valid(body) {
		return object, json.Unmarshal(body, &object.Object)
	}
	decoded, gvk, err := serializer.NewCodecFactory(s.Store.Scheme()).UniversalDeserializer().Decode(body, nil, nil)
	if err != nil {
		return nil, err
	}
	if object.Object, err = runtime.DefaultUnstructuredConverter.ToUnstructured(decoded); err == nil {
		object.SetGroupVersionKind(*gvk)
	}
	return object, err
}

// writer returns the field manager of a request.
func writer(r *http.Request) client.FieldOwner {
	return client.FieldOwner(r.URL.Query().Get("fieldManager"))
}

// takeOver sets the status of a created StatefulSet, as its controller would.
func (s *Server) takeOver(object *unstructured.Unstructured) {
	replicas, found, _ := unstructured.NestedFieldNoCopy(object.Object, "spec", "replicas")
	if object.GetKind() == "StatefulSet" && found && !s.NoController {
		object.Object["status"] = map[string]any{"observedGeneration": int64(1), "replicas": replicas}
	}
}

func (s *Server) watch(w http.ResponseWriter, r *http.Request, list *unstructured.UnstructuredList, opts ...client.ListOption) {
	if r.URL.Query().Get("sendInitialEvents") != "" {
		Fail(w, apierrors.NewBadRequest("sendInitialEvents is not served"))
		return
	}
	changes, err := s.Store.Watch(r.Context(), list, opts...)
	if err != nil {
		Fail(w, err)
		return
	}
	defer changes.Stop()
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	// The store cannot watch from a resourceVersion. Sending all objects covers every change since the list.
	if err := s.Store.List(r.Context(), list, opts...); err == nil {
		for i := range list.Items {
			_ = json.NewEncoder(w).Encode(map[string]any{"type": "MODIFIED", "object": &list.Items[i]})
		}
	}
	for {
		w.(http.Flusher).Flush()
		select {
		case <-r.Context().Done():
			return
		case event := <-changes.ResultChan():
			gvk := list.GroupVersionKind() // the store sends typed objects without apiVersion and kind
			event.Object.GetObjectKind().SetGroupVersionKind(gvk.GroupVersion().WithKind(strings.TrimSuffix(gvk.Kind, "List")))
			_ = json.NewEncoder(w).Encode(map[string]any{"type": event.Type, "object": event.Object})
		}
	}
}

// one handles reads, patches and deletes of one object.
func (s *Server) one(w http.ResponseWriter, r *http.Request) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(s.KindOf(r))
	object.SetNamespace(r.PathValue("namespace"))
	object.SetName(r.PathValue("name"))
	if !s.admit(w, r, object.GetName()) {
		return
	}
	body, _ := io.ReadAll(r.Body)
	switch r.Method {
	case http.MethodGet:
		finish(w, object, s.Store.Get(r.Context(), client.ObjectKeyFromObject(object), object))
	case http.MethodPatch:
		opts := []client.PatchOption{writer(r)}
		if r.URL.Query().Get("dryRun") != "" {
			opts = append(opts, client.DryRunAll)
		}
		finish(w, object, s.Store.Patch(r.Context(), object, client.RawPatch(types.PatchType(r.Header.Get("Content-Type")), body), opts...))
	case http.MethodPut:
		// Clients send Kubernetes' own kinds as protobuf.
		decoded, _, err := serializer.NewCodecFactory(s.Store.Scheme()).UniversalDeserializer().Decode(body, nil, nil)
		if err != nil {
			Fail(w, err)
			return
		}
		next, _ := decoded.(client.Object)
		finish(w, next, s.Store.Update(r.Context(), next))
	case http.MethodDelete:
		var options metav1.DeleteOptions
		if err := json.Unmarshal(body, &options); err != nil {
			Fail(w, err)
			return
		}
		if options.PropagationPolicy == nil || *options.PropagationPolicy != metav1.DeletePropagationOrphan {
			Fail(w, apierrors.NewBadRequest(fmt.Sprintf("the pods would be deleted: %s", body)))
			return
		}
		finish(w, object, s.Store.Delete(r.Context(), object, &client.DeleteOptions{Preconditions: options.Preconditions}))
	}
}

func finish(w http.ResponseWriter, value any, err error) {
	if err != nil {
		Fail(w, err)
		return
	}
	answer(w, http.StatusOK, value)
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

// Kubeconfig writes a kubeconfig with one context per entry of servers, which maps names to addresses. The first name is
// the current context.
func Kubeconfig(t *testing.T, servers map[string]string) string {
	t.Helper()
	contexts := slices.Sorted(maps.Keys(servers))
	var b strings.Builder
	b.WriteString("apiVersion: v1\nkind: Config\ncurrent-context: " + contexts[0] + "\nclusters:\n")
	for _, name := range contexts {
		b.WriteString("- {name: " + name + ", cluster: {server: '" + servers[name] + "'}}\n")
	}
	b.WriteString("contexts:\n")
	for _, name := range contexts {
		b.WriteString("- {name: " + name + ", context: {cluster: " + name + ", namespace: shop}}\n")
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// SilentKubeconfig writes a kubeconfig with contexts of the given names, at addresses that do not answer.
func SilentKubeconfig(t *testing.T, contexts ...string) string {
	t.Helper()
	servers := map[string]string{}
	for _, name := range contexts {
		servers[name] = "https://" + name + ".invalid:1"
	}
	return Kubeconfig(t, servers)
}
