package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"tallystick/events"
	"tallystick/rules"
)

// makeGolden names a folder in which golden ledgers are made, one for every
// system: TALLYSTICK_MAKE_GOLDEN=replay/testdata. A golden ledger is never made
// again: a rule that changes makes a new edition, and a new folder.
const makeGolden = "TALLYSTICK_MAKE_GOLDEN"

func TestMakeGolden(t *testing.T) {
	root := os.Getenv(makeGolden)
	if root == "" {
		t.Skip("golden ledgers are made once for an edition, with " + makeGolden)
	}
	for _, book := range library() {
		makeLedger(t, filepath.Join(root, fmt.Sprintf("%s-e%d", book.Name(), book.Edition())), func(g *golden) {
			plays[book.Name()](&g.demo)
			if g.err == nil {
				scripts[book.Name()](g)
			}
		})
	}
	for name, play := range readings {
		makeLedger(t, filepath.Join(root, name), play)
	}
}

// makeLedger plays on a server of its own and keeps the export in dir, unless
// something is there already.
func makeLedger(t *testing.T, dir string, play func(*golden)) {
	if _, err := os.Stat(dir); err == nil {
		t.Logf("%s is there already", dir)
		return
	}
	p := serve(t, filepath.Join(t.TempDir(), "data"))
	g := &golden{demo: demo{ctx: context.Background(), client: p.client, out: &strings.Builder{}}}
	g.transcript = newTranscript(g.out)
	play(g)
	if g.err != nil {
		t.Fatal(g.err)
	}
	n, err := export(g.ctx, g.client, g.campaign, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %d records, %d commands executed, %d refused: %v", dir, n, g.executed, len(g.refused), g.refused)
}

// golden plays on after the demonstration, with every command of the system.
// The dice decide whether some of them are possible: what is refused is left
// out.
type golden struct {
	demo
	executed int
	refused  []string
}

func (g *golden) try(typ, data string, faces ...int) answer {
	if g.err != nil {
		return answer{}
	}
	a, err := g.client.command(g.ctx, g.campaign, typ, jsontext.Value(data), faces...)
	if err != nil {
		g.refused = append(g.refused, err.Error())
		return a
	}
	g.executed++
	return a
}

func (g *golden) must(typ, data string, faces ...int) answer {
	before := len(g.refused)
	a := g.try(typ, data, faces...)
	if len(g.refused) > before && g.err == nil {
		g.err = fmt.Errorf("%s", g.refused[before])
	}
	return a
}

// person makes a character of a sheet and returns its id, quoted.
func (g *golden) person(name, sheet string) string {
	return fmt.Sprintf("%q", g.must("character.create", fmt.Sprintf(`{"name":%q,"kind":"npc","creation":"free","sheet":%s}`, name, sheet)).Command)
}

// around is what all systems share.
func (g *golden) around() {
	g.must("session.open", `{"title":"Second night","kind":"downtime"}`)
	var made struct {
		Token string `json:"token"`
	}
	body := map[string]any{"handle": "anna", "role": "player", "name": "Élise d'Arc"}
	if err := g.client.call(g.ctx, http.MethodPost, "/v1/campaigns/"+g.campaign+"/participants", body, nil, &made); err != nil && g.err == nil {
		g.err = err
	}
	g.must("roll", `{"expression":"4d6kh3!+2d8-1","purpose":"free dice"}`)
	g.must("roll", `{"expression":"2d20kl1 + 4dF","purpose":"more of them"}`)
	g.must("roll", `{"expression":"2d6","purpose":"typed in"}`, 3, 4)
	g.must("note.add", `{"text":"Bob \"the sword\" said: <b>never</b> \\ again\n太郎 👩🏽‍🚀"}`)
}

// secret rolls in secret and opens it, and leaves another one closed.
func (g *golden) secret(typ, data string) {
	for _, open := range []bool{true, false} {
		var a struct {
			First int64 `json:"first"`
		}
		body := map[string]any{"type": typ, "data": jsontext.Value(data), "visibility": "private"}
		header := http.Header{"Idempotency-Key": {newKey()}}
		if err := g.client.call(g.ctx, http.MethodPost, "/v1/campaigns/"+g.campaign+"/commands", body, header, &a); err != nil && g.err == nil {
			g.err = err
		}
		if open {
			g.must("roll.open", fmt.Sprintf(`{"roll":%d}`, a.First))
		}
	}
}

// target seals a hidden target, rolls against it, and opens it.
func (g *golden) target(value int, typ, data string) {
	a := g.must("target.seal", fmt.Sprintf(`{"target":{"value":%d,"purpose":"a hidden door"}}`, value))
	if g.err != nil {
		return
	}
	n := number(a.Records[0])
	g.must(typ, strings.ReplaceAll(data, "TARGET", fmt.Sprint(n)))
	g.must("target.open", fmt.Sprintf(`{"target":%d}`, n))
}

var scripts = map[string]func(*golden){
	"rpgamix": scriptRPGamix, "perp": scriptPERP, "fudge": scriptFUDGE,
}

func scriptRPGamix(g *golden) {
	g.around()
	g.must("setting.define", `{"reason":"our world","setting":{
		"weapons":[{"name":"Rapier","potential":22,"parry":3,"max_cm":180}],
		"armour":[{"name":"Leather","points":3}],
		"skills":[{"name":"Sneak","stat":"dex"}],
		"backgrounds":{"Hunted":-5},
		"disciplines":[{"name":"Fencing","costs":[20],"requires":[],"permits":["Sword, aggravated","Strategic Sword-Parry"],
			"pool":{"name":"ki","start":1,"price":4},
			"techniques":[{"skill":"Sword, aggravated","use":"aggravated","weapons":["Rapier"],"pool":"ki"},
				{"skill":"Strategic Sword-Parry","use":"strategic","weapons":["Rapier"]}]}]}}`)
	g.must("character.create", `{"name":"Sue, by the book","kind":"pc","owner":"anna","creation":"book","sheet":{
		"stats":{"str":3,"con":1,"dex":-2,"per":-3,"int":1,"wits":-1,"cha":2,"app":1},"skills":{"Surgery":3,"Dodge":2},"points":40,
		"disciplines":[{"name":"Elementary Education"},{"name":"Highschool Education"},{"name":"College Education","cost":5},{"name":"Medical Doctor"}],
		"backgrounds":{"Licence to Practice Medicine":0,"Leprosy":-10},"armour":[{"name":"leather","points":3}]}}`)
	stats := func(con int) string {
		return fmt.Sprintf(`{"str":1,"con":%d,"dex":1,"per":0,"int":1,"wits":1,"cha":0,"app":0}`, con)
	}
	zorro := g.person("Zorro", `{"stats":`+stats(2)+`,"skills":{"Rapier":3,"Sword, aggravated":4,"Strategic Sword-Parry":4,"Dodge":2},"disciplines":[{"name":"Fencing","pool_points":8}]}`)
	guard := g.person("Guard", `{"stats":`+stats(5)+`,"skills":{"Spear":4,"Parry":4},"armour":[{"name":"mail","points":6}]}`)
	mage := g.person("Ash", `{"stats":`+stats(1)+`,"skills":{"Create Fire":3,"Control Fire":2,"Extinguish Fire":2,"Fire Defense":2},"disciplines":[{"name":"Brotherhood of Pyromancy","pool_points":8}]}`)
	mouse := g.person("Fetal mouse", `{"stats":`+stats(-5)+`,"skills":{}}`)
	door := g.person("Door", `{"stats":`+stats(3)+`,"skills":{},"nature":"thing"}`)

	g.try("check", `{"character":`+zorro+`,"stat":"dex","skill":"Sneak","difficulty":9}`)
	g.must("contest", `{"sides":[{"character":`+zorro+`,"stat":"str"},{"character":`+guard+`,"stat":"dex","skill":"Wrestling"}]}`)
	g.target(8, "check", `{"character":`+zorro+`,"stat":"per","target":TARGET}`)
	g.secret("check", `{"character":`+guard+`,"stat":"per","difficulty":7,"purpose":"does the guard hear him"}`)
	for range 3 {
		g.try("attack", `{"attacker":`+zorro+`,"target":`+guard+`,"weapon":"Rapier","aggravated":{"skill":"Sword, aggravated"},"defence":{"skill":"Parry","weapon":"Spear"}}`)
		g.try("attack", `{"attacker":`+guard+`,"target":`+zorro+`,"weapon":"Spear","distance_cm":250,"defence":{"skill":"Strategic Sword-Parry","weapon":"Rapier"}}`)
		g.try("rpgamix.allocate", `{"character":`+zorro+`,"opponent":`+guard+`,"use":"attack"}`)
		g.try("clock.advance", `{"seconds":6}`)
	}
	g.try("rpgamix.choke", `{"character":`+guard+`,"weapon":"Spear","grip":"choked"}`)
	g.try("attack", `{"attacker":`+zorro+`,"target":`+door+`,"weapon":"Rapier","difficulty":3}`)
	g.try("attack", `{"attacker":`+zorro+`,"thing":{"name":"crate","armour":2},"weapon":"Rapier","difficulty":5}`)
	g.try("rpgamix.cast", `{"character":`+mage+`,"spell":"Create Fire","stat":"int","diameter_cm":40,"material":"dry tinder/hair","spend":1}`)
	g.try("rpgamix.cast", `{"character":`+mage+`,"spell":"Extinguish Fire","stat":"int","diameter_cm":100,"material":"air"}`)
	g.try("rpgamix.rest", `{"character":`+mage+`,"nights":2,"meat_and_liquor":true}`)
	g.try("rpgamix.pool", `{"character":`+mage+`,"pool":"Fire pool","change":-1,"cause":"rain"}`)
	g.try("wound.inflict", `{"character":`+mouse+`,"points":1,"cause":"a cat"}`)
	g.try("wound.inflict", `{"character":`+mage+`,"points":13,"cause":"her own fire"}`)
	g.try("wound.inflict", `{"character":`+mage+`,"points":6,"cause":"the roof"}`)
	g.try("rpgamix.exert", `{"character":`+mage+`,"act":"crawling for the door"}`)
	g.try("rpgamix.wake", `{"character":`+mage+`,"cause":"smelling salts"}`)
	g.try("wound.treat", `{"character":`+mage+`,"by":`+zorro+`,"stat":"int","skill":"Dodge","difficulty":3}`)
	g.must("clock.advance", `{"by":"9w3d1h"}`)
	g.try("heal.grant", `{"character":`+zorro+`,"points":3,"cause":"a potion"}`)
	g.try("character.amend", `{"character":`+zorro+`,"reason":"older and wiser","sheet":{"stats":`+stats(3)+`,"skills":{"Rapier":4}}}`)
	g.must("character.retire", `{"character":`+door+`,"reason":"it is open now"}`)
	g.must("session.close", `{}`)
}

func scriptPERP(g *golden) {
	g.around()
	plain := `{"traits":{"Athletic":1,"Tough":1,"Vain":-1},"skills":{"Swords":{"points":3,"kind":"weapon"},"Shield use":{"points":2,"kind":"shield"},"Dodge":{"points":1,"kind":"dodge"},"First aid":{"points":1,"kind":"medical"}},"hp":14,"shield":true,"healing":["Tough"],"weapons":[{"name":"Sword","class":"medium"},{"name":"Uzi","class":"small gun","missile":true,"rate_of_fire":3}]}`
	hero, foe, third := g.person("Hero", plain), g.person("Foe", plain), g.person("Third", plain)
	g.must("check", `{"character":`+hero+`,"traits":["Athletic"],"skills":["Dodge"],"difficulty":6}`)
	g.must("check", `{"character":`+hero+`,"skills":["First aid"],"difficulty":4,"closed":{"any_skill":["First aid"],"tools":["bandages"]},"tools":["bandages"]}`)
	g.must("contest", `{"sides":[{"character":`+hero+`,"skills":["Swords"]},{"character":`+foe+`,"traits":["Tough"]}]}`)
	g.target(5, "check", `{"character":`+hero+`,"traits":["Athletic"],"hidden":TARGET}`)
	g.secret("check", `{"character":`+foe+`,"traits":["Tough"],"difficulty":6}`)
	g.try("perp.wear", `{"character":`+foe+`,"armour":"chainmail"}`)
	for range 3 {
		g.try("attack", `{"attacker":`+hero+`,"target":`+foe+`,"with":{"skills":["Swords"],"shield":true},"against":{"skills":["Swords"],"soak_traits":["Tough"]}}`)
		g.try("perp.volley", `{"attacker":`+third+`,"with":{"weapon":"Uzi"},"targets":[{"character":`+foe+`},{"character":`+hero+`}],"shots":[`+foe+`,`+hero+`,`+foe+`]}`)
		g.try("clock.advance", `{"seconds":3}`)
		g.try("perp.gang", `{"target":`+hero+`,"against":{"skills":["Swords"]},"attackers":[{"character":`+foe+`},{"character":`+third+`}]}`)
		g.try("clock.advance", `{"seconds":3}`)
	}
	g.try("wound.inflict", `{"character":`+third+`,"points":15,"cause":"a cliff"}`)
	g.try("clock.advance", `{"by":"1m"}`)
	g.try("wound.treat", `{"character":`+third+`,"by":`+hero+`,"skills":["First aid"],"tools":true}`)
	g.try("wound.treat", `{"character":`+hero+`,"hand_skill":2,"tools":true}`)
	g.try("perp.wear", `{"character":`+foe+`,"armour":"powered"}`)
	g.try("perp.power", `{"character":`+foe+`,"on":true}`)
	g.must("clock.advance", `{"by":"5w2d"}`)
	g.try("heal.grant", `{"character":`+hero+`,"points":2,"cause":"a potion"}`)
	g.must("session.close", `{}`)
}

// readings are ledgers by the other values of a system's options.
var readings = map[string]func(*golden){"perp-e1-brutal": playBrutally}

// playBrutally has what the first ledger of PERP cannot have: groups by the
// brutal rules, shares, and the game master's word that stops the bleeding.
func playBrutally(g *golden) {
	g.openBy("The mob", "perp", map[string]any{
		"perp.gang_mode": "brutal", "perp.brutal_group_traits": true, "perp.stabilise": "gm", "perp.volley_defence": "once",
		"perp.armour_penalty": "per_word", "perp.target_tie": "succeed", "perp.opposed_tie": "defender", "perp.shield_vs_missile": true,
		"perp.parry_skill_twice": false, "perp.medic_traits": false, "perp.combat_rounds": "free", "perp.exclusion_counts_as_zero_level": true,
	})
	g.must("session.open", `{"title":"The mob","kind":"table"}`)
	g.must("setting.define", `{"reason":"a city","setting":{"weapons":[{"name":"Pepperbox","class":"small gun","rate_of_fire":4}]}}`)
	sheet := func(points int, class, armour string) string {
		return fmt.Sprintf(`{"traits":{"Strong":1,"Tough":1,"Vain":-1},"skills":{"Swords":{"points":%d,"kind":"weapon","specializations":["Rapier"],"exclusions":["Two handed swords"]},"Shield use":{"points":1,"kind":"shield"},"First aid":{"points":2,"kind":"medical"}},"hp":20,"shield":true,"armour":%q,"healing":["Tough"],"weapons":[{"name":"arm","class":%q}]}`, points, armour, class)
	}
	lone := g.person("Lone", sheet(4, "medium", "chainmail"))
	a, b, c := g.person("A", sheet(1, "small", "leather")), g.person("B", sheet(2, "medium", "none")), g.person("C", sheet(3, "small", "none"))
	group := `"attackers":[{"character":` + a + `,"skills":["Swords"],"traits":["Strong"],"soak_traits":["Tough"]},{"character":` + b + `,"skills":["Swords"]},{"character":` + c + `,"skills":["Swords"],"damage_traits":["Strong"]}]}`
	gang := func(against string, faces ...int) answer {
		return g.must("perp.gang", `{"target":`+lone+`,"against":`+against+`,`+group, faces...)
	}
	gang(`{"skills":["Swords"]}`, 1, 2, 2, 3)
	gang(`{"skills":["Swords"],"about":["agility"]}`, 5, 5, 5, 10)
	gang(`{"skills":["Shield use"],"parry":true,"weapon_skill":"Swords"}`, 4, 5, 4, 6)
	gang(`{"skills":["Swords"]}`, 1, 1, 1, 10) // 7 against 15, and 2 for the arm
	g.must("perp.share", `{"character":`+lone+`,"shares":[{"character":`+a+`,"points":6},{"character":`+b+`,"points":0},{"character":`+c+`,"points":4}]}`)
	gang(`{"skills":["Swords"]}`, 1, 1, 1, 4)
	g.must("contest", `{"sides":[{"character":`+a+`},{"character":`+b+`}]}`, 7, 7)
	g.must("check", `{"character":`+a+`,"difficulty":7}`, 7)
	g.must("check", `{"character":`+a+`,"skills":["Swords"],"area":"Two handed swords","closed":{"any_skill":["Swords"]}}`)
	for _, against := range []string{`{"weapon":"two handed sword"}`, `{"skills":["Shield use"],"parry":true,"weapon_skill":"Swords","parry_traits":["Tough"]}`, `{"skills":["Swords"],"area":"Rapier","parry":true}`} {
		g.must("attack", `{"attacker":`+a+`,"target":`+b+`,"with":{"skills":["Swords"]},"against":`+against+`}`, 9, 2)
	}
	g.must("perp.volley", `{"attacker":`+c+`,"with":{"weapon":"Pepperbox"},"targets":[{"character":`+lone+`,"against":{"about":["quickness"]},"cover":{"soft":"half","hard_quarters":1}},{"character":`+b+`}],"shots":[`+lone+`,`+b+`,`+lone+`]}`)
	g.must("wound.inflict", `{"character":`+a+`,"points":25,"cause":"a cart"}`)
	g.must("clock.advance", `{"by":"1m"}`)
	g.must("perp.stabilise", `{"character":`+a+`}`)
	g.must("wound.treat", `{"character":`+a+`,"by":`+c+`,"skills":["First aid"],"tools":true}`)
	g.must("clock.advance", `{"by":"3w"}`)
	g.must("session.close", `{}`)
}

func scriptFUDGE(g *golden) {
	g.around()
	g.must("setting.define", `{"reason":"our game","setting":{"weapons":{"musket":{"strength":3}},"scales":{"dragon":{"hit_points":"5"},"leprechaun":{"hit_points":"1/3","strength":-6}}}}`)
	hero := g.person("Wilbur", `{"traits":{"Sword":"Superb","Dodge":"Good","Medicine":"Great","Bow":"Good"},"strength":"Great","weapons":{"great sword":{"size":"large","sharp":true},"bow":{"size":"average"}}}`)
	dragon := g.person("Dragon", `{"traits":{"Claws":"Fair"},"armour":{"value":2},"scale":{"hit_points":"5"}}`)
	foe := g.person("Foe", `{"traits":{"Sword":"Good","Dodge":"Fair"},"armour":{"kind":"light"},"weapons":{"sword":{"size":"average","sharp":true}}}`)
	g.must("check", `{"character":`+hero+`,"trait":"Sword","difficulty":"Great"}`)
	g.must("check", `{"character":`+hero+`,"trait":"Medicine","secondary":"Dodge","modifiers":[{"label":"good light","value":1}]}`)
	g.must("contest", `{"sides":[{"character":`+hero+`,"trait":"Sword"},{"character":`+foe+`,"trait":"Sword"}]}`)
	g.secret("check", `{"character":`+foe+`,"trait":"Dodge","difficulty":"Fair"}`)
	g.target(1, "check", `{"character":`+hero+`,"trait":"Bow","target":TARGET}`)
	for range 4 {
		g.try("attack", `{"attacker":`+hero+`,"target":`+foe+`,"trait":"Sword","weapon":"great sword","stance":"offence","defence":{"trait":"Sword","weapon":"sword"}}`)
		g.try("attack", `{"attacker":`+hero+`,"target":`+dragon+`,"trait":"Sword","weapon":"great sword","defence":{"trait":"Claws"}}`)
		g.try("attack", `{"attacker":`+hero+`,"target":`+foe+`,"mode":"propelled","trait":"Bow","weapon":"bow","defence":{"trait":"Dodge"}}`)
		g.try("clock.advance", `{"seconds":3}`)
	}
	g.try("wound.inflict", `{"character":`+hero+`,"level":"Very Hurt","cause":"a tail"}`)
	g.try("wound.treat", `{"character":`+hero+`,"level":"Great"}`)
	g.try("wound.treat", `{"character":`+foe+`,"by":`+hero+`,"trait":"Medicine"}`)
	g.try("fudge.tire", `{"character":`+hero+`,"cards":1,"cause":"a forced march"}`)
	g.try("fudge.strain", `{"character":`+hero+`,"cause":"a forced march","reopens":true}`)
	g.try("fudge.rest", `{"character":`+hero+`}`)
	g.must("clock.advance", `{"by":"6w1d"}`)
	g.try("fudge.wake", `{"character":`+foe+`}`)
	g.try("fudge.kill", `{"character":`+foe+`,"by":`+hero+`,"cause":"a knife at the throat"}`)
	g.try("heal.grant", `{"character":`+hero+`,"points":1,"cause":"a healing spring"}`)
	g.must("session.close", `{}`)
}

func newKey() string { return uuid.Must(uuid.NewV7()).String() }

// number is the n of a record.
func number(line jsontext.Value) int64 {
	rec, err := events.Parse(line)
	if err != nil {
		panic(err)
	}
	return rec.N
}

var processes = flag.Int("processes", 100, "in how many TestFreshProcesses replays the golden ledgers")

// The same dice in a hundred fresh processes, on one processor to eight, in any
// time zone and language, with memory tidied up seldom or often: nothing of a
// machine shows in what the rules decide, in the states after each command, in
// the words that tell them, or in what a verification says. The long form is
// -processes 10000, with the race detector -race.
func TestFreshProcesses(t *testing.T) {
	t.Parallel()
	runs := (*processes + 2) / 3 // of three processes each
	if testing.Short() {
		runs = min(runs, 2*len(library()))
	}
	zones := []string{"UTC", "Pacific/Kiritimati", "America/St_Johns", "Asia/Kathmandu", "Europe/Berlin"}
	var mu sync.Mutex
	said, told := map[string]string{}, 0
	var wg sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := range runs {
		dir, forms := goldenForms(t, library()[i%len(library())])
		environment := []string{fmt.Sprint("GOMAXPROCS=", 1+i%8), "TZ=" + zones[i%len(zones)], "LANG=" + []string{"C", "tr_TR.UTF-8"}[i%2], "GOGC=" + []string{"1", "off"}[i/8%2]}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			for _, form := range forms {
				cmd := program(form...)
				cmd.Env = append(cmd.Env, environment...)
				out, err := cmd.CombinedOutput()
				mu.Lock()
				name := dir + " " + form[0]
				before, ok := said[name]
				said[name], told = string(out), told+1
				mu.Unlock()
				if err != nil {
					t.Errorf("%s with %v: %v\n%s", name, environment, err, out)
				} else if ok && before != string(out) {
					t.Errorf("%s with %v is\n%s\nand before it was\n%s", name, environment, out, before)
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d processes, %d answers", told, len(said))
}

// goldenForms are what a process is asked about the golden ledger of a system.
func goldenForms(t *testing.T, book *rules.Book) (dir string, forms [][]string) {
	t.Helper()
	dir = filepath.Join("..", "..", "replay", "testdata", fmt.Sprintf("%s-e%d", book.Name(), book.Edition()))
	lines, err := os.ReadFile(filepath.Join(dir, eventsFile))
	if err != nil {
		t.Fatal(err)
	}
	opened := openedSession.FindAllSubmatch(lines, -1)
	session := string(opened[len(opened)-1][1])
	return dir, [][]string{
		{"replay", dir, "--session", session, "--format", formatNDJSON}, {"verify", dir, "--json"}, {"transcript", dir, "--session", session},
	}
}

var openedSession = regexp.MustCompile(`"type":"session.opened","data":\{"session":"([^"]+)"`)
