package telemetry

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// scope is the name under which this program makes spans.
const scope = "tallystick"

// StartSpan begins a span inside the one of the context. Without one there, or
// when nobody records it, it does nothing and costs nothing.
func StartSpan(ctx context.Context, name string) (context.Context, trace.Span) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx, noop.Span{}
	}
	return parent.TracerProvider().Tracer(scope).Start(ctx, name)
}

// NewTracer makes a tracer that sends spans by OTLP over HTTP, as the OTEL_*
// variables of the environment say; look reads them. It is nil, without an
// error, unless they name an endpoint. shutdown sends what is left. The errors
// name the variable.
func NewTracer(ctx context.Context, version string, look func(string) string) (tracer trace.Tracer, shutdown func(context.Context) error, err error) {
	to, err := readCollector(look)
	if to == nil || err != nil {
		return nil, nil, err
	}
	exporter, err := otlptrace.New(ctx, to)
	if err != nil {
		return nil, nil, err
	}
	about, err := resource.New(ctx,
		resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", scope), attribute.String("service.version", version)),
		resource.WithFromEnv(), // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES win
	)
	if err != nil {
		return nil, nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	provider := sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithResource(about))
	return provider.Tracer(scope), provider.Shutdown, nil
}

// collector sends spans to one address. It stands in for otlptracehttp, which
// would bring gRPC along.
type collector struct {
	url     string
	header  http.Header
	timeout time.Duration // of one batch, all tries together
	gzip    bool
	client  *http.Client
}

// sends is how often a batch is tried while the collector says that it is busy.
const sends = 4

// readCollector reads the variables of the OTLP exporter; nil when spans go
// nowhere.
func readCollector(look func(string) string) (*collector, error) {
	value := func(name string) (string, string) {
		own := "OTEL_EXPORTER_OTLP_TRACES_" + name
		if v := look(own); v != "" {
			return v, own
		}
		return look("OTEL_EXPORTER_OTLP_" + name), "OTEL_EXPORTER_OTLP_" + name
	}
	endpoint, name := value("ENDPOINT")
	if endpoint == "" || strings.EqualFold(look("OTEL_SDK_DISABLED"), "true") || look("OTEL_TRACES_EXPORTER") == "none" {
		return nil, nil
	}
	if exporter := look("OTEL_TRACES_EXPORTER"); exporter != "" && exporter != "otlp" {
		return nil, fmt.Errorf("OTEL_TRACES_EXPORTER is %q: must be otlp or none", exporter)
	}
	if protocol, name := value("PROTOCOL"); protocol != "" && protocol != "http/protobuf" {
		return nil, fmt.Errorf("%s is %q: must be http/protobuf", name, protocol)
	}
	address, err := url.Parse(endpoint)
	if err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https" {
		return nil, fmt.Errorf("%s must be an address that begins with http:// or https://", name)
	}
	if name == "OTEL_EXPORTER_OTLP_ENDPOINT" {
		address = address.JoinPath("v1/traces")
	}
	c := &collector{url: address.String(), header: http.Header{}, timeout: 10 * time.Second}
	if headers, name := value("HEADERS"); headers != "" {
		if c.header, err = readHeaders(headers); err != nil {
			return nil, fmt.Errorf("%s %w", name, err)
		}
	}
	if millis, name := value("TIMEOUT"); millis != "" {
		n, err := strconv.Atoi(millis)
		if err != nil || n <= 0 {
			return nil, fmt.Errorf("%s is %q: must be milliseconds", name, millis)
		}
		c.timeout = time.Duration(n) * time.Millisecond
	}
	switch compression, name := value("COMPRESSION"); compression {
	case "", "none":
	case "gzip":
		c.gzip = true
	default:
		return nil, fmt.Errorf("%s is %q: must be gzip or none", name, compression)
	}
	c.client = http.DefaultClient
	if file, name := value("CERTIFICATE"); file != "" {
		if c.client, err = trusting(file); err != nil {
			return nil, fmt.Errorf("%s is %q: %w", name, file, err)
		}
	}
	return c, nil
}

// readHeaders reads name=value pairs. Its error does not repeat them: they may
// be secret.
func readHeaders(text string) (http.Header, error) {
	header := http.Header{}
	for pair := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || err != nil {
			return nil, errors.New("must be pairs name=value with commas between them")
		}
		header.Set(strings.TrimSpace(name), value)
	}
	return header, nil
}

// trusting is a client that trusts the authorities in a file, and no other.
func trusting(file string) (*http.Client, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, errors.New("there is no certificate in it")
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	return &http.Client{Transport: transport}, nil
}

// Start implements otlptrace.Client.
func (c *collector) Start(context.Context) error { return nil }

// Stop implements otlptrace.Client.
func (c *collector) Stop(context.Context) error {
	c.client.CloseIdleConnections()
	return nil
}

// UploadTraces implements otlptrace.Client. TracesData has the form of the
// request of the protocol, whose own type comes with gRPC.
func (c *collector) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil {
		return fmt.Errorf("send spans: %w", err)
	}
	if c.gzip {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		w.Write(body) // to memory: it cannot fail
		w.Close()
		body = packed.Bytes()
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	pause := 250 * time.Millisecond
	for try := 1; ; try++ {
		again, err := c.send(ctx, body)
		if err == nil || !again || try == sends {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-time.After(pause):
			pause *= 2
		}
	}
}

// send sends a batch once. again says that another try may do.
func (c *collector) send(ctx context.Context, body []byte) (again bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return false, fmt.Errorf("send spans: %w", err)
	}
	req.Header = c.header.Clone()
	req.Header.Set("Content-Type", "application/x-protobuf")
	if c.gzip {
		req.Header.Set("Content-Encoding", "gzip")
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return true, fmt.Errorf("send spans: %w", err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // so that the connection is used again
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		again = true
	}
	if resp.StatusCode/100 != 2 {
		return again, fmt.Errorf("send spans: the collector answers %d", resp.StatusCode)
	}
	return false, nil
}
