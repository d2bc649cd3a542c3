package health

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/internal/clusters/portforward"
)

// maxHeaders is the maximum size of the headers of an answer, in bytes.
const maxHeaders = 16 << 10

// faultWithin is how long to wait for the kubelet's error after a connection has ended.
const faultWithin = time.Second

// grpcAsker queries the gRPC health service of a pod.
type grpcAsker struct {
	gate  api.GRPCGate
	sides Sides
}

// Ask implements Asker.
func (a *grpcAsker) Ask(ctx context.Context, s Subject) Answer {
	side := a.sides.at(s.Side)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	tunnel := &tunnel{of: side.Connection, pod: client.ObjectKey{Namespace: s.Namespace, Name: s.Pod}, port: a.gate.Port}
	conn, err := grpc.NewClient("passthrough:///pod",
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return tunnel.dial(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithNoProxy(), grpc.WithDisableServiceConfig(), grpc.WithDisableRetry(),
		grpc.WithUserAgent("sliceshift"), grpc.WithMaxHeaderListSize(maxHeaders),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(clusters.MaxPodAnswer)))
	if err != nil {
		return because(api.ReasonGateInvalid, fmt.Sprintf("%s cannot be asked by gRPC: %v", s.pod(), err))
	}
	defer conn.Close()
	answer, err := healthv1.NewHealthClient(conn).Check(ctx, &healthv1.HealthCheckRequest{Service: a.gate.Service})
	if status.Code(err) == codes.Unavailable {
		if why := tunnel.trouble(ctx); why != nil {
			return unheard(s, fmt.Sprintf("port %d", a.gate.Port), "create", "pods/portforward", why)
		}
	}
	judged := a.judge(s, answer, err)
	if judged.Verdict == Unanswered {
		return judged
	}
	if doubt := samePod(ctx, side.Connection, s); doubt != nil {
		return *doubt
	}
	return judged
}

func (a *grpcAsker) judge(s Subject, answer *healthv1.HealthCheckResponse, err error) Answer {
	asked := fmt.Sprintf("%s on port %d", s.pod(), a.gate.Port)
	if a.gate.Service != "" {
		asked += fmt.Sprintf(", service %q,", a.gate.Service)
	}
	switch status.Code(err) {
	case codes.OK:
		if answer.GetStatus() == healthv1.HealthCheckResponse_SERVING {
			return passed("%s is SERVING", asked)
		}
		return because(api.ReasonGateFailed, fmt.Sprintf("%s is %s", asked, answer.GetStatus()))
	case codes.NotFound:
		return because(api.ReasonGateFailed, asked+" is not known to the server's health service")
	case codes.Unimplemented:
		return because(api.ReasonGateInvalid, asked+" has no health service (grpc.health.v1); ask http or cel, or another port")
	default:
		return because(api.ReasonGateUnanswered, fmt.Sprintf("%s gives no answer: %v", asked, err))
	}
}

// tunnel connects to a port of a pod, once for each question.
type tunnel struct {
	of   *clusters.Connection
	pod  client.ObjectKey
	port int32

	mu   sync.Mutex
	conn *portforward.Conn
	err  error
}

// dial connects for the duration of the question.
func (t *tunnel) dial(ctx context.Context) (net.Conn, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.conn != nil || t.err != nil {
		return nil, errors.New("the connection to the pod has ended")
	}
	t.conn, t.err = t.of.DialPod(ctx, t.pod, t.port)
	return t.conn, t.err
}

// trouble returns the reason why there was no connection, or why it ended.
func (t *tunnel) trouble(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.conn == nil {
		return t.err
	}
	ctx, cancel := context.WithTimeout(ctx, faultWithin)
	defer cancel()
	if said := t.conn.Fault(ctx); said != "" {
		return errors.New(said)
	}
	return nil
}
