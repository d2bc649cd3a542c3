package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/sliceshift/sliceshift/internal/version"
	"github.com/sliceshift/sliceshift/migration/traces"
)

// flushAtMost is how long a manager waits at its end until the last spans are sent.
const flushAtMost = 5 * time.Second

// startTracing returns a recorder of handoffs as traces, and a function that flushes the last spans. If neither a flag
// nor the environment names an endpoint, both do nothing.
func startTracing(ctx context.Context, endpoint string) (traces.Recorder, func(), error) {
	var options []otlptracegrpc.Option
	switch {
	case endpoint != "":
		options = append(options, otlptracegrpc.WithEndpointURL(endpoint))
	case os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") == "" && os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") == "":
		return traces.Recorder{}, func() {}, nil
	}
	log := ctrl.Log.WithName("traces")
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		log.Info("traces were not sent; moves go on without", "message", err.Error())
	}))
	exporter, err := otlptracegrpc.New(ctx, options...)
	if err != nil {
		return traces.Recorder{}, nil, fmt.Errorf("sending traces by OTLP: %w", err)
	}
	about, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(
		attribute.String("service.name", "sliceshift-manager"), attribute.String("service.version", version.Get().Version),
	), resource.WithFromEnv())
	if err != nil {
		return traces.Recorder{}, nil, fmt.Errorf("reading OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about), sdktrace.WithIDGenerator(traces.Identifiers{}))
	return traces.Recorder{Tracer: provider.Tracer(traces.Scope)}, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushAtMost)
		defer cancel()
		if err := provider.Shutdown(ctx); err != nil {
			otel.Handle(err)
		}
	}, nil
}
