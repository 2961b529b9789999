package api

import (
	"archive/zip"
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humaecho"
	"github.com/labstack/echo/v4"

	"tallystick/api/ledger"
	"tallystick/projections"
)

// Files of a bundle, in the order in which they are written.
const (
	bundleEvents     = "events.jsonl"
	bundleCheckpoint = "checkpoint"
	bundleVKey       = "vkey"
)

// Limits of an import.
const (
	// MaxImport is the largest import in bytes, packed and unpacked.
	MaxImport = 1 << 30
	// maxNote is the largest checkpoint or key in a bundle.
	maxNote = 64 << 10
)

const importPath = "/v1/ledgers"

// Import is what became of an import.
type Import struct {
	Campaign string    `json:"campaign" doc:"id"`
	Records  int64     `json:"records" doc:"in the campaign now"`
	Appended int64     `json:"appended" doc:"by this import"`
	ReadOnly bool      `json:"read_only" doc:"another server has its signing key: it can be read, checked and exported here, and nothing is added"`
	GM       *NewToken `json:"gm,omitzero" doc:"of a campaign that was not here before"`
}

type importOutput struct {
	Status   int
	Location string `header:"Location"`
	Body     Import
}

type ledgerInput struct {
	InCampaign
	Accept string `header:"Accept" doc:"application/x-ndjson, or application/zip for the bundle"`
}

// uploadKey finds the request of a body that is read as it comes.
type uploadKey struct{}

func (s *Server) importRoutes() {
	binary := &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}
	handle(s, route{
		Method: http.MethodPost, Path: importPath, ID: "import-ledger", Summary: "Import a campaign",
		Doc: "A bundle as GET …/ledger gives it (application/zip). It is refused unless it verifies and its checkpoint covers all records. The records alone " +
			"(application/x-ndjson) can be held against a campaign that is here already; they add nothing to it, since nobody has signed them. A campaign that is here " +
			"already must be a beginning of the import, byte for byte; then only the rest is appended. A campaign whose signing key another server has " +
			"is read-only here.",
		Access: admin, Status: http.StatusCreated, Fails: []int{409, 413, 415, 422, 507},
		Upload: map[string]*huma.MediaType{mediaZip: binary, mediaNDJSON: binary},
	}, s.importLedger)
	handle(s, route{
		Method: http.MethodGet, Path: "/v1/campaigns/{campaign}/ledger", ID: "read-ledger", Summary: "All records as they are stored",
		Doc:    "One a line, in order: the bytes that the tree's leaves are made of. As application/zip the bundle: records, checkpoint and the key that verifies it.",
		Access: reader, Content: content(mediaNDJSON, mediaZip), Fails: []int{429},
	}, s.readLedger)
}

func (s *Server) readLedger(ctx context.Context, in *ledgerInput) (*huma.StreamResponse, error) {
	if err := s.look(ctx, in.Campaign); err != nil {
		return nil, err
	}
	q, err := s.query(ctx, &eventsInput{InCampaign: in.InCampaign}, mediaNDJSON)
	if err != nil {
		return nil, err
	}
	if choose(in.Accept, mediaNDJSON, mediaZip) == mediaNDJSON {
		return s.export(ctx, q)
	}
	var vkey string
	if err := s.view(ctx, in.Campaign, func(v *projections.Views) error { vkey = v.Campaign().VKey; return nil }); err != nil {
		return nil, err
	}
	checkpoint, err := s.cfg.Ledger.Checkpoint(ctx, in.Campaign, q.size)
	if err != nil && !errors.Is(err, ledger.ErrForeign) {
		return nil, err
	}
	free, err := s.exporting(ctx, in.Campaign)
	if err != nil {
		return nil, err
	}
	return s.streamed(mediaZip, func(ctx context.Context, out io.Writer) error {
		defer free()
		return s.bundle(ctx, out, q, checkpoint, vkey)
	}), nil
}

// bundle writes a zip whose bytes follow from the ledger alone.
func (s *Server) bundle(ctx context.Context, out io.Writer, q query, checkpoint []byte, vkey string) error {
	z := zip.NewWriter(out)
	w, err := z.Create(bundleEvents)
	if err != nil {
		return err
	}
	lines := bufio.NewWriterSize(w, 64<<10)
	if err := s.writeLines(ctx, lines, q); err != nil {
		return err
	}
	if err := lines.Flush(); err != nil {
		return err
	}
	for _, file := range []struct {
		name string
		text []byte
	}{{bundleCheckpoint, checkpoint}, {bundleVKey, []byte(vkey + "\n")}} {
		if file.text == nil {
			continue // nobody here can sign one
		}
		if w, err = z.Create(file.name); err == nil {
			_, err = w.Write(file.text)
		}
		if err != nil {
			return err
		}
	}
	return z.Close()
}

func (s *Server) importLedger(ctx context.Context, _ *struct{}) (*importOutput, error) {
	c, ok := ctx.Value(uploadKey{}).(echo.Context)
	if !ok {
		panic("api: an import without its request")
	}
	kind, _, err := mime.ParseMediaType(c.Request().Header.Get("Content-Type"))
	if err != nil || kind != mediaZip && kind != mediaNDJSON {
		return nil, newProblem("unsupported-media-type", "the header Content-Type must be application/zip or application/x-ndjson", FieldError{"header.Content-Type", "must be application/zip or application/x-ndjson"})
	}
	_ = http.NewResponseController(c.Response()).SetWriteDeadline(time.Time{}) // it takes as long as it takes
	dir, err := os.MkdirTemp("", "tallystick-import-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file, err := s.receive(c, dir)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	b, err := opened(file, kind, dir)
	if err != nil {
		return nil, err
	}
	if records, ok := b.Records.(io.Closer); ok {
		defer records.Close()
	}
	free, err := s.alone(ctx)
	if err != nil {
		return nil, err
	}
	done, err := s.cfg.Ledger.Import(ctx, b)
	free()
	if err != nil {
		return nil, err
	}
	out := &importOutput{Status: http.StatusOK, Location: "/v1/campaigns/" + done.Campaign, Body: Import{
		Campaign: done.Campaign, Records: done.Records, Appended: done.Appended, ReadOnly: done.ReadOnly,
	}}
	if !done.New {
		return out, nil
	}
	out.Status = http.StatusCreated
	token, err := s.issue(ctx, done.Campaign, done.GM)
	if left := new(Problem); errors.As(err, &left) && left.Type == ProblemPath+"has-left" {
		return out, nil // the first game master takes part no more: the admin token reads the campaign
	}
	out.Body.GM = &token
	return out, err
}

// receive writes the body of a request to a file, giving every piece its own
// time to arrive.
func (s *Server) receive(c echo.Context, dir string) (*os.File, error) {
	file, err := os.CreateTemp(dir, "body-")
	if err != nil {
		return nil, err
	}
	n, err := io.Copy(file, io.LimitReader(unhurried{c, s.timing.read}, MaxImport+1))
	switch {
	case err != nil && errors.Is(err, os.ErrDeadlineExceeded):
		err = problemOfStatus(http.StatusRequestTimeout, "the body stopped coming")
	case n > MaxImport:
		err = newProblem("too-large", fmt.Sprintf("an import has at most %d bytes", MaxImport))
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// unhurried reads a body of any length: only a pause in it is bounded.
type unhurried struct {
	c     echo.Context
	pause time.Duration
}

func (u unhurried) Read(b []byte) (int, error) {
	_ = http.NewResponseController(u.c.Response()).SetReadDeadline(time.Now().Add(u.pause))
	return u.c.Request().Body.Read(b)
}

// opened reads what was received as a bundle.
func opened(file *os.File, kind, dir string) (ledger.Bundle, error) {
	info, err := file.Stat()
	if err != nil {
		return ledger.Bundle{}, err
	}
	if kind == mediaNDJSON {
		return ledger.Bundle{Records: file, Size: info.Size()}, nil
	}
	z, err := zip.NewReader(file, info.Size())
	if err != nil {
		return ledger.Bundle{}, malformed("body", "is not a zip file")
	}
	b := ledger.Bundle{}
	if b.Checkpoint, err = note(z, bundleCheckpoint); err != nil {
		return b, err
	}
	key, err := note(z, bundleVKey)
	if err != nil {
		return b, err
	}
	b.VKey = strings.TrimSpace(string(key))
	b.Records, b.Size, err = unpacked(z, dir)
	return b, err
}

// note reads a small file of a bundle; nil when there is none.
func note(z *zip.Reader, name string) ([]byte, error) {
	in, err := z.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, malformed("body", "cannot be unpacked: "+name)
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, maxNote+1))
	if err != nil || len(text) > maxNote {
		return nil, malformed("body", "cannot be unpacked: "+name)
	}
	return text, nil
}

// unpacked writes the records of a bundle to a file, which goes with its
// folder.
func unpacked(z *zip.Reader, dir string) (io.ReaderAt, int64, error) {
	in, err := z.Open(bundleEvents)
	if err != nil {
		return nil, 0, malformed("body", "has no "+bundleEvents)
	}
	defer in.Close()
	file, err := os.CreateTemp(dir, "records-")
	if err != nil {
		return nil, 0, err
	}
	n, err := io.Copy(file, io.LimitReader(in, MaxImport+1))
	switch {
	case err != nil:
		return nil, 0, errors.Join(malformed("body", "cannot be unpacked: "+bundleEvents), file.Close())
	case n > MaxImport:
		return nil, 0, errors.Join(newProblem("too-large", fmt.Sprintf("an import has at most %d bytes", MaxImport)), file.Close())
	}
	return file, n, nil
}

// upload hands the request itself to the handler, which reads the body as it
// comes.
func upload(ctx huma.Context, next func(huma.Context)) {
	next(huma.WithValue(ctx, uploadKey{}, humaecho.Unwrap(ctx)))
}
