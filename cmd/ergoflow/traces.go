package main

import (
	"context"
	"errors"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/ergoflow/ergoflow/internal/tracing"
)

// addTraces adds the flag of the collector of traces.
func addTraces(cmd *cobra.Command, endpoint *string) {
	cmd.Flags().StringVar(endpoint, "otlp", "", "`ADDRESS` of a collector of OpenTelemetry for traces, HOST:PORT or a URL (default: that of OTEL_EXPORTER_OTLP_ENDPOINT, else none)")
}

// openTraces opens the tracer of a process. stop sends the last spans.
func openTraces(ctx context.Context, endpoint, service string, log *slog.Logger) (t *tracing.Tracer, stop func(), err error) {
	t, err = tracing.Open(ctx, endpoint, service, log)
	if errors.Is(err, tracing.ErrEndpoint) {
		return nil, nil, withHint(usagef("--otlp: %w", err), "for example --otlp 127.0.0.1:4317")
	}
	if err != nil {
		return nil, nil, err
	}
	return t, func() {
		if err := t.Close(); err != nil {
			log.Warn("the last spans are lost", "error", err)
		}
	}, nil
}
