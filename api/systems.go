package api

import (
	"context"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"tallystick/projections"
	"tallystick/rules"
)

// SystemItem is a rule system in a list.
type SystemItem struct {
	System  string `json:"system" doc:"name, as POST /v1/campaigns takes it"`
	Edition int    `json:"edition" doc:"version of the rules"`
	Title   string `json:"title"`
	Summary string `json:"summary"`
	Credit  string `json:"credit" doc:"the book and who wrote it"`
}

// SystemView is everything that a rule system says about itself.
type SystemView struct {
	SystemItem
	Ranks    []string       `json:"ranks" doc:"health ranks from best to worst"`
	Options  []rules.Option `json:"options" doc:"rulings and choices that a campaign may make"`
	Rules    []rules.Rule   `json:"rules"`
	Commands []CommandType  `json:"commands"`
	Sheet    jsontext.Value `json:"sheet" doc:"JSON Schema of a character's sheet"`
	Example  jsontext.Value `json:"example" doc:"a sheet that free creation accepts"`
	Setting  jsontext.Value `json:"setting" doc:"JSON Schema of what a campaign may define itself; null when there is no such thing"`
}

// CommandType is a type of command.
type CommandType struct {
	Type  string         `json:"type"`
	Title string         `json:"title"`
	Doc   string         `json:"doc"`
	Who   string         `json:"who" enum:"gm,own-characters,participants,table" doc:"who may give it: gm; own-characters: also players for their own; participants: everybody but spectators; table: everybody"`
	Data  jsontext.Value `json:"data" doc:"JSON Schema of its data"`
}

// systemView is a book as the API shows it.
type systemView struct {
	name    string
	edition int
	view    SystemView
}

type systemInput struct {
	System  string `path:"system" doc:"name of the rule system"`
	Edition int    `query:"edition" minimum:"1" doc:"version of the rules; left out: the newest"`
}

// systemViews describes every edition of every system, once: when somebody asks.
func systemViews(library rules.Library, s *schemas) ([]systemView, error) {
	var all []systemView
	for _, book := range library {
		d := book.Describe()
		view := SystemView{
			SystemItem: SystemItem{System: book.Name(), Edition: book.Edition(), Title: d.Title, Summary: d.Summary, Credit: d.Credit},
			Ranks:      d.Ranks, Options: d.Options, Rules: d.Rules,
		}
		var err error
		if view.Sheet, err = s.alone(book.Sheet()); err != nil {
			return nil, err
		}
		if view.Example, err = rules.Canonical(book.Example()); err != nil {
			return nil, err
		}
		if view.Setting, err = s.alone(book.Setting()); err != nil {
			return nil, err
		}
		for _, spec := range book.Specs() {
			if spec.Who == rules.Program {
				continue
			}
			data, err := s.alone(spec.New())
			if err != nil {
				return nil, err
			}
			view.Commands = append(view.Commands, CommandType{Type: spec.Type, Title: spec.Title, Doc: spec.Doc, Who: whoName[spec.Who], Data: data})
		}
		all = append(all, systemView{book.Name(), book.Edition(), view})
	}
	return all, nil
}

func (s *Server) systemRoutes() {
	handle(s, route{
		Method: http.MethodGet, Path: "/v1/systems", ID: "list-systems", Summary: "List the rule systems on board", Doc: "Every edition of each.",
	}, func(_ context.Context, in *Paging) (*output[projections.Page[SystemItem]], error) {
		systems, err := s.systems()
		if err != nil {
			return nil, err
		}
		items := make([]SystemItem, 0, len(systems))
		for _, sys := range systems {
			items = append(items, sys.view.SystemItem)
		}
		return answer(page(items, *in)), nil
	})
	handle(s, route{
		Method: http.MethodGet, Path: "/v1/systems/{system}", ID: "get-system", Summary: "What a rule system offers",
		Doc: "Options with the passage they settle, rules, and JSON Schemas of commands, sheets and settings, enough to make forms of.", Fails: []int{400, 404},
	}, func(_ context.Context, in *systemInput) (*output[SystemView], error) {
		book, err := s.cfg.Library.Find(strings.ToLower(in.System), in.Edition)
		if err != nil {
			return nil, newProblem("not-found", err.Error())
		}
		systems, err := s.systems()
		if err != nil {
			return nil, err
		}
		for _, sys := range systems {
			if sys.name == book.Name() && sys.edition == book.Edition() {
				return answer(sys.view), nil
			}
		}
		panic("api: " + book.Name() + " is on board but was not described")
	})
}
