package move

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/internal/loopback"
	"github.com/sliceshift/sliceshift/migration/traces"
)

// traceCollector receives spans.
type traceCollector struct {
	collector.UnimplementedTraceServiceServer

	mu    sync.Mutex
	spans []*tracepb.Span
}

func (c *traceCollector) Export(_ context.Context, request *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, of := range request.ResourceSpans {
		for _, scope := range of.ScopeSpans {
			c.spans = append(c.spans, scope.Spans...)
		}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

// handoffs returns the spans of handoffs by trace id, and the steps below them.
func (c *traceCollector) handoffs() (roots map[string]*tracepb.Span, steps map[string][]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	roots, steps = map[string]*tracepb.Span{}, map[string][]string{}
	for _, span := range c.spans {
		id := hex.EncodeToString(span.TraceId)
		if len(span.ParentSpanId) == 0 {
			roots[id] = span
			continue
		}
		steps[id] = append(steps[id], span.Name)
	}
	return roots, steps
}

func ordinalOf(span *tracepb.Span) int64 {
	for _, each := range span.Attributes {
		if each.Key == string(traces.OrdinalKey) {
			return each.Value.GetIntValue()
		}
	}
	return -1
}

func collectTraces(t *testing.T) (endpoint string, into *traceCollector) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	into = &traceCollector{}
	server := grpc.NewServer()
	collector.RegisterTraceServiceServer(server, into)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return "http://" + listener.Addr().String(), into
}

// plainMetrics reads the metrics of a manager that serves them without authentication.
func plainMetrics(ctx context.Context, address string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	return string(data), err
}

// TestObserved: the manager is killed during a move. Each handoff is still one trace. The metrics show the
// progress and are removed with the Migration, and the log reports each action once.
func TestObserved(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(3), harness.AcrossClusters)
	c := v.Managed()
	endpoint, spans := collectTraces(t)
	address := loopback.AddressFor(t)
	process := harness.NewManager(t, v.App.Namespace, "manager.log")
	process.Args = append(append(process.Args, harness.Hasty...), "--otlp-endpoint", endpoint, "--metrics-bind-address", address, "--metrics-secure=false")
	process.Env = append(process.Env, "OTEL_BSP_SCHEDULE_DELAY=100")
	process.Run()
	v.Must(c.Create(v.Ctx, v.Migration))
	v.Eventually("the second ordinal is on its way", func(ctx context.Context) (bool, error) {
		m := &api.Migration{}
		err := c.Get(ctx, client.ObjectKeyFromObject(v.Migration), m)
		return m.Status.Moved > 0 && m.Status.Handoff != nil || m.Status.Moved > 1, err
	})
	process.Kill()
	process.Start()
	v.awaitMoved(c)

	labels := fmt.Sprintf("{name=%q,namespace=%q}", v.Migration.Name, v.App.Namespace)
	served := func(want bool) func(context.Context) (bool, error) {
		return func(ctx context.Context) (bool, error) {
			page, err := plainMetrics(ctx, address)
			return strings.Contains(page, "sliceshift_migration_ordinals_moved"+labels+" 3") == want, err
		}
	}
	v.Eventually("the metrics say that all have moved", served(true))
	page, err := plainMetrics(v.Ctx, address)
	v.Must(err)
	for _, name := range []string{
		"sliceshift_migration_handoffs_completed_total", "sliceshift_migration_handoff_duration_seconds_bucket", "sliceshift_migration_handoff_step_duration_seconds_bucket",
		"sliceshift_migration_writes_total", "sliceshift_cluster_requests_total", `sliceshift_migrations{destination="west",state="completed"} 1`,
	} {
		if !strings.Contains(page, name) {
			t.Errorf("the metrics lack %s", name)
		}
	}
	v.Eventually("each handoff is told of", func(context.Context) (bool, error) {
		roots, _ := spans.handoffs()
		return len(roots) >= 2, nil // spans that are not sent yet are lost when the process is killed
	})
	v.Must(c.Delete(v.Ctx, v.Migration))
	v.Eventually("the metrics of the Migration are gone", served(false))

	roots, steps := spans.handoffs()
	seen := map[int64]bool{}
	for id, root := range roots {
		ordinal := ordinalOf(root)
		if seen[ordinal] {
			t.Errorf("ordinal %d has two traces", ordinal)
		}
		seen[ordinal] = true
		if !strings.Contains(strings.Join(steps[id], " "), string(api.StepAwaitReadiness)) {
			t.Errorf("the trace of ordinal %d has the steps %v", ordinal, steps[id])
		}
	}
	log, err := os.ReadFile(process.Log.Name())
	v.Must(err)
	for id, root := range roots {
		if n := strings.Count(string(log), fmt.Sprintf(`msg="handoff ended" migration=%s/%s ordinal=%d direction=Forward traceID=%s`, v.App.Namespace, v.Migration.Name, ordinalOf(root), id)); n != 1 {
			t.Errorf("the log says %d times that ordinal %d has arrived", n, ordinalOf(root))
		}
	}
}
