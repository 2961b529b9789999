package replay_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tallystick/replay"
	"tallystick/rules"
	"tallystick/rules/rulestest"
	"tallystick/rules/systems"
)

func book(t testing.TB, name string) *rules.Book {
	t.Helper()
	b, err := systems.Library().Find(name, 0)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// sickbed is a campaign with one character, c.
type sickbed struct {
	*rulestest.Table
	id string
}

func lay(t testing.TB, system, options, sheet string) sickbed {
	t.Helper()
	tb := rulestest.NewTable(t, book(t, system), options)
	return sickbed{tb, tb.Must("gm", "character.create", `{"name":"Bob","kind":"pc","creation":"free","sheet":`+sheet+`}`)}
}

// People of PERP.
const (
	finnin = `{"traits":{},"skills":{},"hp":12}`
	frail  = `{"traits":{"Frail":-2,"Stocky":1},"skills":{},"hp":9,"healing":["Frail"]}`
)

func con(n int) string {
	return fmt.Sprintf(`{"stats":{"str":0,"con":%d,"dex":0,"per":0,"int":0,"wits":0,"cha":0,"app":0},"skills":{}}`, n)
}

// command is one with the character in it, not given.
func (b sickbed) command(typ, data string) rules.Command {
	data = strings.Replace(data, "{", fmt.Sprintf(`{"character":%q,`, b.id), 1)
	return rules.Command{Type: typ, Data: jsontext.Value(strings.Replace(data, ",}", "}", 1))}
}

func (b sickbed) wound(points int) rules.Command {
	return b.command("wound.inflict", fmt.Sprintf(`{"points":%d,"cause":"a fall"}`, points))
}

func (b sickbed) prognose(opts replay.PrognosisOptions) replay.Prognosis {
	b.T.Helper()
	p, err := replay.Prognose(b.State, b.id, opts)
	if err != nil {
		b.T.Fatal(err)
	}
	return p
}

// reporter is what a test and a check at random have in common.
type reporter interface {
	Helper()
	Errorf(format string, a ...any)
	Fatal(a ...any)
}

// near is for probabilities that are said to be exact to a bound.
func near(t reporter, what string, got, want, bound float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > bound {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// D16 (c): PERP at 0 points. The percentages have two decimals.
func TestPrognosisBleeding(t *testing.T) {
	b := lay(t, "perp", "", finnin)
	p := b.prognose(replay.PrognosisOptions{First: []rules.Command{b.wound(12)}, Horizon: 20 * 60, Points: 20})
	for minute, percent := range map[int]float64{3: 0, 4: 5.40, 5: 30.52, 6: 63.69, 7: 86.28, 8: 96.11, 20: 100} {
		near(t, fmt.Sprint("dead by minute ", minute), 100*p.Curve[minute].Dead, percent, 0.005)
	}
	// 70 of 6^4 ways to 20 and more, by hand.
	near(t, "four dice of 20 and more", p.Curve[4].Dead, 70.0/1296, 1e-15)
	near(t, "mean in minutes", *p.Death.Mean/60, 6.19, 0.005)
	if p.Death.Probability != 1 || p.Recovery.Probability != 0 || *p.Death.Median != 360 {
		t.Errorf("death %v at %v, recovery %v", p.Death.Probability, *p.Death.Median, p.Recovery.Probability)
	}
	treated, err := replay.Look(b.State, b.id, replay.TreatDefault, nil, replay.PrognosisOptions{First: []rules.Command{b.wound(12)}})
	if err != nil || treated.Treated.Death.Probability != 0 || treated.Treated.Recovery.Probability != 1 {
		t.Errorf("tended: %+v, %v", treated, err)
	}
}

// PERP, 3 points down: a d6 a week, and a third of a d10 over the first week
// for who is tended with a zero-level skill. By hand: 3 or more on the d6 is 4
// in 6; of the 2 others one leaves 2 to regain and one leaves 1: 4/6 + 1/6 × 5/6
// + 1/6. Tended: 0, 1, 2, 3 points with 2, 3, 3, 2 in 10.
func TestPrognosisWeeks(t *testing.T) {
	b := lay(t, "perp", "", finnin)
	opts := replay.PrognosisOptions{First: []rules.Command{b.wound(3)}, Horizon: 2 * 604_800, Points: 2}
	out, err := replay.Look(b.State, b.id, replay.TreatBoth, nil, opts)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "after a week", out.Untreated.Curve[1].Recovered, 4.0/6, 1e-15)
	near(t, "after two", out.Untreated.Curve[2].Recovered, 35.0/36, 1e-15)
	near(t, "tended, after a week", out.Treated.Curve[1].Recovered, (2*4.0/6+3*5.0/6+5)/10, 1e-15)
	// Still hurt then: no point of the healer's, and a 1 on either d6.
	near(t, "tended, after two", out.Treated.Curve[2].Recovered, 1-2.0/10*1/6*1/6, 1e-15)
	if out.Untreated.Death.Probability != 0 || out.Untreated.Recovery.Probability != 1 {
		t.Errorf("%+v, %+v", out.Untreated.Death, out.Untreated.Recovery)
	}
}

// FUDGE has no dice but those of treatment: Near Death lasts five minutes, a
// Good hand keeps alive with any result of Good or better: 26 of the 36 ways
// two dice fall.
func TestPrognosisNearDeath(t *testing.T) {
	b := lay(t, "fudge", "", `{}`)
	hurt := b.command("wound.inflict", `{"level":"Near Death","cause":"a fall"}`)
	out, err := replay.Look(b.State, b.id, replay.TreatBoth, nil, replay.PrognosisOptions{First: []rules.Command{hurt}})
	if err != nil {
		t.Fatal(err)
	}
	left, cared := out.Untreated, out.Treated
	if left.Death.Probability != 1 || *left.Death.Median != 300 || *left.Death.Mean != 300 {
		t.Errorf("left alone: %+v", left.Death)
	}
	near(t, "treated and dead", cared.Death.Probability, 10.0/36, 1e-15)
	near(t, "treated and stuck", cared.Stuck, 26.0/36, 1e-15)
}

// A fire of one log goes out with one chance in two every ten seconds. Embers
// cannot tell where they are in the world: what lies behind the horizon stays
// undecided.
func TestPrognosisWithoutPhases(t *testing.T) {
	tb := rulestest.NewTable(t, embers, "")
	b := sickbed{tb, tb.Must("gm", "character.create", `{"name":"Fire","kind":"npc","creation":"free","sheet":{"points":1}}`)}
	p := b.prognose(replay.PrognosisOptions{Horizon: 105, Points: 21})
	for k, m := range p.Curve {
		near(t, fmt.Sprint("out after ", m.After, " s"), m.Dead, 1-math.Pow(0.5, float64(k/2)), 1e-15)
	}
	near(t, "undecided", p.Undecided, math.Pow(0.5, 10), 1e-15)
	if p.Death.Median == nil || *p.Death.Median != 10 {
		t.Errorf("median %v", p.Death.Median)
	}
	_, err := replay.Look(tb.State, b.id, replay.TreatDefault, nil, replay.PrognosisOptions{Horizon: 10})
	refused(t, err, "no_treatment")
	both, err := replay.Look(tb.State, b.id, replay.TreatBoth, nil, replay.PrognosisOptions{Horizon: 10})
	if err != nil || both.Untreated == nil || both.Refused.Code != "no_treatment" {
		t.Errorf("both: %+v, %v", both, err)
	}
	refused(t, second(replay.Prognose(tb.State, b.id, replay.PrognosisOptions{Horizon: 100_000, States: 10})), "prognosis_too_large")
}

func second[T any](_ T, err error) error { return err }

func refused(t testing.TB, err error, code string) {
	t.Helper()
	var no *rules.Rejection
	if !errors.As(err, &no) || no.Code != code {
		t.Errorf("got %v, want the rejection %s", err, code)
	}
}

// Whatever is refused says why.
func TestPrognosisRefused(t *testing.T) {
	b := lay(t, "rpgamix", "", con(0))
	refused(t, second(replay.Prognose(b.State, "nobody", replay.PrognosisOptions{})), "unknown_character")
	refused(t, second(replay.Look(b.State, b.id, replay.TreatDefault, nil, replay.PrognosisOptions{})), "unhurt")
	refused(t, second(replay.Prognose(b.State, b.id, replay.PrognosisOptions{First: []rules.Command{b.wound(10)}, Steps: 100})), "prognosis_too_large")
	refused(t, second(replay.Prognose(b.State, b.id, replay.PrognosisOptions{First: []rules.Command{b.wound(20)}, States: 5})), "prognosis_too_large")
	for field, opts := range map[string]replay.PrognosisOptions{
		"horizon": {Horizon: -1}, "points": {Points: replay.MaxPrognosisPoints + 1},
	} {
		var bad *rules.Invalid
		if _, err := replay.Prognose(b.State, b.id, opts); !errors.As(err, &bad) || bad.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	var bad *rules.Invalid
	if _, err := replay.Look(b.State, b.id, "perhaps", nil, replay.PrognosisOptions{}); !errors.As(err, &bad) || bad.Field != "treat" {
		t.Errorf("treat: %v", err)
	}
	out, err := replay.Look(b.State, b.id, replay.TreatBoth, nil, replay.PrognosisOptions{})
	if err != nil || out.Untreated.Recovery.Probability != 1 || out.Treated != nil || out.Refused.Code != "unhurt" {
		t.Errorf("unhurt: %+v, %v", out, err)
	}
	b.Must("gm", "character.retire", fmt.Sprintf(`{"character":%q,"reason":"moved away"}`, b.id))
	refused(t, second(replay.Prognose(b.State, b.id, replay.PrognosisOptions{})), "retired")
}

// A treatment that succeeds with some dice, and a second one for when it did
// not: the rules refuse it to those who are treated already, so that there it
// is left out.
func TestPrognosisOfAGivenTreatment(t *testing.T) {
	b := lay(t, "rpgamix", "", con(0))
	medic := b.Must("gm", "character.create", `{"name":"Ann","kind":"pc","creation":"free","sheet":`+
		strings.Replace(con(0), `"skills":{}`, `"skills":{"First Aid":2}`, 1)+`}`)
	// At 5 of 25 points, by d10 + 2 against 8: five faces in ten stabilise.
	trial := jsontext.Value(fmt.Sprintf(`{"character":%q,"by":%q,"stat":"int","skill":"First Aid","difficulty":8}`, b.id, medic))
	out, err := replay.Look(b.State, b.id, replay.TreatBoth, trial, replay.PrognosisOptions{First: []rules.Command{b.wound(20)}})
	if err != nil {
		t.Fatal(err)
	}
	if out.Untreated.Death.Probability != 1 {
		t.Errorf("untreated: %v", out.Untreated.Death)
	}
	near(t, "treated", out.Treated.Death.Probability, 0.5+0.5*5603168/42981185, 1e-15)
	again, err := replay.Look(b.State, b.id, replay.TreatDefault, trial, replay.PrognosisOptions{
		First: []rules.Command{b.wound(20), {Type: "wound.treat", Data: trial}},
	})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "treated twice", again.Treated.Death.Probability, 0.25+0.75*5603168/42981185, 1e-15)
	if len(out.Treated.First) != 2 || out.Treated.First[1].Type != "wound.treat" {
		t.Errorf("begins with %v", out.Treated.First)
	}
}

// casualty draws a casualty of any system, in one of many readings.
func casualty(t testing.TB, rt *rapid.T) (sickbed, replay.PrognosisOptions) {
	wait := rapid.SampledFrom([]int{0, 1, 3_599, 86_400, 700_001}).Draw(rt, "wait")
	pick := func(name string, values ...string) string { return rapid.SampledFrom(values).Draw(rt, name) }
	switch system := pick("system", "rpgamix", "perp", "fudge"); system {
	case "rpgamix":
		n := rapid.IntRange(-5, -2).Draw(rt, "con")
		b := lay(t, system, fmt.Sprintf(`{"rpgamix.con_tie":%q,"rpgamix.clock":%q,"rpgamix.skip_certain_rolls":%q}`,
			pick("tie", "success", "fail"), pick("clock", "row_entry", "row_entry", "row_entry", "calendar"), pick("skip", "true", "false")), con(n))
		return b.wait(wait, b.wound(rapid.IntRange(1, max(1, 5*(n+5))).Draw(rt, "points")))
	case "perp":
		b := lay(t, system, fmt.Sprintf(`{"perp.stabilise":%q}`, pick("stabilise", "tending", "never")),
			pick("sheet", finnin, frail))
		return b.wait(wait, b.wound(rapid.IntRange(1, 30).Draw(rt, "points")))
	default:
		b := lay(t, system, "", `{}`)
		level := pick("level", "Scratch", "Hurt", "Very Hurt", "Disabled", "Near Death", "Dead")
		return b.wait(wait, b.command("wound.inflict", fmt.Sprintf(`{"level":%q,"cause":"a fall"}`, level)))
	}
}

func (b sickbed) wait(seconds int, first rules.Command) (sickbed, replay.PrognosisOptions) {
	if seconds > 0 {
		b.Must("gm", "clock.advance", fmt.Sprintf(`{"seconds":%d}`, seconds))
	}
	return b, replay.PrognosisOptions{First: []rules.Command{first}}
}

// What must hold for every casualty: everything adds up to one, deaths only
// grow, the dead and the recovered are in their ranks, nothing is changed, and
// asking again says the same.
func TestPrognosisAddsUp(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b, opts := casualty(t, rt)
		opts.Horizon = rapid.SampledFrom([]int64{0, 7, 86_400}).Draw(rt, "horizon")
		before := rulestest.Shown(t, b.State)
		once, err := replay.Look(b.State, b.id, replay.TreatBoth, nil, opts)
		again, err2 := replay.Look(b.State, b.id, replay.TreatBoth, nil, opts)
		if diff := cmp.Diff(once, again); err != nil || err2 != nil || diff != "" {
			rt.Fatal("asked twice: ", err, err2, diff)
		}
		if rulestest.Shown(t, b.State) != before {
			rt.Fatal("the campaign was changed")
		}
		addsUp(rt, once.Untreated)
		if once.Treated != nil {
			addsUp(rt, once.Treated)
		}
	})
}

func addsUp(rt *rapid.T, p *replay.Prognosis) {
	if p.ErrorBound <= 0 || p.ErrorBound > 1e-9 {
		rt.Fatalf("error bound %v", p.ErrorBound)
	}
	near(rt, "all fates", p.Death.Probability+p.Recovery.Probability+p.Stuck+p.Undecided, 1, 1e-15)
	last := replay.CurvePoint{}
	for _, m := range p.Curve {
		ranks, points := 0.0, 0.0
		for _, share := range m.Ranks {
			ranks += share
		}
		for _, share := range m.Points {
			points += share.Probability
		}
		near(rt, fmt.Sprint("ranks after ", m.After), ranks, 1, p.ErrorBound)
		near(rt, fmt.Sprint("points after ", m.After), points, 1, p.ErrorBound)
		if m.Dead < last.Dead || m.Recovered < last.Recovered || m.Dead > p.Death.Probability+p.ErrorBound || m.Recovered > p.Recovery.Probability+p.ErrorBound {
			rt.Fatalf("after %d: %v dead, %v recovered; before %v, %v; in the end %v, %v",
				m.After, m.Dead, m.Recovered, last.Dead, last.Recovered, p.Death.Probability, p.Recovery.Probability)
		}
		near(rt, "the dead", m.Ranks[len(m.Ranks)-1], m.Dead, p.ErrorBound)
		last = m
	}
	if last.After != p.Horizon {
		rt.Fatalf("the curve ends at %d, the horizon is %d", last.After, p.Horizon)
	}
	if n := len(p.Declines); n > 0 {
		near(rt, "the worst decline is death", p.Declines[n-1].Probability, p.Death.Probability, 1e-15)
	}
}

// The graph finds that what lies ahead repeats; going through every moment
// anew, with whole bodies and the date, comes to the same curve.
func TestPrognosisAgainstEveryMoment(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b, opts := casualty(t, rt)
		treated := rapid.Bool().Draw(rt, "treated")
		b.everyMoment(rt, opts, treated, 120)
	})
}

// Cases that chance seldom finds: a week of healing that ends while a character
// bleeds, and clocks of the calendar over weeks of healing.
func TestPrognosisAgainstEveryMomentOfAWeek(t *testing.T) {
	bleeding := lay(t, "perp", "", finnin)
	cmd := bleeding.wound(1)
	bleeding.Must("gm", cmd.Type, string(cmd.Data))
	bleeding.Must("gm", "clock.advance", `{"seconds":604500}`)
	calendar := lay(t, "rpgamix", `{"rpgamix.clock":"calendar"}`, con(-1))
	calendar.Must("gm", "clock.advance", `{"seconds":300000}`)
	for _, c := range []struct {
		bed     sickbed
		points  int
		treated bool
	}{{bleeding, 12, false}, {bleeding, 15, false}, {calendar, 6, true}, {calendar, 1, false}} {
		c.bed.everyMoment(t, replay.PrognosisOptions{First: []rules.Command{c.bed.wound(c.points)}}, c.treated, 120)
	}
}

// everyMoment compares ranks and points after so many ticks.
func (b sickbed) everyMoment(t reporter, opts replay.PrognosisOptions, treated bool, ticks int) {
	if treated {
		ch, _ := b.State.Character(b.id)
		data, err := rules.Canonical(b.State.Book.Treatment(b.State.Options, ch))
		if err != nil {
			t.Fatal(err)
		}
		opts.First = append(opts.First, rules.Command{Type: "wound.treat", Data: data})
	}
	now := branches(t, b.State, opts.First)
	opts.Points, opts.Horizon = 1, follow(t, b.id, now, ticks)
	p, err := replay.Prognose(b.State, b.id, opts)
	if refusedTreatment(err) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	ranks, points := make([]float64, len(p.Ranks)), map[int]float64{}
	for _, w := range now {
		ch, _ := w.c.Character(b.id)
		v := w.c.Vitals(ch)
		ranks[slices.Index(p.Ranks, v.Health.Rank)] += w.p
		points[v.Health.Points] += w.p
	}
	for _, share := range p.Curve[len(p.Curve)-1].Points {
		near(t, fmt.Sprint(share.Points, " points after ", opts.Horizon), share.Probability, points[share.Points], 1e-12)
	}
	for i, share := range p.Curve[len(p.Curve)-1].Ranks {
		near(t, fmt.Sprint(p.Ranks[i], " after ", opts.Horizon), share, ranks[i], 1e-12)
	}
}

// A median that is met exactly: who has lost 4 points to PERP's d6 a week is
// whole after one with one chance in two.
func TestPrognosisMedianMetExactly(t *testing.T) {
	b := lay(t, "perp", "", finnin)
	p := b.prognose(replay.PrognosisOptions{First: []rules.Command{b.wound(4)}})
	if *p.Recovery.Median != 604_800 {
		t.Errorf("median %d", *p.Recovery.Median)
	}
}

func refusedTreatment(err error) bool {
	var no *rules.Rejection
	return errors.As(err, &no)
}

type world struct {
	c *rules.Campaign
	p float64
}

func branches(rt reporter, c *rules.Campaign, commands []rules.Command) map[string]world {
	now := []world{{c, 1}}
	for _, cmd := range commands {
		var next []world
		for _, w := range now {
			ways, err := rules.BranchCommand(w.c, cmd)
			if refusedTreatment(err) {
				next = append(next, w)
				continue
			}
			if err != nil {
				rt.Fatal(err)
			}
			for _, way := range ways {
				p, _ := way.Probability.Float64()
				next = append(next, world{way.After, w.p * p})
			}
		}
		now = next
	}
	out := map[string]world{}
	for _, w := range now {
		put(rt, out, w)
	}
	return out
}

func put(rt reporter, worlds map[string]world, w world) {
	var bodies []any
	for _, id := range w.c.Characters() {
		ch, _ := w.c.Character(id)
		bodies = append(bodies, ch.Body)
	}
	b, err := json.Marshal(bodies, json.Deterministic(true))
	if err != nil {
		rt.Fatal(err)
	}
	key := fmt.Sprint(w.c.Clock, string(b))
	w.p += worlds[key].p
	worlds[key] = w
}

// follow goes through a number of ticks, the earliest first, and on until a
// moment is complete. It returns that moment, from now; one behind everything
// when no tick is left.
func follow(rt reporter, id string, worlds map[string]world, ticks int) int64 {
	var begin int64
	for _, w := range worlds {
		begin = w.c.Clock
	}
	now := begin
	for n := 0; ; n++ {
		var first string
		var due rules.Tick
		for key, w := range worlds {
			ch, _ := w.c.Character(id)
			tick, ok := w.c.Book.NextTick(w.c.Options, ch.Body)
			if ok && w.c.Vitals(ch).Alive && (first == "" || tick.Due < due.Due) {
				first, due = key, tick
			}
		}
		switch {
		case first == "":
			return now - begin + 1_000_000
		case n >= ticks && due.Due > now && now > begin:
			return now - begin
		}
		now = due.Due
		w := worlds[first]
		delete(worlds, first)
		ch, _ := w.c.Character(id)
		ways, err := rules.BranchTick(w.c, ch, due)
		if err != nil {
			rt.Fatal(err)
		}
		for _, way := range ways {
			p, _ := way.Probability.Float64()
			put(rt, worlds, world{way.After, w.p * p})
		}
	}
}

// The same wound at another date has the same prognosis.
func TestPrognosisKnowsNoDate(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b, opts := casualty(t, rt)
		if b.State.Book.Name() == "rpgamix" && b.State.Options.Is("rpgamix.clock", "calendar") {
			return
		}
		one := b.prognose(opts)
		b.Must("gm", "clock.advance", `{"seconds":1234567}`)
		other := b.prognose(opts)
		other.Clock = one.Clock
		if diff := cmp.Diff(one, other); diff != "" {
			rt.Fatal(diff)
		}
	})
}

// With Con 5 no check of the hour or the round can fail: without treatment
// nothing ever changes for somebody in Poor or Awful health, though dice fall.
func TestPrognosisOfStandingStill(t *testing.T) {
	b := lay(t, "rpgamix", `{"rpgamix.skip_certain_rolls":false}`, con(5))
	p := b.prognose(replay.PrognosisOptions{First: []rules.Command{b.wound(35)}})
	if p.Stuck != 1 || p.Death.Probability != 0 || p.Recovery.Probability != 0 || p.Cost.Steps > 1_000 {
		t.Errorf("stuck %v, death %v, recovery %v, %d steps", p.Stuck, p.Death.Probability, p.Recovery.Probability, p.Cost.Steps)
	}
	if last := p.Curve[len(p.Curve)-1]; last.Ranks[3] != 1 || last.Points[0] != (replay.PointsShare{Points: 15, Probability: 1}) {
		t.Errorf("in the end: %+v", last)
	}
}

// Treatment never kills a casualty of RPGamix, at no time.
func TestPrognosisOfTreatmentIsBetter(t *testing.T) {
	step := 1
	if testing.Short() {
		step = 4
	}
	for n := -4; n <= 1; n += step {
		b := lay(t, "rpgamix", "", con(n))
		for rank := range 5 {
			points := (5+n)*rank + 1 // the best of the rank, and one below whole
			out, err := replay.Look(b.State, b.id, replay.TreatBoth, nil, replay.PrognosisOptions{First: []rules.Command{b.wound(min(points, 5*(5+n)-1))}, Horizon: 30 * 86_400})
			if err != nil {
				t.Fatal(err)
			}
			left, treated := out.Untreated, out.Treated
			if treated.Death.Probability > left.Death.Probability {
				t.Errorf("con %d, rank %d: treated %v die, untreated %v", n, rank, treated.Death.Probability, left.Death.Probability)
			}
			for k := range left.Curve {
				if n >= 0 && treated.Curve[k].Dead > left.Curve[k].Dead+left.ErrorBound+treated.ErrorBound {
					t.Errorf("con %d, rank %d after %d s: treated %v dead, untreated %v", n, rank, left.Curve[k].After, treated.Curve[k].Dead, left.Curve[k].Dead)
				}
			}
		}
	}
}

// Time that is really played, with dice of a ledger, comes out as often as the
// prognosis says, within five standard deviations.
func TestPrognosisAgainstPlay(t *testing.T) {
	const casualties = 400
	for _, c := range []struct {
		system, sheet string
		points        int
		seconds       int64
	}{
		{"rpgamix", con(0), 16, 54},      // Awful: about half are dead after 18 rounds
		{"rpgamix", con(-2), 3, 600_000}, // Fair for a week
		{"perp", finnin, 12, 360},
	} {
		tb := rulestest.NewTable(t, book(t, c.system), "")
		tb.Must("gm", "session.open", `{"title":"one","kind":"downtime"}`)
		var b sickbed
		for i := range casualties {
			b = sickbed{tb, tb.Must("gm", "character.create", fmt.Sprintf(`{"name":"Bob %d","kind":"npc","creation":"free","sheet":%s}`, i, c.sheet))}
			cmd := b.wound(c.points)
			tb.Must("gm", cmd.Type, string(cmd.Data))
		}
		p := b.prognose(replay.PrognosisOptions{Horizon: c.seconds, Points: 1})
		tb.Must("gm", "clock.advance", fmt.Sprintf(`{"seconds":%d}`, c.seconds))
		tb.Finish()
		counts := make([]int, len(p.Ranks))
		for _, id := range tb.State.Characters() {
			ch, _ := tb.State.Character(id)
			counts[slices.Index(p.Ranks, tb.State.Vitals(ch).Health.Rank)]++
		}
		for i, share := range p.Curve[1].Ranks {
			if sigma := math.Sqrt(casualties * share * (1 - share)); math.Abs(float64(counts[i])-casualties*share) > 5*sigma+1e-6 {
				t.Errorf("%s, %d points: %d of %d are %s, the prognosis says %v", c.system, c.points, counts[i], casualties, p.Ranks[i], share)
			}
		}
	}
}

// A snapshot stays as it was while the campaign goes on.
func TestPrognosisOfASnapshot(t *testing.T) {
	b := lay(t, "rpgamix", "", con(0))
	cmd := b.wound(21)
	b.Must("gm", "session.open", `{"title":"one","kind":"table"}`)
	b.Must("gm", cmd.Type, string(cmd.Data))
	s := b.State.Snapshot()
	shown, prognosis := rulestest.Shown(t, s), b.prognose(replay.PrognosisOptions{})
	b.Must("gm", "clock.advance", `{"seconds":3}`)
	b.Must("gm", "participant.add", `{"handle":"ann","role":"player"}`)
	if rulestest.Shown(t, s) != shown {
		t.Error("the snapshot has changed")
	}
	again, err := replay.Prognose(s, b.id, replay.PrognosisOptions{})
	if diff := cmp.Diff(prognosis, again); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if *prognosis.Death.Mean != 12 || *b.prognose(replay.PrognosisOptions{}).Death.Mean != 9 {
		t.Error("4 points are four rounds, 3 points three")
	}
}

func BenchmarkPrognosis(b *testing.B) {
	bed := lay(b, "rpgamix", "", con(0))
	for b.Loop() {
		bed.prognose(replay.PrognosisOptions{First: []rules.Command{bed.wound(6)}})
	}
}
