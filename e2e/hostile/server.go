// Package hostile is an API server for tests: it answers as Kubernetes does, or in any other way that a test
// chooses.
//
// It stores objects of some resources, runs StatefulSets and binds claims, so a migration can use it as source
// and destination. A test adds its own objects, and hooks that answer a request in place of the server.
package hostile

import (
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Object is an API object in its JSON form.
type Object = map[string]any

// Hook may answer a request and reports whether it did.
type Hook func(w http.ResponseWriter, r *http.Request) bool

// Token is the token in the kubeconfigs of all servers. No other server may ever receive it.
const Token = "token-for-the-hostile-server"

// Server is the API server of a malicious tenant.
type Server struct {
	*httptest.Server

	mu       sync.Mutex
	objects  map[string]map[string]Object
	version  int64
	watchers map[*watcher]struct{}
	hooks    []Hook
	asked    []string
	// faceless lists the objects that have neither a UID nor a resourceVersion, by resource and name.
	faceless map[string]bool
	// done is closed when the server stops, so that no request keeps waiting.
	done chan struct{}
}

// Start starts a server, which runs until Stop is called.
func Start() *Server {
	s := &Server{objects: map[string]map[string]Object{}, watchers: map[*watcher]struct{}{}, faceless: map[string]bool{}, done: make(chan struct{})}
	s.Put("namespaces", Object{"metadata": Object{"name": "kube-system"}})
	s.Server = httptest.NewUnstartedServer(s)
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // drops the errors of clients that disconnect
	s.StartTLS()
	return s
}

// Stop ends all requests that are still being answered.
func (s *Server) Stop() {
	close(s.done)
	s.CloseClientConnections()
	s.Close()
}

// Done returns a channel that is closed when the server stops.
func (s *Server) Done() <-chan struct{} { return s.done }

// Kubeconfig returns a kubeconfig for the server.
func (s *Server) Kubeconfig() []byte {
	config := clientcmdapi.NewConfig()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	config.Clusters["it"] = &clientcmdapi.Cluster{Server: s.URL, CertificateAuthorityData: authority}
	config.AuthInfos["it"] = &clientcmdapi.AuthInfo{Token: Token}
	config.Contexts["it"] = &clientcmdapi.Context{Cluster: "it", AuthInfo: "it"}
	config.CurrentContext = "it"
	data, err := clientcmd.Write(*config)
	if err != nil {
		panic(err) // the config was built here
	}
	return data
}

// Hook adds a hook, which is called before the hooks that were added earlier.
func (s *Server) Hook(hook Hook) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hooks = append([]Hook{hook}, s.hooks...)
}

// Asked returns the requests so far, each as verb and path.
func (s *Server) Asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.asked...)
}

// Put stores an object of a resource with the next resourceVersion. It adds a missing UID and
// creationTimestamp.
func (s *Server) Put(resource string, object Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(resource, object)
	s.settle()
}

// Swap replaces an object silently: its resourceVersion remains, and no watch receives an event.
func (s *Server) Swap(resource string, object Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	metadata := metadataOf(object)
	s.objects[resource][key(text(metadata["namespace"]), text(metadata["name"]))] = object
}

// Faceless makes the server return an object without namespace with an empty UID and an empty resourceVersion
// from now on.
func (s *Server) Faceless(resource, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faceless[resource+"/"+name] = true
}

// Remove deletes an object.
func (s *Server) Remove(resource, namespace, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(resource, key(namespace, name))
}

// Find returns a copy of an object, or nil if it does not exist.
func (s *Server) Find(resource, namespace, name string) Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	if found := s.objects[resource][key(namespace, name)]; found != nil {
		return clone(found)
	}
	return nil
}

// All returns copies of all objects of a resource.
func (s *Server) All(resource string) []Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Object
	for _, object := range s.objects[resource] {
		all = append(all, clone(object))
	}
	return all
}

// put stores an object with the next resourceVersion and notifies the watchers.
func (s *Server) put(resource string, object Object) {
	known := resources[resource]
	object["apiVersion"], object["kind"] = known.version, known.kind
	metadata := metadataOf(object)
	id := key(text(metadata["namespace"]), text(metadata["name"]))
	event := "MODIFIED"
	if s.objects[resource][id] == nil {
		event = "ADDED"
	}
	if text(metadata["uid"]) == "" {
		metadata["uid"] = string(uuid.NewUUID())
	}
	if text(metadata["creationTimestamp"]) == "" {
		metadata["creationTimestamp"] = "2026-01-01T00:00:00Z"
	}
	s.version++
	metadata["resourceVersion"] = strconv.FormatInt(s.version, 10)
	if s.faceless[resource+"/"+text(metadata["name"])] {
		metadata["uid"], metadata["resourceVersion"] = "", ""
	}
	if s.objects[resource] == nil {
		s.objects[resource] = map[string]Object{}
	}
	s.objects[resource][id] = object
	s.tell(resource, event, object)
}

func (s *Server) remove(resource, id string) {
	object := s.objects[resource][id]
	delete(s.objects[resource], id)
	s.version++
	metadataOf(object)["resourceVersion"] = strconv.FormatInt(s.version, 10)
	s.tell(resource, "DELETED", object)
}

func key(namespace, name string) string { return namespace + "/" + name }

func text(value any) string {
	s, _ := value.(string)
	return s
}

// in returns the map stored under a name of another map, and creates it if it is missing.
func in(object Object, name string) Object {
	inner, ok := object[name].(Object)
	if !ok {
		inner = Object{}
		object[name] = inner
	}
	return inner
}

func metadataOf(object Object) Object { return in(object, "metadata") }

func clone(object Object) Object {
	data, err := json.Marshal(object)
	if err != nil {
		panic(err) // the object is JSON
	}
	var copied Object
	if err := json.Unmarshal(data, &copied); err != nil {
		panic(err)
	}
	return copied
}

// number returns a JSON number as int, regardless of its Go type.
func number(value any) int {
	switch n := value.(type) {
	case float64:
		return int(n)
	case int:
		return n
	}
	return 0
}

// merge applies a merge patch (RFC 7396).
func merge(object, patch Object) {
	for name, value := range patch {
		inner, isMap := value.(Object)
		switch {
		case value == nil:
			delete(object, name)
		case isMap:
			merge(in(object, name), inner)
		default:
			object[name] = value
		}
	}
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked = append(s.asked, r.Method+" "+r.URL.Path)
	hooks := append([]Hook{}, s.hooks...)
	s.mu.Unlock()
	for _, hook := range hooks {
		if hook(w, r) {
			return
		}
	}
	if s.discovery(w, r) {
		return
	}
	asked, ok := parse(r.URL.Path)
	if !ok {
		Refuse(w, http.StatusNotFound, "NotFound", "there is no such resource")
		return
	}
	s.answer(w, r, asked)
}

// JSON answers a request with this status code and object.
func JSON(w http.ResponseWriter, code int, object any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(object) // the client may have disconnected
}

// Refuse answers with a Kubernetes Status.
func Refuse(w http.ResponseWriter, code int, reason, message string) {
	JSON(w, code, Object{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code, "message": message})
}

// On returns a hook for requests with this method whose path begins and ends like this.
func On(method, prefix, suffix string, answer http.HandlerFunc) Hook {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != method || !strings.HasPrefix(r.URL.Path, prefix) || !strings.HasSuffix(r.URL.Path, suffix) {
			return false
		}
		answer(w, r)
		return true
	}
}

// Always returns a hook for all requests.
func Always(answer http.HandlerFunc) Hook {
	return func(w http.ResponseWriter, r *http.Request) bool {
		answer(w, r)
		return true
	}
}

// Silent answers nothing until the client disconnects or the server stops.
func (s *Server) Silent(_ http.ResponseWriter, r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-s.done:
	}
}

// copyOf returns a shallow copy of a map.
func copyOf(object Object) Object { return maps.Clone(object) }
