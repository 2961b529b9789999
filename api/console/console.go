// Package console holds the table's web pages: HTML, CSS and ES modules that
// are served as they are written here.
//
// The pages use the public API and nothing else, load nothing from elsewhere,
// and run under a policy that allows no inline script or style. Everything a
// participant writes is shown as text. The package imports nothing of ours.
package console

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"sync"
)

//go:generate sh vendor/refresh.sh

//go:embed web
var web embed.FS

// Policy is the Content-Security-Policy of the pages: their own files, the API
// beside them, and no script that is made from text.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// Index is the name of the page that everything begins with.
const Index = "index.html"

// A File is one file of the pages.
type File struct {
	Name        string
	ContentType string
	ETag        string // changes with the bytes; quoted as the header wants it
	Body        []byte
	Gzip        []byte // the same, compressed
}

// contentTypes by the end of a name. A file of another kind is a fault of the program.
var contentTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
	".txt":  "text/plain; charset=utf-8",
}

// Find returns the file of that name, and false when there is none.
func Find(name string) (File, bool) {
	f, ok := files()[name]
	return f, ok
}

// files reads and compresses all files once, when the first is asked for.
var files = sync.OnceValue(func() map[string]File {
	all := map[string]File{}
	entries, err := fs.ReadDir(web, "web")
	if err != nil {
		panic("console: " + err.Error()) // it is part of the binary
	}
	for _, e := range entries {
		body, err := web.ReadFile("web/" + e.Name())
		if err != nil {
			panic("console: " + err.Error())
		}
		all[e.Name()] = newFile(e.Name(), body)
	}
	return all
})

func newFile(name string, body []byte) File {
	kind, known := contentTypes[path.Ext(name)]
	if !known {
		panic("console: " + name + " is of no kind that can be served")
	}
	hash := sha256.Sum256(body)
	return File{Name: name, ContentType: kind, ETag: fmt.Sprintf("%q", hex.EncodeToString(hash[:8])), Body: body, Gzip: compress(body)}
}

func compress(body []byte) []byte {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err == nil {
		_, err = w.Write(body)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic("console: " + err.Error()) // writing to memory does not fail
	}
	return b.Bytes()
}
