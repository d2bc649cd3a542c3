package move

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/grpc"
	grpchealth "google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/cluster"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/internal/clusters/clustertest"
	"github.com/sliceshift/sliceshift/migration/health"
)

// TestGatesAskPods: gates reach a pod through a real API server only with the shipped role. An error of the API
// server does not count as an answer of the pod.
func TestGatesAskPods(t *testing.T) {
	t.Parallel()
	j := startJudged(t, "gates-pods")
	j.must(j.StopRole(cluster.Kwok)) // the test runs its own kubelet
	j.namespace("shop")
	pod, ports := j.podThatServes()
	j.bind("shop", "sliceshift-mover-gates", "mover")
	j.eventually("the mover has its rights", func(ctx context.Context) error {
		return j.as("mover").Get(ctx, client.ObjectKeyFromObject(pod), &corev1.Pod{})
	})
	j.token()
	j.bind("shop", "view", "stranger")
	j.eventually("the stranger has none", func(ctx context.Context) error {
		return j.as("stranger").Get(ctx, client.ObjectKeyFromObject(pod), &corev1.Pod{})
	})
	subject := health.Subject{
		Side: api.GateDestination, Cluster: "gates-pods", Namespace: "shop", StatefulSet: "web", Pod: pod.Name, PodUID: pod.UID, Ordinal: new(int32(2)), Point: api.GateAfterStart,
	}
	web := func(path string, statuses ...int32) api.HealthGate {
		return api.HealthGate{HTTP: &api.HTTPGate{Port: ports.http, Path: path, ExpectedStatus: statuses}}
	}
	private := func(key string) api.HealthGate {
		return api.HealthGate{HTTP: &api.HTTPGate{Port: ports.http, Path: "/private", BearerTokenSecretRef: &api.GateSecretReference{Name: "token", Key: key}}}
	}
	other := subject
	other.PodUID = "another"
	for name, tc := range map[string]struct {
		user    string
		gate    api.HealthGate
		subject health.Subject
		verdict health.Verdict
		says    string
	}{
		"http":                           {"mover", web("/ready"), subject, health.Passed, "HTTP 200"},
		"http, bad":                      {"mover", web("/sick"), subject, health.Failed, "lag 40s"},
		"http, bad as expected":          {"mover", web("/sick", 503), subject, health.Passed, "HTTP 503"},
		"http, a redirect":               {"mover", web("/away"), subject, health.Failed, "HTTP 302"},
		"http, not there":                {"mover", web("/gone", 404), subject, health.Passed, "HTTP 404"},
		"http, nobody listens":           {"mover", api.HealthGate{HTTP: &api.HTTPGate{Port: 1, ExpectedStatus: []int32{503}}}, subject, health.Unanswered, "gives no answer at port 1"},
		"http, another pod":              {"mover", web("/ready"), other, health.Unanswered, "has been replaced"},
		"http, without the right":        {"stranger", web("/ready", 403), subject, health.Unanswered, "sliceshift-mover-gates"},
		"http, a token":                  {"mover", private("value"), subject, health.Passed, "HTTP 200"},
		"http, an old token":             {"mover", private("old"), subject, health.Unanswered, "rejects the credential from Secret shop/token"},
		"http, a token, without a right": {"stranger", private("value"), subject, health.Unanswered, "--resource=secrets --resource-name=token"},
		"grpc":                           {"mover", api.HealthGate{GRPC: &api.GRPCGate{Port: ports.grpc}}, subject, health.Passed, "SERVING"},
		"grpc, bad":                      {"mover", api.HealthGate{GRPC: &api.GRPCGate{Port: ports.grpc, Service: "orders"}}, subject, health.Failed, "NOT_SERVING"},
		"grpc, nobody listens":           {"mover", api.HealthGate{GRPC: &api.GRPCGate{Port: 1}}, subject, health.Unanswered, "error forwarding port 1"},
		"grpc, without the right":        {"stranger", api.HealthGate{GRPC: &api.GRPCGate{Port: ports.grpc}}, subject, health.Unanswered, "sliceshift-mover-gates"},
		"cel":                            {"mover", celOf("Pod", "${pod}", "object.status.phase == 'Running' && ordinal == 2"), subject, health.Passed, "is true"},
		"cel, without the right":         {"mover", celOf("Secret", "a", "true"), subject, health.Unanswered, "a permission is missing"},
		"cel, a kind that is not served": {"mover", celOf("Pot", "a", "true"), subject, health.Invalid, "no such kind"},
	} {
		j.run(name, func(j judged) {
			asker, err := health.New(tc.gate, j.sidesOf(tc.user))
			j.must(err)
			got := asker.Ask(j.t.Context(), tc.subject)
			if got.Verdict != tc.verdict || !strings.Contains(got.Message, tc.says) {
				j.t.Errorf("got %s: %s, want %s: %s", got.Verdict, got.Message, tc.verdict, tc.says)
			}
		})
	}
}

func celOf(kind, name, expression string) api.HealthGate {
	return api.HealthGate{CEL: &api.CELGate{Objects: api.GateObjects{APIVersion: "v1", Kind: kind, Name: name}, Expression: expression}}
}

// sidesOf returns sides that are both in this cluster, as a user sees it.
func (j judged) sidesOf(user string) health.Sides {
	j.t.Helper()
	config := j.RESTConfig()
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
	connection, err := clusters.Connect("gates-pods", config)
	j.must(err)
	side := health.Side{Connection: connection, Namespace: "shop", StatefulSet: "web"}
	return health.Sides{Source: side, Destination: side}
}

// ports are the ports of a pod.
type ports struct{ http, grpc int32 }

// podThatServes creates a pod whose ports are open at an address of this machine, on a node whose kubelet
// forwards them.
func (j judged) podThatServes() (*corev1.Pod, ports) {
	j.t.Helper()
	address := ownAddress(j.t)
	app := j.listen(address)
	server := &http.Server{Handler: http.HandlerFunc(serveHealth)} //nolint:gosec // a test asks it
	go func() { _ = server.Serve(app) }()
	j.t.Cleanup(func() { server.Close() })
	states := grpchealth.NewServer()
	states.SetServingStatus("orders", healthv1.HealthCheckResponse_NOT_SERVING)
	rpc, orders := j.listen("127.0.0.1"), grpc.NewServer()
	healthv1.RegisterHealthServer(orders, states)
	go func() { _ = orders.Serve(rpc) }()
	j.t.Cleanup(orders.Stop)
	open := ports{portOf(j.t, app), portOf(j.t, rpc)}
	kubelet := j.kubelet(map[string]string{
		fmt.Sprintf("shop/web-2:%d", open.grpc): rpc.Addr().String(), fmt.Sprintf("shop/web-2:%d", open.http): app.Addr().String(),
	})

	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "served"}}
	j.must(j.client.Create(j.t.Context(), node))
	bare := node.DeepCopy() // Kubernetes controllers write the node concurrently
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}}
	node.Status.DaemonEndpoints.KubeletEndpoint.Port = kubelet
	j.must(j.client.Status().Patch(j.t.Context(), node, client.MergeFrom(bare)))
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-2"},
		Spec:       corev1.PodSpec{NodeName: node.Name, AutomountServiceAccountToken: new(false), Containers: []corev1.Container{{Name: "web", Image: "web"}}},
	}
	j.eventually("the pod is let in", func(ctx context.Context) error { return j.client.Create(ctx, pod) })
	created := pod.DeepCopy()
	pod.Status.Phase, pod.Status.PodIP, pod.Status.PodIPs = corev1.PodRunning, address, []corev1.PodIP{{IP: address}}
	j.must(j.client.Status().Patch(j.t.Context(), pod, client.MergeFrom(created)))
	return pod, open
}

// theToken is the token that the application expects at /private.
const theToken = "abc.DEF-1"

// token creates the Secret with that token, which the mover may read.
func (j judged) token() {
	j.t.Helper()
	ctx, meta := j.t.Context(), metav1.ObjectMeta{Namespace: "shop", Name: "token"}
	j.must(j.client.Create(ctx, &corev1.Secret{ObjectMeta: meta, StringData: map[string]string{"value": theToken, "old": "abc.DEF-0"}}))
	j.must(j.client.Create(ctx, &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"token"}, Verbs: []string{"get"}},
	}}))
	j.must(j.client.Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "token"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "mover"}},
	}))
	j.eventually("the mover may read it", func(ctx context.Context) error {
		return j.as("mover").Get(ctx, client.ObjectKey{Namespace: "shop", Name: "token"}, &corev1.Secret{})
	})
}

func serveHealth(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/ready":
		fmt.Fprint(w, "ready")
	case "/away":
		http.Redirect(w, r, "/ready", http.StatusFound)
	case "/private":
		if r.Header.Get("Authorization") != "Bearer "+theToken {
			w.WriteHeader(http.StatusUnauthorized)
		}
	case "/sick":
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, "lag 40s")
	default:
		http.NotFound(w, r)
	}
}

// kubelet starts a kubelet that forwards ports, and returns its port.
func (j judged) kubelet(open map[string]string) int32 {
	j.t.Helper()
	pods := &clustertest.Pods{Ports: open}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		namespace, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/portForward/"), "/")
		r.URL.Path = "/api/v1/namespaces/" + namespace + "/pods/" + name + "/portforward"
		pods.ServeHTTP(w, r)
	}))
	j.t.Cleanup(server.Close)
	return portOf(j.t, server.Listener)
}

func (j judged) listen(address string) net.Listener {
	j.t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(j.t.Context(), "tcp", net.JoinHostPort(address, "0"))
	j.must(err)
	return listener
}

func portOf(t *testing.T, listener net.Listener) int32 {
	t.Helper()
	_, text, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return int32(port)
}

// ownAddress returns an address of this machine that is valid for a pod. The API server does not proxy to
// loopback addresses.
func ownAddress(t *testing.T) string {
	t.Helper()
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, each := range addresses {
		if network, is := each.(*net.IPNet); is && network.IP.To4() != nil && network.IP.IsGlobalUnicast() {
			return network.IP.String()
		}
	}
	t.Fatal("this machine has no address of IPv4 but loopback")
	return ""
}
