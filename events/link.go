package events

// LinkMade promises one roll: whoever has the link makes it, once. A link that
// was made stays on record, whether it is ever used or not.
type LinkMade struct {
	Link       string `json:"link"` // id
	Expression string `json:"expression"`
	Purpose    string `json:"purpose,omitzero"`
	Character  string `json:"character,omitzero"`
}

// LinkRolled says that a link was used. Nothing rolls by it again.
type LinkRolled struct {
	Link string `json:"link"`
	Roll int64  `json:"roll"` // n of the roll.made
}

func (*LinkMade) Type() string   { return "link.made" }
func (*LinkRolled) Type() string { return "link.rolled" }

// links reads the events of links that roll once.
func links() map[string]func() Event {
	return map[string]func() Event{
		"link.made":   func() Event { return new(LinkMade) },
		"link.rolled": func() Event { return new(LinkRolled) },
	}
}
