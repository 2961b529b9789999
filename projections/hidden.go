package projections

import (
	"fmt"
	"sort"

	"github.com/go-json-experiment/json/jsontext"

	"tallystick/events"
)

// What a seal can hide.
const (
	HiddenRoll   = "roll"
	HiddenTarget = "target"
	HiddenRuling = "ruling"
)

// Hidden is something that stands in the ledger by its seal alone: a secret
// roll, a hidden target or a ruling that is shown later. That it is there, whose
// it is and for whom is public; what it is is not in the ledger before it is
// opened, so that no view, export or proof can give it away.
type Hidden struct {
	Moment
	Kind       string         `json:"kind" enum:"roll,target,ruling"`
	By         string         `json:"by" doc:"handle of who made it"`
	Session    string         `json:"session,omitzero"`
	Visibility jsontext.Value `json:"visibility,omitzero" doc:"of a roll: private, blind, or the handles of those who may see it; as it is now"`
	Opened     int64          `json:"opened,omitzero" doc:"n of the record that showed it to everybody"`
}

// Hidden returns what was sealed from record from on, also what was opened
// since; a limit of 0 or less means all.
func (v *Views) Hidden(from int64, limit int) Page[Hidden] {
	page := Page[Hidden]{Items: []Hidden{}}
	first := sort.Search(len(v.hidden), func(i int) bool { return v.hidden[i].N >= from })
	for _, h := range v.hidden[first:] {
		if limit > 0 && len(page.Items) == limit {
			n := h.N
			page.Next = &n
			break
		}
		page.Items = append(page.Items, h)
	}
	return page
}

func (v *Views) hide(rec events.Record, kind, session string, shown jsontext.Value) {
	if kind == HiddenRoll && shown == nil {
		shown = jsontext.Value(`"` + events.VisiblePrivate + `"`)
	}
	v.hidden = append(v.hidden, Hidden{Moment: v.moment(rec), Kind: kind, By: v.word(rec.By), Session: v.word(session), Visibility: shown})
}

func (v *Views) reveal(rec events.Record, n int64) { v.hidden[v.hiddenAt(n)].Opened = rec.N }

// hiddenAt is the index of what record n hides, or -1.
func (v *Views) hiddenAt(n int64) int {
	i := sort.Search(len(v.hidden), func(i int) bool { return v.hidden[i].N >= n })
	if i == len(v.hidden) || v.hidden[i].N != n {
		return -1
	}
	return i
}

func (v *Views) isHidden(n int64) error {
	if v.hiddenAt(n) < 0 {
		return fmt.Errorf("record %d hides nothing", n)
	}
	return nil
}
