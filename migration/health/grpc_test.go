package health

import (
	"net"
	"net/http"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters/clustertest"
)

// serveGRPC starts a server, and returns its address.
func serveGRPC(t *testing.T, register func(*grpc.Server)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	register(server)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return listener.Addr().String()
}

func TestGRPC(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close() })
	plain := appIn(t, "2", func(http.ResponseWriter, *http.Request) {})
	server := &clustertest.Pods{UIDs: map[string]types.UID{"shop/web-2": "2"}, Ports: map[string]string{
		"shop/web-2:50051": serveGRPC(t, func(s *grpc.Server) {
			states := health.NewServer()
			states.SetServingStatus("orders", healthv1.HealthCheckResponse_NOT_SERVING)
			healthv1.RegisterHealthServer(s, states)
		}),
		"shop/web-2:50052": serveGRPC(t, func(*grpc.Server) {}),
		"shop/web-2:8080":  plain.Ports["shop/web-2:8080"],
		"shop/web-2:9999":  silent.Addr().String(),
	}}
	sides := sidesOf(t, server)
	for name, tc := range map[string]struct {
		gate api.GRPCGate
		want want
	}{
		"serving":        {api.GRPCGate{Port: 50051}, good("pod shop/web-2 in cluster east on port 50051 is SERVING")},
		"not serving":    {api.GRPCGate{Port: 50051, Service: "orders"}, bad(`service "orders"`, "NOT_SERVING")},
		"unknown":        {api.GRPCGate{Port: 50051, Service: "payments"}, bad("is not known")},
		"no health":      {api.GRPCGate{Port: 50052}, wrong("has no health service")},
		"no gRPC":        {api.GRPCGate{Port: 8080}, none("gives no answer")},
		"nobody listens": {api.GRPCGate{Port: 9}, none("gives no answer at port 9", "error forwarding port 9")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.want.check(t, ask(t.Context(), t, api.HealthGate{GRPC: &tc.gate}, sides, web2))
		})
	}
	t.Run("silent", func(t *testing.T) {
		t.Parallel()
		none("gives no answer").check(t, ask(shortly(t), t, api.HealthGate{GRPC: &api.GRPCGate{Port: 9999}}, sides, web2))
	})
	t.Run("another pod", func(t *testing.T) {
		t.Parallel()
		other := web2
		other.PodUID = "3"
		none("has been replaced").check(t, ask(t.Context(), t, api.HealthGate{GRPC: &api.GRPCGate{Port: 50051}}, sides, other))
	})
}

func TestGRPCWithoutRight(t *testing.T) {
	t.Parallel()
	server := &clustertest.Pods{Before: func(w http.ResponseWriter, _ *http.Request) bool {
		clustertest.Refuse(w, http.StatusForbidden, metav1.StatusReasonForbidden, `pods "web-2" is forbidden: User "mover" cannot create resource "pods/portforward" in API group ""`)
		return true
	}}
	none("a permission is missing", "sliceshift-mover-gates", "create pods/portforward").check(t, ask(t.Context(), t, api.HealthGate{GRPC: &api.GRPCGate{Port: 50051}}, sidesOf(t, server), web2))
}
