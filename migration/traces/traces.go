// Package traces records each handoff as one OpenTelemetry trace: the handoff, and below it a span for each
// stay at a step.
//
// The ID of a trace, and that of its first span, are derived from the Migration's UID and the time at which the
// handoff began. A process that takes over a handoff continues the same trace.
package traces

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/handoffs"
)

// Scope is the name of the instrumentation.
const Scope = "github.com/sliceshift/sliceshift/migration"

// Keys of attributes.
const (
	NamespaceKey = attribute.Key("k8s.namespace.name")
	MigrationKey = attribute.Key("sliceshift.migration")
	OrdinalKey   = attribute.Key("sliceshift.ordinal")
	DirectionKey = attribute.Key("sliceshift.direction")
	OutcomeKey   = attribute.Key("sliceshift.outcome")
	AttemptsKey  = attribute.Key("sliceshift.attempts")
	// ReasonKey is the last reason to wait at a step. Each wait is also an event of its span.
	ReasonKey = attribute.Key("sliceshift.reason")
)

// Recorder records handoffs as spans. The zero value records nothing.
type Recorder struct {
	// Tracer must belong to a provider that uses Identifiers as its ID generator.
	Tracer trace.Tracer
}

// ID returns the ID of a handoff's trace in hexadecimal; empty if there is none.
func (r Recorder) ID(h handoffs.Handoff) string {
	if r.Tracer == nil {
		return ""
	}
	id, _ := idsOf(h)
	return id.String()
}

// Record records the changes that a pass has shown.
func (r Recorder) Record(m *api.Migration, changes handoffs.Changes) {
	if r.Tracer == nil || changes.Stay == nil && changes.Ended == nil {
		return
	}
	common := []attribute.KeyValue{
		NamespaceKey.String(m.Namespace), MigrationKey.String(m.Name),
		OrdinalKey.Int(int(changes.Of.Ordinal)), DirectionKey.String(string(changes.Of.Direction)),
	}
	ctx, root := r.Tracer.Start(withIDs(changes.Of), fmt.Sprintf("handoff %s", changes.Of.Direction),
		trace.WithNewRoot(), trace.WithTimestamp(changes.Of.Start), trace.WithAttributes(common...))
	if stay := changes.Stay; stay != nil {
		r.stay(ctx, *stay, common)
	}
	if ended := changes.Ended; ended != nil {
		root.SetAttributes(OutcomeKey.String(string(ended.Outcome)), AttemptsKey.Int(int(ended.Attempts)))
		if ended.Outcome != handoffs.Arrived {
			root.SetStatus(codes.Error, string(ended.Outcome))
		}
		root.End(trace.WithTimestamp(ended.End))
	}
	// A handoff that continues is started again with the same ID at its next record: a span that is not ended
	// is not exported.
}

func (r Recorder) stay(ctx context.Context, stay handoffs.Stay, common []attribute.KeyValue) {
	_, span := r.Tracer.Start(ctx, string(stay.Step), trace.WithTimestamp(stay.Start), trace.WithAttributes(common...),
		trace.WithAttributes(OutcomeKey.String(string(stay.Outcome))))
	for _, wait := range stay.Waits {
		span.AddEvent("waits", trace.WithTimestamp(wait.Time), trace.WithAttributes(ReasonKey.String(wait.Reason)))
		span.SetAttributes(ReasonKey.String(wait.Reason))
	}
	span.End(trace.WithTimestamp(stay.End))
}

// idsOf returns the IDs of a handoff's trace and of its first span.
func idsOf(h handoffs.Handoff) (id trace.TraceID, first trace.SpanID) {
	digest := sha256.Sum256(fmt.Appendf(nil, "%s/%d/%s/%d", h.Migration, h.Ordinal, h.Direction, h.Start.UnixMicro()))
	copy(id[:], digest[:16])
	copy(first[:], digest[16:24])
	return id, first
}

// idsKey is the context key for the handoff of the next new trace.
type idsKey struct{}

func withIDs(h handoffs.Handoff) context.Context {
	return context.WithValue(context.Background(), idsKey{}, h)
}

// Identifiers generates the IDs of spans; it is a sdk/trace.IDGenerator.
type Identifiers struct{}

// NewIDs returns the IDs of a new trace and of its first span.
func (g Identifiers) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	if h, of := ctx.Value(idsKey{}).(handoffs.Handoff); of {
		return idsOf(h)
	}
	var id trace.TraceID
	_, _ = rand.Read(id[:]) // it never fails
	return id, g.NewSpanID(ctx, id)
}

// NewSpanID returns the ID of a further span of a trace.
func (Identifiers) NewSpanID(context.Context, trace.TraceID) trace.SpanID {
	var id trace.SpanID
	_, _ = rand.Read(id[:]) // it never fails
	return id
}
