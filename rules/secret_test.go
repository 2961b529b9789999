package rules_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"tallystick/rules"
	"tallystick/rules/dice"
	"tallystick/rules/rpgamix"
	"tallystick/rules/rulestest"
)

// undrawn are chains that let nobody see a die: what is refused must be
// refused before the first one.
type undrawn struct{ *rulestest.Chains }

func (undrawn) Link(string, string, int, int) (dice.Seed, error) {
	return dice.Seed{}, errors.New("a die was drawn")
}

// Whether a command can be secret is known before its dice are: a refusal that
// hung on them would tell what the next secret die shows.
func TestSecretIsRefusedBeforeTheDice(t *testing.T) {
	tb := rulestest.NewTable(t, rules.NewBook(rpgamix.New()), "")
	tb.Must("gm", "session.open", `{"title":"one","kind":"table"}`)
	mara := tb.Must("gm", "character.create", `{"name":"Mara","kind":"npc","creation":"free","sheet":{"stats":{"str":0,"con":0,"dex":0,"per":0,"int":0,"wits":0,"cha":0,"app":0},"skills":{"Axe":1}}}`)
	ivo := tb.Must("gm", "character.create", `{"name":"Ivo","kind":"npc","creation":"free","sheet":{"stats":{"str":0,"con":0,"dex":0,"per":0,"int":0,"wits":0,"cha":0,"app":0},"skills":{"Parry":1}}}`)
	check := func(stat string) string { return fmt.Sprintf(`{"character":%q,"stat":%q}`, mara, stat) }
	contest := fmt.Sprintf(`{"sides":[{"character":%q,"stat":"int"},{"character":%q,"stat":"str"}]}`, ivo, mara)
	attack := fmt.Sprintf(`{"attacker":%q,"target":%q,"custom":{"name":"Axe","potential":15,"parry":0},"skill":"Axe","defence":{"skill":"Parry"}}`, mara, ivo)
	healthy := tb.State.Snapshot()
	tb.Must("gm", "wound.inflict", fmt.Sprintf(`{"character":%q,"points":16,"cause":"a beam"}`, mara), 10, 10)
	for name, c := range map[string]struct {
		state     *rules.Campaign
		typ, data string
		drawn     bool
	}{
		"a roll":                      {tb.State, "roll", `{"expression":"1d6"}`, true},
		"a check":                     {healthy, "check", check("str"), true},
		"a contest":                   {healthy, "contest", contest, true},
		"an attack":                   {healthy, "attack", attack, false},
		"a note":                      {healthy, "note.add", `{"text":"x"}`, false},
		"an exertion":                 {tb.State, "check", check("str"), false},
		"one of the other side":       {tb.State, "contest", contest, false},
		"no exertion in Awful health": {tb.State, "check", check("int"), true},
	} {
		_, _, err := rules.DecideSecret(c.state, tb.Command("gm", c.typ, c.data), undrawn{new(rulestest.Chains)})
		if drawn := err != nil && err.Error() == "a die was drawn"; drawn != c.drawn || !drawn && code(err) != "cannot_be_secret" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// One secret roll shows the dice of those before it on its lane: they are
// opened first, unless the game master says that they may be seen.
func TestSecretsOpenInOrder(t *testing.T) {
	c := seated(t)
	first, a := c.secret(`{"expression":"2d6"}`)
	second, b := c.secret(`{"expression":"2d6"}`)
	open := opening("roll", second, b.Salt, string(b.Payload))
	refused(t, c, c.Command("gm", "roll.open", open), "shows_earlier")
	_, err := c.Do(c.Command("gm", "roll.open", open))
	if want := fmt.Sprintf("record %d", first); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v does not name %s", err, want)
	}
	third, d := c.secret(`{"expression":"2d6"}`)
	c.must("gm", "roll.open", open[:len(open)-1]+`,"shows_earlier":true}`)
	c.must("gm", "roll.open", opening("roll", first, a.Salt, string(a.Payload)))
	c.must("gm", "roll.open", opening("roll", third, d.Salt, string(d.Payload)))
}

// A session does not close over a roll that waits for its witness.
func TestCloseOverDeclared(t *testing.T) {
	c := seated(t)
	fire(c.Table, 50)
	n := c.declare()
	refused(t, c, c.Command("gm", "session.close", `{}`), "declared_roll_open")
	c.must("gm", "roll.void", fmt.Sprintf(`{"declared":%d,"reason":"late"}`, n))
	c.must("gm", "session.close", `{}`)
}

// A ruling that is shown later belongs to a session, whose closing shows it.
func TestSealedRulingNeedsASession(t *testing.T) {
	tb := rulestest.Empty(t, embers)
	tb.Must("gm", "campaign.create", `{"name":"Night watch","system":"ember","gm":"gm","vkey":"v","policy":{"overrides":"shown_later"}}`)
	seal := fmt.Sprintf(`{"seal":"%064x"}`, 7)
	if _, err := tb.Do(tb.Command("gm", "ruling.make", seal)); code(err) != "no_session" {
		t.Errorf("got %v", err)
	}
	tb.Must("gm", "session.open", `{"title":"one","kind":"table"}`)
	tb.Must("gm", "ruling.make", seal)
	if got := len(tb.State.SealedRulings()); got != 1 {
		t.Errorf("%d rulings wait", got)
	}
}
