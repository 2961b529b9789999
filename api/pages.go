package api

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

//go:embed pages.css
var pageStyle string

//go:embed pages.html
var pageText string

// pages are the few pages of the API itself. Templates escape what they show.
var pages = template.Must(template.New("pages").Funcs(template.FuncMap{
	"style": func() template.CSS { return template.CSS(pageStyle) },
}).Parse(pageText))

// page policy: nothing but the page's own style sheet, known by its hash.
var pagePolicy = func() string {
	hash := sha256.Sum256([]byte(pageStyle))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) + "'; frame-ancestors 'none'"
}()

// pageOutput is a page for people.
type pageOutput struct {
	ContentType string `header:"Content-Type"`
	Policy      string `header:"Content-Security-Policy"`
	Body        []byte
}

func htmlPage(body []byte) *pageOutput {
	return &pageOutput{"text/html; charset=utf-8", pagePolicy, body}
}

type problemInput struct {
	Slug string `path:"slug" doc:"last part of a problem's type"`
}

func (s *Server) pageRoutes() {
	html := content("text/html")
	handle(s, route{Method: http.MethodGet, Path: "/docs", ID: "docs", Summary: "This API as a page", Content: html},
		func(context.Context, *struct{}) (*pageOutput, error) {
			body, err := s.docs()
			return htmlPage(body), err
		})
	handle(s, route{Method: http.MethodGet, Path: "/openapi.json", ID: "openapi", Summary: "This API as an OpenAPI 3.1 document", Content: content("application/openapi+json")},
		func(context.Context, *struct{}) (*text, error) {
			document, err := s.document()
			return &text{"application/openapi+json", document}, err
		})
	handle(s, route{Method: http.MethodGet, Path: ProblemPath + "{slug}", ID: "get-problem", Summary: "What a kind of problem means", Content: html, Fails: []int{404}},
		func(_ context.Context, in *problemInput) (*pageOutput, error) {
			i := slices.IndexFunc(kinds, func(k kind) bool { return k.Slug == in.Slug })
			if i < 0 {
				return nil, newProblem("not-found", "there is no such kind of problem")
			}
			body, err := render("problem", kinds[i])
			return htmlPage(body), err
		})
}

func render(name string, data any) ([]byte, error) { return renderWith(pages, name, data) }

func renderWith(set *template.Template, name string, data any) ([]byte, error) {
	var b bytes.Buffer
	if err := set.ExecuteTemplate(&b, name, data); err != nil {
		return nil, fmt.Errorf("render the page %s: %w", name, err)
	}
	return b.Bytes(), nil
}

// operationDoc is a route as the page about the API shows it.
type operationDoc struct {
	Method, Path, ID, Summary, Description string
	Open                                   bool // needs no token
	Parameters                             []parameterDoc
	Body                                   template.HTML // type of the request's body
	Responses                              []responseDoc
}

type parameterDoc struct {
	Name, In, Doc string
	Type          template.HTML
	Required      bool
}

type responseDoc struct {
	Status string
	Types  []string
	Schema template.HTML
}

type schemaDoc struct {
	Name, Doc string
	Type      template.HTML
	Members   []parameterDoc
}

// docsPage makes the page about the API from its OpenAPI document.
func docsPage(doc *huma.OpenAPI) ([]byte, error) {
	var operations []operationDoc
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		item := doc.Paths[path]
		for _, m := range []struct {
			name string
			op   *huma.Operation
		}{{"GET", item.Get}, {"POST", item.Post}, {"DELETE", item.Delete}} {
			if m.op != nil {
				operations = append(operations, describe(m.name, path, m.op))
			}
		}
	}
	var schemas []schemaDoc
	all := doc.Components.Schemas.Map()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		schemas = append(schemas, describeSchema(name, all[name]))
	}
	return render("docs", map[string]any{"Info": doc.Info, "Operations": operations, "Schemas": schemas, "Problems": kinds})
}

func describe(method, path string, op *huma.Operation) operationDoc {
	d := operationDoc{Method: method, Path: path, ID: op.OperationID, Summary: op.Summary, Description: op.Description, Open: len(op.Security) == 0}
	for _, p := range op.Parameters {
		d.Parameters = append(d.Parameters, parameterDoc{Name: p.Name, In: p.In, Doc: cmp.Or(p.Description, p.Schema.Description), Type: typeOf(p.Schema), Required: p.Required})
	}
	if op.RequestBody != nil {
		d.Body = template.HTML(template.HTMLEscapeString(strings.Join(slices.Sorted(maps.Keys(op.RequestBody.Content)), ", ")))
		if body, ok := op.RequestBody.Content["application/json"]; ok {
			d.Body = typeOf(body.Schema)
		}
	}
	for _, status := range slices.Sorted(maps.Keys(op.Responses)) {
		r := responseDoc{Status: status, Types: slices.Sorted(maps.Keys(op.Responses[status].Content))}
		for _, t := range r.Types {
			r.Schema = typeOf(op.Responses[status].Content[t].Schema)
		}
		d.Responses = append(d.Responses, r)
	}
	return d
}

func describeSchema(name string, s *huma.Schema) schemaDoc {
	d := schemaDoc{Name: name, Doc: s.Description, Type: typeOf(s)}
	for _, member := range slices.Sorted(maps.Keys(s.Properties)) {
		m := s.Properties[member]
		d.Members = append(d.Members, parameterDoc{Name: member, Doc: m.Description, Type: typeOf(m), Required: slices.Contains(s.Required, member)})
	}
	return d
}

// typeOf writes a schema in a few words, with links to the named ones.
func typeOf(s *huma.Schema) template.HTML {
	switch {
	case s == nil:
		return ""
	case s.Ref != "":
		name := template.HTMLEscapeString(s.Ref[strings.LastIndex(s.Ref, "/")+1:])
		return template.HTML(`<a href="#schema-` + name + `">` + name + `</a>`)
	case len(s.Enum) > 0:
		return oneOf(s.Enum)
	case len(s.OneOf)+len(s.AnyOf)+len(s.AllOf) > 0:
		var parts []string
		for _, part := range slices.Concat(s.OneOf, s.AnyOf, s.AllOf) {
			parts = append(parts, string(typeOf(part)))
		}
		return template.HTML(strings.Join(parts, " or "))
	case s.Type == huma.TypeArray:
		return "list of " + typeOf(s.Items)
	case s.Type == huma.TypeObject:
		if values, ok := s.AdditionalProperties.(*huma.Schema); ok {
			return "object of " + typeOf(values)
		}
		return "object"
	case s.Type == "":
		return "any JSON"
	}
	return template.HTML(template.HTMLEscapeString(s.Type))
}

func oneOf(values []any) template.HTML {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = "<code>" + template.HTMLEscapeString(fmt.Sprint(v)) + "</code>"
	}
	return template.HTML(strings.Join(words, " or "))
}
