package api

import (
	"context"
	"net/http"
	"strings"

	"tallystick/api/console"
)

// ConsolePath is where the files of the table console are.
const ConsolePath = "/console/"

type fileInput struct {
	Name     string `path:"file" doc:"name of the file"`
	Encoding string `header:"Accept-Encoding" doc:"gzip is given where it is taken"`
	Known    string `header:"If-None-Match" doc:"ETag of what the browser has"`
}

type indexInput struct {
	Encoding string `header:"Accept-Encoding" doc:"gzip is given where it is taken"`
	Known    string `header:"If-None-Match" doc:"ETag of what the browser has"`
}

// fileOutput is a file of the console.
type fileOutput struct {
	Status      int
	ContentType string `header:"Content-Type"`
	Encoding    string `header:"Content-Encoding"`
	ETag        string `header:"ETag"`
	Cache       string `header:"Cache-Control"`
	Vary        string `header:"Vary"`
	Policy      string `header:"Content-Security-Policy"`
	Body        []byte
}

func (s *Server) consoleRoutes() {
	handle(s, route{
		Method: http.MethodGet, Path: "/", ID: "home", Summary: "The table console",
		Doc: "Pages for people, which use this API and nothing else.", Content: content("text/html"),
	}, func(_ context.Context, in *indexInput) (*fileOutput, error) {
		return consoleFile(fileInput{console.Index, in.Encoding, in.Known})
	})
	handle(s, route{
		Method: http.MethodGet, Path: ConsolePath + "{file}", ID: "get-console-file", Summary: "A file of the table console",
		Content: content("text/html", "text/javascript", "text/css", "image/svg+xml", "text/plain"), Fails: []int{404},
	}, func(_ context.Context, in *fileInput) (*fileOutput, error) { return consoleFile(*in) })
}

func consoleFile(in fileInput) (*fileOutput, error) {
	f, ok := console.Find(in.Name)
	if !ok {
		return nil, newProblem("not-found", "there is no such file")
	}
	out := &fileOutput{
		Status: http.StatusOK, ContentType: f.ContentType, ETag: f.ETag, Policy: console.Policy,
		Cache: "no-cache", Vary: "Accept-Encoding", // asked for each time, so that a new program is a new page
	}
	switch {
	case in.Known == f.ETag:
		out.Status = http.StatusNotModified
	case strings.Contains(in.Encoding, "gzip"):
		out.Encoding, out.Body = "gzip", f.Gzip
	default:
		out.Body = f.Body
	}
	return out, nil
}
