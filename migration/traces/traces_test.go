package traces

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/handoffs"
)

// process returns the recorder of a process, with an exporter that outlives it.
func process(exporter sdktrace.SpanExporter, sampler sdktrace.Sampler) Recorder {
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter), sdktrace.WithIDGenerator(Identifiers{}), sdktrace.WithSampler(sampler))
	return Recorder{Tracer: provider.Tracer(Scope)}
}

var (
	start = time.Unix(1_000_000, 123_456_000).UTC()
	of    = handoffs.Handoff{Migration: "uid", Ordinal: 4, Direction: api.Forward, Start: start}
	moved = &api.Migration{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "uid"}}
)

func stay(step api.Step, from, to int, reasons ...string) handoffs.Changes {
	s := &handoffs.Stay{Step: step, Start: start.Add(time.Duration(from) * time.Second), End: start.Add(time.Duration(to) * time.Second), Outcome: handoffs.Done}
	for _, reason := range reasons {
		s.Waits = append(s.Waits, handoffs.Wait{Reason: reason, Time: s.Start})
	}
	return handoffs.Changes{Current: &of, Of: of, Stay: s}
}

func last() handoffs.Changes {
	changes := stay(api.StepAwaitReadiness, 5, 9, "PodMissing", "PodNotReady")
	changes.Current = nil
	changes.Ended = &handoffs.Ending{Handoff: of, End: start.Add(9 * time.Second), Outcome: handoffs.Arrived, Attempts: 2}
	return changes
}

func attributes(span tracetest.SpanStub) map[attribute.Key]string {
	all := map[attribute.Key]string{}
	for _, each := range span.Attributes {
		all[each.Key] = each.Value.String()
	}
	return all
}

// TestOneTrace: a handoff is one trace with a span for each step, even if another process than the one that
// began it ends it.
func TestOneTrace(t *testing.T) {
	exporter := tracetest.NewInMemoryExporter()
	process(exporter, sdktrace.AlwaysSample()).Record(moved, stay(api.StepAwaitRelease, 1, 5, "PodTerminating"))
	process(exporter, sdktrace.AlwaysSample()).Record(moved, last())
	spans := exporter.GetSpans()
	if len(spans) != 3 {
		t.Fatalf("got %d spans, want two steps and the handoff", len(spans))
	}
	root := spans[2]
	if root.Parent.IsValid() || root.SpanContext.TraceID().String() != (Recorder{Tracer: process(exporter, sdktrace.AlwaysSample()).Tracer}).ID(of) {
		t.Errorf("the handoff is %s below %s", root.SpanContext.TraceID(), root.Parent.SpanID())
	}
	if !root.StartTime.Equal(start) || !root.EndTime.Equal(start.Add(9*time.Second)) {
		t.Errorf("the handoff is from %s to %s", root.StartTime, root.EndTime)
	}
	var names []string
	for _, span := range spans {
		names = append(names, span.Name)
		if span.SpanContext.TraceID() != root.SpanContext.TraceID() {
			t.Errorf("%s is of another trace", span.Name)
		}
		if span.Name != root.Name && span.Parent.SpanID() != root.SpanContext.SpanID() {
			t.Errorf("%s is not below the handoff", span.Name)
		}
	}
	if diff := cmp.Diff([]string{"AwaitRelease", "AwaitReadiness", "handoff Forward"}, names); diff != "" {
		t.Error(diff)
	}
	want := map[attribute.Key]string{
		NamespaceKey: "shop", MigrationKey: "web", OrdinalKey: "4", DirectionKey: "Forward", OutcomeKey: "done", ReasonKey: "PodNotReady",
	}
	if diff := cmp.Diff(want, attributes(spans[1])); diff != "" {
		t.Error(diff)
	}
	if len(spans[1].Events) != 2 {
		t.Errorf("got %d waits", len(spans[1].Events))
	}
	delete(want, ReasonKey)
	want[OutcomeKey], want[AttemptsKey] = "arrived", "2"
	if diff := cmp.Diff(want, attributes(root)); diff != "" {
		t.Error(diff)
	}
}

// TestSampled: either all spans of a handoff are exported or none, regardless of the process that records them.
func TestSampled(t *testing.T) {
	exporter := tracetest.NewInMemoryExporter()
	half := sdktrace.ParentBased(sdktrace.TraceIDRatioBased(0.5))
	const all = 64
	for i := range all {
		one := of
		one.Ordinal = int32(i)
		first, end := stay(api.StepAwaitRelease, 1, 5), last()
		first.Of, end.Of, end.Ended.Handoff = one, one, one
		process(exporter, half).Record(moved, first)
		process(exporter, half).Record(moved, end)
	}
	traces := map[string]int{}
	for _, span := range exporter.GetSpans() {
		traces[span.SpanContext.TraceID().String()]++
	}
	if len(traces) == 0 || len(traces) == all {
		t.Errorf("%d of %d were sent", len(traces), all)
	}
	for id, n := range traces {
		if n != 3 {
			t.Errorf("of trace %s %d of 3 spans were sent", id, n)
		}
	}
}

// TestIdentifiers: no two handoffs share a trace.
func TestIdentifiers(t *testing.T) {
	other := []handoffs.Handoff{of, of, of, of, of}
	other[1].Migration, other[2].Ordinal, other[3].Direction, other[4].Start = "another", 5, api.Back, start.Add(time.Microsecond)
	seen := map[string]bool{}
	recorder := process(tracetest.NewInMemoryExporter(), sdktrace.AlwaysSample())
	for _, each := range other {
		seen[recorder.ID(each)] = true
	}
	if len(seen) != len(other) {
		t.Errorf("%d ids of %d handoffs", len(seen), len(other))
	}
	if id := (Recorder{}).ID(of); id != "" {
		t.Errorf("without a tracer the id is %q", id)
	}
}
