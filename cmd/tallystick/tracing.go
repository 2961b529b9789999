package main

import (
	"context"
	"os"
	"time"

	"go.opentelemetry.io/otel"

	"tallystick/api/telemetry"
)

// lastSpans bounds the sending of what is left when the program ends.
const lastSpans = 5 * time.Second

// traced gives a node a tracer if the OTEL_* variables of the environment ask
// for one. The function it returns sends what is left.
func traced(ctx context.Context, cfg *nodeConfig) (stop func(), err error) {
	tracer, shutdown, err := telemetry.NewTracer(ctx, version(), os.Getenv)
	if err != nil {
		return nil, &codeError{exitUnusable, err}
	}
	if tracer == nil {
		return func() {}, nil
	}
	cfg.Tracer = tracer
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { cfg.Log.Warn("traces", "error", err) }))
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastSpans)
		defer cancel()
		if err := shutdown(ctx); err != nil {
			cfg.Log.Warn("traces", "error", err)
		}
	}, nil
}
