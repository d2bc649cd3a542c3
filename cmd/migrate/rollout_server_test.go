package main

import (
	"context"
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

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/sliceshift/sliceshift/internal/clusters"
	slicesapi "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// sliceServer is an API server that keeps StatefulSets of both kinds and
// ControllerRevisions, or what else is served.
type sliceServer struct {
	*httptest.Server
	served map[schema.GroupVersion]map[string]string
	store  client.WithWatch
	mu     sync.Mutex
	// writes are "METHOD group/name", less those of a dry run.
	writes []string
	// untaken is true when no controller looks after what is created.
	untaken bool
	// before is asked before each request; an error is its answer.
	before func(r *http.Request) error
}

// served are the resources that it knows, by group and version.
var servedResources = map[schema.GroupVersion]map[string]string{
	appsv1.SchemeGroupVersion:             {"statefulsets": "StatefulSet", "controllerrevisions": "ControllerRevision"},
	slicesapi.GroupVersion:                {"statefulsets": "StatefulSet"},
	{Group: "autoscaling", Version: "v2"}: {"horizontalpodautoscalers": "HorizontalPodAutoscaler"},
}

// kruiseResources are those of a cluster with OpenKruise.
func kruiseResources() map[schema.GroupVersion]map[string]string {
	served := maps.Clone(servedResources)
	served[schema.GroupVersion{Version: "v1"}] = map[string]string{"pods": "Pod"}
	served[kruiseVersion] = map[string]string{"statefulsets": "StatefulSet"}
	return served
}

func newSliceServer(t *testing.T, objects ...client.Object) *sliceServer {
	t.Helper()
	return serve(t, servedResources, objects...)
}

// serve starts an API server that serves these resources.
func serve(t *testing.T, served map[schema.GroupVersion]map[string]string, objects ...client.Object) *sliceServer {
	t.Helper()
	s := &sliceServer{served: served, store: fake.NewClientBuilder().WithScheme(clusters.NewScheme()).WithObjects(objects...).Build()}
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
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound, r.URL.Path)
	})
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// clusterWide are the kinds without a namespace.
var clusterWide = []string{"Namespace", "PersistentVolume", "VolumeAttachment"}

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

// kubeconfig names this server east.
func (s *sliceServer) kubeconfig(t *testing.T) string {
	return (&cluster{Server: s.Server}).kubeconfig(t)
}

func (s *sliceServer) wrote() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.writes...)
}

// kindOf is the kind that a request is about.
func (s *sliceServer) kindOf(r *http.Request) schema.GroupVersionKind {
	version := schema.GroupVersion{Group: r.PathValue("group"), Version: r.PathValue("version")}
	return version.WithKind(s.served[version][r.PathValue("resource")])
}

// admit logs a write, and says whether the request may go on.
func (s *sliceServer) admit(w http.ResponseWriter, r *http.Request, name string) bool {
	if s.before != nil {
		if err := s.before(r); err != nil {
			fail(w, err)
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

// fail answers with the error of an API server.
func fail(w http.ResponseWriter, err error) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		status = apierrors.NewInternalError(err)
	}
	text := status.Status()
	text.TypeMeta = kind("Status")
	answer(w, int(text.Code), text)
}

// many lists, watches and creates.
func (s *sliceServer) many(w http.ResponseWriter, r *http.Request) {
	gvk, namespace := s.kindOf(r), client.InNamespace(r.PathValue("namespace"))
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	switch {
	case r.Method == http.MethodPost:
		object := &unstructured.Unstructured{}
		body, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(body, &object.Object); err != nil {
			fail(w, err)
			return
		}
		if !s.admit(w, r, object.GetName()) {
			return
		}
		var opts []client.CreateOption
		if r.URL.Query().Get("dryRun") != "" {
			opts = append(opts, client.DryRunAll)
		} else {
			object.SetUID(types.UID("made-" + gvk.Group))
			s.takeOver(object)
		}
		finish(w, object, s.store.Create(r.Context(), object, opts...))
	case r.URL.Query().Get("watch") != "":
		s.watch(w, r, list, namespace)
	case s.admit(w, r, ""):
		err := s.store.List(r.Context(), list, namespace)
		if list.GetResourceVersion() == "" {
			list.SetResourceVersion("1")
		}
		finish(w, list, err)
	}
}

// takeOver plays the controller of a StatefulSet that is created beside its pods.
func (s *sliceServer) takeOver(object *unstructured.Unstructured) {
	replicas, found, _ := unstructured.NestedFieldNoCopy(object.Object, "spec", "replicas")
	if object.GetKind() == "StatefulSet" && found && !s.untaken {
		object.Object["status"] = map[string]any{"observedGeneration": int64(1), "replicas": replicas}
	}
}

func (s *sliceServer) watch(w http.ResponseWriter, r *http.Request, list *unstructured.UnstructuredList, opts ...client.ListOption) {
	if r.URL.Query().Get("sendInitialEvents") != "" {
		fail(w, apierrors.NewBadRequest("sendInitialEvents is not served"))
		return
	}
	changes, err := s.store.Watch(r.Context(), list, opts...)
	if err != nil {
		fail(w, err)
		return
	}
	defer changes.Stop()
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	// The store cannot begin at a resourceVersion: what changed since the list is told
	// by telling all of it.
	if err := s.store.List(r.Context(), list, opts...); err == nil {
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
			gvk := list.GroupVersionKind() // the store tells of typed objects, which do not say what they are
			event.Object.GetObjectKind().SetGroupVersionKind(gvk.GroupVersion().WithKind(strings.TrimSuffix(gvk.Kind, "List")))
			_ = json.NewEncoder(w).Encode(map[string]any{"type": event.Type, "object": event.Object})
		}
	}
}

// one reads, patches and deletes.
func (s *sliceServer) one(w http.ResponseWriter, r *http.Request) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(s.kindOf(r))
	object.SetNamespace(r.PathValue("namespace"))
	object.SetName(r.PathValue("name"))
	if !s.admit(w, r, object.GetName()) {
		return
	}
	body, _ := io.ReadAll(r.Body)
	switch r.Method {
	case http.MethodGet:
		finish(w, object, s.store.Get(r.Context(), client.ObjectKeyFromObject(object), object))
	case http.MethodPatch:
		var opts []client.PatchOption
		if r.URL.Query().Get("dryRun") != "" {
			opts = append(opts, client.DryRunAll)
		}
		finish(w, object, s.store.Patch(r.Context(), object, client.RawPatch(types.PatchType(r.Header.Get("Content-Type")), body), opts...))
	case http.MethodPut:
		// Kinds of Kubernetes itself come as protobuf.
		decoded, _, err := serializer.NewCodecFactory(s.store.Scheme()).UniversalDeserializer().Decode(body, nil, nil)
		if err != nil {
			fail(w, err)
			return
		}
		next, _ := decoded.(client.Object)
		finish(w, next, s.store.Update(r.Context(), next))
	case http.MethodDelete:
		var options metav1.DeleteOptions
		if err := json.Unmarshal(body, &options); err != nil {
			fail(w, err)
			return
		}
		if options.PropagationPolicy == nil || *options.PropagationPolicy != metav1.DeletePropagationOrphan {
			fail(w, apierrors.NewBadRequest(fmt.Sprintf("the pods would be deleted: %s", body)))
			return
		}
		finish(w, object, s.store.Delete(r.Context(), object, &client.DeleteOptions{Preconditions: options.Preconditions}))
	}
}

func finish(w http.ResponseWriter, value any, err error) {
	if err != nil {
		fail(w, err)
		return
	}
	answer(w, http.StatusOK, value)
}

// slice is what is kept of shop/web of our kind.
func (s *sliceServer) slice(t *testing.T) *slicesapi.StatefulSet {
	t.Helper()
	set := &slicesapi.StatefulSet{}
	if err := s.store.Get(context.WithoutCancel(t.Context()), client.ObjectKey{Namespace: "shop", Name: "web"}, set); err != nil {
		t.Fatal(err)
	}
	return set
}

// inTemp runs a test in a directory of its own, and says which files it leaves there.
func inTemp(t *testing.T) (files func() []string) {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	return func() []string {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, entry := range entries {
			names = append(names, filepath.Base(entry.Name()))
		}
		return names
	}
}

// begin executes the command line beside the test, and ends it with the test: the
// server that is closed then waits for what is watched.
func (c *console) begin(t *testing.T) (code <-chan int) {
	t.Helper()
	ended := make(chan int, 1)
	go func() { ended <- execute(t.Context(), c.environment) }()
	return ended
}
