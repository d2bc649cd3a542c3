package clustertest

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"

	"github.com/sliceshift/sliceshift/internal/clusters"
)

// Pods is the part of an API server that gives access to the ports of its pods. It proxies requests, and forwards ports like
// a kubelet.
type Pods struct {
	// Ports holds the listen addresses of pod ports, by namespace/pod:port.
	Ports map[string]string
	// UIDs holds the UIDs of the existing pods, by namespace/pod.
	UIDs map[string]types.UID
	// Secrets holds the data of the existing Secrets, by namespace/name.
	Secrets map[string]map[string][]byte
	// Before answers a request itself if it returns true. It may be nil.
	Before func(http.ResponseWriter, *http.Request) bool
}

// Serve starts the API server, and returns the config for it.
func (p *Pods) Serve(t testing.TB) *rest.Config {
	t.Helper()
	server := httptest.NewUnstartedServer(p)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return &rest.Config{Host: server.URL, QPS: -1, BearerToken: "token", TLSClientConfig: rest.TLSClientConfig{CAData: authority}}
}

// Connect connects to the API server as cluster east.
func (p *Pods) Connect(t testing.TB) *clusters.Connection {
	t.Helper()
	east, err := clusters.Connect("east", p.Serve(t))
	if err != nil {
		t.Fatal(err)
	}
	return east
}

// Refuse answers with a Status of the API server itself.
func Refuse(w http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Audit-Id", "1")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message, //nolint:gosec // an HTTP code has three digits
	})
}

// ServeHTTP implements http.Handler.
func (p *Pods) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if p.Before != nil && p.Before(w, r) {
		return
	}
	w.Header().Set("Audit-Id", "1")
	path := strings.Split(strings.TrimPrefix(r.URL.Path, "/api/v1/namespaces/"), "/")
	switch {
	case r.URL.Path == "/api":
		writeJSON(w, metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}})
	case r.URL.Path == "/apis":
		writeJSON(w, metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: []metav1.APIGroup{}})
	case r.URL.Path == "/api/v1":
		writeJSON(w, metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: "v1", APIResources: []metav1.APIResource{
			{Name: "pods", Kind: "Pod", Namespaced: true, Verbs: metav1.Verbs{"get", "list"}},
			{Name: "secrets", Kind: "Secret", Namespaced: true, Verbs: metav1.Verbs{"get"}},
		}})
	case len(path) == 3 && path[1] == "pods":
		p.get(w, path[0], path[2])
	case len(path) == 3 && path[1] == "secrets":
		p.secret(w, path[0], path[2])
	case len(path) >= 4 && path[1] == "pods" && path[3] == "proxy":
		p.proxy(w, r, path)
	case len(path) == 4 && path[1] == "pods" && path[3] == "portforward":
		p.forward(w, r, path[0]+"/"+path[2])
	default:
		Refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound, "the server could not find the requested resource")
	}
}

func writeJSON(w http.ResponseWriter, object any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(object)
}

func (p *Pods) get(w http.ResponseWriter, namespace, name string) {
	uid, exists := p.UIDs[namespace+"/"+name]
	if !exists {
		Refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound, fmt.Sprintf("pods %q not found", name))
		return
	}
	writeJSON(w, corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: uid}})
}

func (p *Pods) secret(w http.ResponseWriter, namespace, name string) {
	data, exists := p.Secrets[namespace+"/"+name]
	if !exists {
		Refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound, fmt.Sprintf("secrets %q not found", name))
		return
	}
	writeJSON(w, corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: data})
}

// proxy forwards a request to scheme:pod:port.
func (p *Pods) proxy(w http.ResponseWriter, r *http.Request, path []string) {
	target := strings.Split(path[2], ":")
	address, exists := p.Ports[path[0]+"/"+strings.Join(target[1:], ":")]
	if !exists {
		address = "127.0.0.1:1" // no process listens on this address
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(pr *httputil.ProxyRequest) {
			pr.SetURL(&url.URL{Scheme: target[0], Host: address})
			pr.Out.URL.Path = "/" + strings.Join(path[4:], "/")
			pr.Out.Header.Del("Authorization")
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			Refuse(w, http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, "error trying to reach service: "+err.Error())
		},
	}
	proxy.ServeHTTP(w, r)
}

// forward forwards a port like a kubelet, with a data stream and an error stream.
func (p *Pods) forward(w http.ResponseWriter, r *http.Request, pod string) {
	if _, err := httpstream.Handshake(r, w, []string{"portforward.k8s.io"}); err != nil {
		return
	}
	opened := make(chan httpstream.Stream, 2)
	connection := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(stream httpstream.Stream, _ <-chan struct{}) error {
		opened <- stream
		return nil
	})
	if connection == nil {
		return
	}
	defer connection.Close()
	streams := map[string]httpstream.Stream{}
	for len(streams) < 2 {
		select {
		case stream := <-opened:
			streams[stream.Headers().Get(corev1.StreamType)] = stream
		case <-connection.CloseChan():
			return
		}
	}
	data, faults := streams[corev1.StreamTypeData], streams[corev1.StreamTypeError]
	port, _ := strconv.Atoi(data.Headers().Get(corev1.PortHeader))
	backend, err := net.Dial("tcp", p.Ports[pod+":"+strconv.Itoa(port)])
	if err != nil {
		fmt.Fprintf(faults, "error forwarding port %d to pod %s: %v", port, pod, err)
		faults.Close()
		data.Close()
		<-connection.CloseChan()
		return
	}
	defer backend.Close()
	faults.Close()
	go func() {
		_, _ = io.Copy(backend, data)
		backend.Close()
	}()
	_, _ = io.Copy(data, backend)
	data.Close()
	<-connection.CloseChan()
}
