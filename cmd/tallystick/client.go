package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"tallystick/api"
)

// remoteFlags say which server to ask, and as whom.
type remoteFlags struct {
	server, tokenFile string
}

func (r *remoteFlags) add(cmd *cobra.Command) { r.addTo(cmd.Flags()) }

// addTo adds them to a command's own flags, or to those of all below it.
func (r *remoteFlags) addTo(flags interface {
	StringVar(p *string, name, value, usage string)
}) {
	flags.StringVar(&r.server, "server", "http://127.0.0.1:8037", "address of the server")
	flags.StringVar(&r.tokenFile, "token-file", "", "file with the token to use")
}

func (r remoteFlags) client() (*client, error) {
	c := &client{base: strings.TrimRight(r.server, "/")}
	if r.tokenFile == "" {
		return nil, errors.New("a token is needed: --token-file")
	}
	text, err := os.ReadFile(r.tokenFile)
	if err != nil {
		return nil, err
	}
	c.token = strings.TrimSpace(string(text))
	return c, nil
}

// client speaks the public HTTP API, and nothing else.
type client struct {
	base, token string
}

// problem is an error answer (RFC 9457).
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
}

func (p *problem) Error() string { return fmt.Sprintf("%s (%d): %s", p.Title, p.Status, p.Detail) }

func (c *client) do(ctx context.Context, method, path string, body any, header http.Header) (*http.Response, error) {
	in, raw := body.(io.Reader)
	if body != nil && !raw {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		in = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, in)
	if err != nil {
		return nil, err
	}
	for name, values := range header {
		req.Header[name] = values
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	if body != nil && !raw {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode < 300 {
		return resp, nil
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return nil, err
	}
	p := problem{Title: http.StatusText(resp.StatusCode), Status: resp.StatusCode}
	if json.Unmarshal(text, &p) != nil {
		p.Detail = string(text)
	}
	return nil, &p
}

// get reads a JSON answer.
func (c *client) get(ctx context.Context, path string, into any) error {
	return c.call(ctx, http.MethodGet, path, nil, nil, into)
}

func (c *client) call(ctx context.Context, method, path string, body any, header http.Header, into any) error {
	resp, err := c.do(ctx, method, path, body, header)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return json.UnmarshalRead(resp.Body, into)
}

func (c *client) text(ctx context.Context, path string) ([]byte, error) {
	in, err := c.stream(ctx, path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return io.ReadAll(in)
}

func (c *client) stream(ctx context.Context, path string) (io.ReadCloser, error) {
	resp, err := c.do(ctx, http.MethodGet, path, nil, http.Header{"Accept": {"application/x-ndjson, text/plain, */*"}})
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

// answer is what the API says to a command.
type answer struct {
	Command string           `json:"command"`
	Records []jsontext.Value `json:"records"`
	Receipt string           `json:"receipt"`
	// Consistency leads from the size that was sent to the one in the receipt.
	Consistency *api.ConsistencyProof `json:"consistency"`
}

// command gives a command under a fresh key.
func (c *client) command(ctx context.Context, campaign, typ string, data any, faces ...int) (answer, error) {
	body := map[string]any{"type": typ, "data": data}
	if len(faces) > 0 {
		body["dice"] = map[string]any{"faces": faces}
	}
	key, err := uuid.NewV7()
	if err != nil {
		return answer{}, err
	}
	var a answer
	err = c.call(ctx, http.MethodPost, "/v1/campaigns/"+campaign+"/commands", body, http.Header{"Idempotency-Key": {key.String()}}, &a)
	if err != nil {
		return a, fmt.Errorf("%s: %w", typ, err)
	}
	return a, nil
}
