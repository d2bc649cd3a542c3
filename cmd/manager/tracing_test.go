package main

import (
	"context"
	"net"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/handoffs"
)

// collecting is an OTLP collector that records spans.
type collecting struct {
	collector.UnimplementedTraceServiceServer
	spans chan string
}

func (c collecting) Export(_ context.Context, request *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	for _, of := range request.ResourceSpans {
		for _, scope := range of.ScopeSpans {
			for _, span := range scope.Spans {
				c.spans <- span.Name
			}
		}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

func collect(t *testing.T) (endpoint string, spans chan string) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	spans = make(chan string, 8)
	server := grpc.NewServer()
	collector.RegisterTraceServiceServer(server, collecting{spans: spans})
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return "http://" + listener.Addr().String(), spans
}

// ended returns a handoff that has arrived.
func ended() handoffs.Changes {
	of := handoffs.Handoff{Migration: "uid", Ordinal: 3, Direction: api.Forward, Start: time.Unix(1000, 0)}
	return handoffs.Changes{Of: of, Ended: &handoffs.Ending{Handoff: of, End: of.Start.Add(time.Second), Outcome: handoffs.Arrived}}
}

// TestTracing: spans are sent to the endpoint of the flag or the environment, the last ones when the manager ends.
// Without an endpoint no spans are sent.
func TestTracing(t *testing.T) {
	for name, set := range map[string]func(t *testing.T, endpoint string) (flag string){
		"by a flag": func(_ *testing.T, endpoint string) string { return endpoint },
		"by a variable": func(t *testing.T, endpoint string) string {
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
			return ""
		},
		"by that of spans": func(t *testing.T, endpoint string) string {
			t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", endpoint)
			return ""
		},
	} {
		t.Run(name, func(t *testing.T) {
			endpoint, spans := collect(t)
			recorder, finish, err := startTracing(t.Context(), set(t, endpoint))
			if err != nil {
				t.Fatal(err)
			}
			recorder.Record(&api.Migration{}, ended())
			finish()
			select {
			case span := <-spans:
				if span != "handoff Forward" {
					t.Errorf("got span %q", span)
				}
			default:
				t.Error("nothing was sent")
			}
		})
	}
	t.Run("off", func(t *testing.T) {
		recorder, finish, err := startTracing(t.Context(), "")
		if err != nil || recorder.Tracer != nil {
			t.Errorf("got %v, %v", recorder, err)
		}
		recorder.Record(&api.Migration{}, ended())
		finish()
	})
}
