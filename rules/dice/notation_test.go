package dice

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func parse(t testing.TB, text string) *Expression {
	t.Helper()
	e, err := Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return e
}

// given returns a die that shows these faces, as drawn, and fails the test if it is asked too often.
func given(t testing.TB, faces ...uint32) func(uint32) uint32 {
	return func(sides uint32) uint32 {
		t.Helper()
		if len(faces) == 0 {
			t.Fatalf("a d%d too many was taken", sides)
		}
		face := faces[0]
		faces = faces[1:]
		return face
	}
}

func faces(list ...uint32) []uint32 { return list }

// Totals, the first ten from reports of rollers that got them wrong: a lost zero, one die dropped twice, strictly left
// to right, a quotient rounded away from zero, a token that became another die.
func TestTotals(t *testing.T) {
	for _, c := range []struct {
		text  string
		faces []uint32
		total int64
		shown string
	}{
		{"3d6+10", faces(4, 4, 1), 19, "[4, 4, 1]"},
		{"1d20+40", faces(6), 46, "[6]"},
		{"3d6kh2dl1", faces(4, 2, 2), 6, "[4, (2), 2]"},
		{"3d6kh2dl1", faces(2, 4, 5), 9, "[(2), 4, 5]"},
		{"1d1+4*10", faces(1), 41, "[1]"},
		{"2-1d6", faces(5), -3, "[5]"},
		{"1+2-3*4/5", nil, 1, ""},
		{"-5d10", faces(1, 2, 3, 4, 5), -15, "[1, 2, 3, 4, 5]"},
		{"4dF", faces(1, 2, 3, 3), 1, "[-1, 0, 1, 1]"},
		{"4df", faces(1, 1, 1, 1), -4, "[-1, -1, -1, -1]"},

		{"d20", faces(17), 17, "[17]"},
		{"D%", faces(100), 100, "[100]"},
		{"dF", faces(3), 1, "[1]"},
		{"( 2d6 + 1 ) * -3", faces(2, 4), -21, "[2, 4]"},
		{"7/-2", nil, -3, ""},
		{"-7/2", nil, -3, ""},
		{"8-3-2", nil, 3, ""},
		{"8-(3-2)", nil, 7, ""},
		{"100/10/5", nil, 2, ""},
		{"--3", nil, 3, ""},
		{"1--3", nil, 4, ""},

		{"4d6kh3", faces(3, 1, 6, 2), 11, "[3, (1), 6, 2]"},
		{"4d6K3", faces(3, 1, 6, 2), 11, "[3, (1), 6, 2]"},
		{"2d20k", faces(3, 11), 11, "[(3), 11]"},
		{"2d20kl", faces(3, 11), 3, "[3, (11)]"},
		{"5d6dh1dl1", faces(6, 1, 3, 1, 6), 10, "[6, (1), 3, 1, (6)]"},
		{"4d6kl3kh3", faces(1, 2, 3, 4), 5, "[(1), 2, 3, (4)]"},
		{"4d6kl3dh1", faces(1, 4, 3, 2), 6, "[1, (4), 3, 2]"},
		{"2d6kh1dh1", faces(1, 2), 0, "[(1), (2)]"},
		{"3dFkh1", faces(1, 3, 2), 1, "[(-1), 1, (0)]"},

		{"2d6!", faces(6, 3, 6, 2), 17, "[6!, 3, 6!, 2]"},
		{"2d6!>4", faces(5, 3, 1), 9, "[5!, 3, 1]"},
		{"1d6!=1", faces(1, 6), 7, "[1!, 6]"},
		{"3d6!kh2", faces(6, 6, 1, 2, 3), 12, "[6!, 6!, (1), (2), (3)]"},

		{"2d6r", faces(1, 4, 1), 5, "[1r, 4, 1]"},
		{"2d6r2", faces(2, 4, 5), 9, "[2r, 4, 5]"},
		{"3d6r<3", faces(1, 6, 2, 5, 1), 12, "[1r, 6, 2r, 5, 1]"},
		{"1d6r6!", faces(6, 6, 6, 2), 8, "[6r, 6!, 6r, 2]"},
		{"2d6ro2", faces(2, 4, 5), 9, "[2r, 4, 5]"},
		{"2d6RO", faces(1, 4, 1), 5, "[1r, 4, 1]"},
		{"2d6kh1r1", faces(1, 2, 5), 5, "[1r, (2), 5]"},
		{"4dFr", faces(1, 2, 2, 2, 3), 1, "[-1r, 0, 0, 0, 1]"},
		{"4dFr=-1", faces(1, 2, 2, 2, 3), 1, "[-1r, 0, 0, 0, 1]"},
		{"1d6r-1", faces(1, 3), 2, "[1r, 3]"}, // the sign is a subtraction

		{"5d10>=7", faces(7, 6, 10, 1, 8), 3, "[7*, 6, 10*, 1, 8*]"},
		{"3d6=6+1", faces(6, 1, 6), 3, "[6*, 1, 6*]"},
		{"3d6<3", faces(1, 2, 3), 2, "[1*, 2*, 3]"},
		{"4dF>=0", faces(1, 2, 3, 1), 2, "[-1, 0*, 1*, -1]"},
		{"4dF<=-1", faces(1, 2, 3, 1), 2, "[-1*, 0, 1, -1*]"},
		{"2d10>=8!", faces(10, 3, 10, 8), 3, "[10!*, 3, 10!*, 8*]"},
		{"2d10!>=8", faces(8, 3, 1), 12, "[8!, 3, 1]"}, // what follows "!" belongs to it
		{"4d6kh2>4", faces(5, 6, 5, 1), 2, "[(5), 6*, 5*, (1)]"},
	} {
		t.Run(c.text, func(t *testing.T) {
			asked := append([]uint32(nil), c.faces...)
			e := parse(t, c.text)
			result := e.Roll(given(t, c.faces...))
			if result.Total != c.total {
				t.Errorf("total %d, want %d", result.Total, c.total)
			}
			if c.shown != "" && !strings.HasSuffix(result.String(), c.shown) {
				t.Errorf("%s, want %s", result, c.shown)
			}
			var drawn []uint32
			for _, d := range result.Draws() {
				drawn = append(drawn, d[1])
			}
			if !cmp.Equal(drawn, asked) {
				t.Errorf("draws %v, want %v", drawn, asked)
			}
			if lowest, highest := e.Bounds(); c.total < lowest || c.total > highest {
				t.Errorf("%d lies outside %d to %d", c.total, lowest, highest)
			}
		})
	}
}

func TestCanonicalForm(t *testing.T) {
	for text, want := range map[string]string{
		" D% ":               "1d100",
		"dF":                 "1dF",
		"4df kl":             "4dFkl1",
		"((2d6))+((3))":      "2d6+3",
		"8-(3-2)":            "8-(3-2)",
		"(8-3)-2":            "8-3-2",
		"2*(3+d4)":           "2*(3+1d4)",
		"-(1+2)*- 3":         "-(1+2)*-3",
		"--3":                "--3",
		"003D06K2DL1":        "3d6kh2dl1",
		"4d6 dl 1 ! r<= 2":   "4d6r<=2!dl1",
		"5d10 >= 7 !":        "5d10!=10>=7",
		"5d10!=10":           "5d10!",
		"5d10!>8=10":         "5d10!>8=10",
		"2d6r":               "2d6r1",
		"2d6ro<3!":           "2d6r<3!",
		"2dFr":               "2dFr=-1",
		"2d6[ fire ] + 3[x]": "2d6[fire]+3[x]",
		"(2d6+1)[a][b]":      "(2d6+1)[a][b]",
		"-2[a]":              "-2[a]",
		"(-2)[a]":            "(-2)[a]",
		"2d6[Ärger über 2]":  "2d6[Ärger über 2]",
	} {
		e := parse(t, text)
		if e.String() != want {
			t.Errorf("%s: %s, want %s", text, e, want)
		}
		if again := parse(t, e.String()); again.String() != want {
			t.Errorf("%s: reads back as %s", e, again)
		}
	}
}

// Refusals name what was found and where; positions count characters.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		text   string
		pos    int
		reason string // a part of it
	}{
		{"", 1, "ends where a number"},
		{"   ", 4, "ends where a number"},
		{"2d6+", 5, "ends where a number"},
		{"2d6)", 4, `found ")" where an operator or the end`},
		{"(2d6", 5, `ends where an operator or ")"`},
		{"2d", 3, "ends where the number of sides"},
		{"2dx", 3, `found "x" where the number of sides`},
		{"2d(3)", 3, `found "(" where the number of sides`},
		{"3 d6", 3, `found "d" where an operator`},
		{"2(3)", 2, `found "(" where an operator`},
		{"2d6 ü", 5, `found "ü"`},
		{"ü2d6", 1, `found "ü"`},
		{"2d6[ü]x", 7, `found "x"`},
		{"2d6\xff", 4, "not valid UTF-8"},
		{"+3", 1, `found "+"`},
		{"2×3", 2, `found "×"`},
		{"2^3", 2, `found "^"`},
		{"1.5", 2, `found "."`},
		{"2d6p", 4, `found "p"`},
		{"3d6==6", 5, `found "=" where a number`},
		{"3d6>", 5, "ends where a number"},

		{"1d1!", 4, "would never stop"},
		{"1d10!>0", 5, "would never stop"},
		{"d1!!", 3, "not offered"},
		{"2d6!!", 4, "not offered"},
		{"4dF!", 4, "fudge dice do not explode"},
		{"4df!>0", 4, "fudge dice do not explode"},
		{"1d6!>6", 4, "no face of a d6 is >6"},
		{"2d6>=7", 4, "no face of a d6 is >=7"},
		{"2d6>=1", 4, "every face of a d6 is >=1"},
		{"4dF>=2", 4, "no face of a dF is >=2"},
		{"2d6r0", 4, "no face of a d6 is =0"},
		{"2d6r<7", 4, "every face of a d6 is <7"},
		{"2d6r1r2", 6, "a second reroll"},
		{"2d6ro1r2", 7, "a second reroll"},
		{"2d6r o1", 6, `found "o"`},
		{"2d6rr1", 5, "a second reroll"},
		{"2d6!!=3", 4, "not offered"},
		{"2d6!=3!=4", 7, "a second explosion"},
		{"2d6>3>4", 6, "a second success count"},
		{"2d6k1kh2", 6, "a second kh"},
		{"2d6kh3", 4, "kh3 of 2 dice"},
		{"2d6dl0", 4, "dl0 of 2 dice"},
		{"4d6d1", 4, "write dh or dl"},

		{"2147483647d2147483647", 1, "1 to 1000"},
		{"9999999d999999999", 1, "1 to 1000"},
		{"99999999999999999999999999999999999999d5", 1, "a number of 38 digits is too large; the limit is 9007199254740991"},
		{"1001d6", 1, "1001 dice; a roll takes 1 to 1000"},
		{"1d0", 3, "1 to 4294967295"},
		{"1d4294967296", 3, "1 to 4294967295"},
		{"0d6", 1, "0 dice"},
		{"(5+(-10))d10", 10, "the number of dice must be a plain number"},
		{"1000d6+1d6", 8, "could take 1001 dice"},
		{"901d6!", 1, "could take 1001 dice"},
		{"501d6r1", 1, "could take 1002 dice"},
		{"401d6r1!", 1, "could take 1002 dice"},
		{"9007199254740992", 1, "too large"},
		{"9007199254740991+1", 17, "could go beyond 9007199254740991"},
		{"3000000*3000000*3000000", 16, "could go beyond"},
		{"1d4294967295*1d4294967295", 13, "could go beyond"},
		{"0-9007199254740991-1", 19, "could go beyond"},
		{"1/0", 2, "division by zero"},
		{"2d6/(3-3)", 4, "division by zero"},
		{"10/1d6", 3, "a divisor must not hold dice"},
		{"10/(1d6*0+2)", 3, "a divisor must not hold dice"},

		{"2d6[", 4, `no "]"`},
		{"2d6[]", 4, "empty"},
		{"2d6[ \t]", 6, "control characters"},
		{"2d6[a[b]]", 6, `must not hold "["`},
		{"2d6[a\nb]", 6, "control characters"},
		{"[a]", 1, `found "["`},
		{strings.Repeat("(", 33) + "1" + strings.Repeat(")", 33), 33, "nested more than 32"},
		{strings.Repeat("-", 33) + "1", 33, "nested more than 32"},
		{strings.Repeat("1", 513), 1, "513 bytes; the limit is 512"},
		{strings.Repeat("9", 1<<20), 1, "1048576 bytes; the limit is 512"},
		{"d6" + strings.Repeat("+d6", 170), 1, "written out in full"},
	} {
		e, err := Parse(c.text)
		var syntax *SyntaxError
		if !errors.As(err, &syntax) {
			t.Errorf("%.60q: %v, error %v; want a refusal", c.text, e, err)
			continue
		}
		if syntax.Pos != c.pos || !strings.Contains(syntax.Reason, c.reason) {
			t.Errorf("%.60q: %v; want position %d: …%s…", c.text, err, c.pos, c.reason)
		}
		if len(err.Error()) > 200 || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.60q: a message of %d bytes: %q", c.text, len(err.Error()), err)
		}
	}
}

// Just inside the limits everything works.
func TestLimitsHold(t *testing.T) {
	for _, text := range []string{
		"1000d6", "1000d4294967295", "900d6!", "500d6r1", "400d6r1!", "1d4294967295", "1000d1",
		"9007199254740990+1", "-9007199254740991", "94906265*94906265", "-9007199254740991*-1",
		strings.Repeat("(", 32) + "1" + strings.Repeat(")", 32), strings.Repeat("-", 32) + "1",
		strings.Repeat("1+", 255) + "11", strings.Repeat("(1)+", 40) + "1", strings.Repeat("-1-", 40) + "1", // side by side is not nested
	} {
		e := parse(t, text)
		lowest, highest := e.Bounds()
		for _, high := range []bool{false, true} {
			dice := 0
			result := e.Roll(func(sides uint32) uint32 {
				dice++
				if high {
					return sides
				}
				return 1
			})
			if result.Total < lowest || result.Total > highest || dice > MaxDice {
				t.Errorf("%.40s: total %d of %d dice outside %d to %d", text, result.Total, dice, lowest, highest)
			}
		}
	}
	if lowest, highest := parse(t, "1000d4294967295").Bounds(); lowest != 1000 || highest != 4294967295000 {
		t.Errorf("bounds %d to %d", lowest, highest)
	}
}

// A chain of explosions ends at the stated number and says so.
func TestExplosionsAreCapped(t *testing.T) {
	result := parse(t, "2d10000!<10000+1d6").Roll(func(uint32) uint32 { return 1 })
	group := result.Groups[0]
	exploded := 0
	for _, f := range group.Faces {
		if f.Exploded {
			exploded++
		}
	}
	if len(group.Faces) != 2+MaxExplosions || exploded != MaxExplosions || !group.Capped || result.Groups[1].Capped {
		t.Errorf("%d dice, %d exploded, capped %v", len(group.Faces), exploded, group.Capped)
	}
	if !strings.Contains(result.String(), "ended after 100 explosions") {
		t.Errorf("%s does not say so", result)
	}
	if just := parse(t, "1d2!").Roll(lowAfter(100)); just.Groups[0].Capped || just.Total != 201 {
		t.Errorf("100 explosions and a low die: %d, capped %v", just.Total, just.Groups[0].Capped)
	}
}

// lowAfter is a die that shows its highest face so many times, then its lowest.
func lowAfter(n int) func(uint32) uint32 {
	return func(sides uint32) uint32 {
		if n--; n >= 0 {
			return sides
		}
		return 1
	}
}

// Whatever is typed is answered at once; what is refused costs no memory that grows with it.
func TestRefusingIsCheap(t *testing.T) {
	for _, text := range []string{
		"2147483647d2147483647", strings.Repeat("9", 1<<20), strings.Repeat("9", 500) + "d6", strings.Repeat("(", 512),
		strings.Repeat("-", 512), strings.Repeat("1d6!+", 100) + "1", "2d6[" + strings.Repeat("x", 508),
	} {
		allocations := testing.AllocsPerRun(20, func() {
			if _, err := Parse(text); err == nil {
				t.Errorf("%.40q accepted", text)
			}
		})
		if allocations > 400 {
			t.Errorf("%.40q: %v allocations", text, allocations)
		}
	}
}

func TestDieOutOfRangePanics(t *testing.T) {
	for _, face := range []uint32{0, 7} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("a d6 showed %d and nobody minded", face)
				}
			}()
			parse(t, "1d6").Roll(func(uint32) uint32 { return face })
		}()
	}
}

func TestResultJSON(t *testing.T) {
	result := parse(t, "2d6r1kh1[sword] + 2dF + 3d10>7").Roll(given(t, 1, 4, 6, 1, 3, 8, 2, 10))
	text, err := result.JSON()
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"expression":"2d6r1kh1[sword]+2dF+3d10>7","total":8,"successes":2,"groups":[` +
		`{"text":"2d6r1kh1","label":"sword","sides":6,"faces":[{"value":1,"rerolled":true},{"value":4,"dropped":true},{"value":6}],"value":6},` +
		`{"text":"2dF","sides":3,"fudge":true,"faces":[{"value":-1},{"value":1}],"value":0},` +
		`{"text":"3d10>7","sides":10,"faces":[{"value":8,"success":true},{"value":2},{"value":10,"success":true}],"counts":true,"value":2}]}`
	if string(text) != want {
		t.Errorf("%s\nwant %s", text, want)
	}
	var back Result
	if err := json.Unmarshal(text, &back); err != nil || !cmp.Equal(back, result) || !cmp.Equal(back.Draws(), result.Draws()) {
		t.Errorf("reads back as %v, %v", back, err)
	}
	if text, err := parse(t, "3").Roll(nil).JSON(); err != nil || string(text) != `{"expression":"3","total":3,"groups":[]}` {
		t.Errorf("a roll without dice: %s, %v", text, err)
	}
}

// The largest results, which must leave room for the rest of a record of 65,535 bytes.
func TestResultSize(t *testing.T) {
	for _, text := range []string{"1000d4294967295kh1", "1000d4294967295>1", strings.Repeat("1d4294967295!>1kh1+", 9) + "91d4294967295kh1"} {
		out, err := json.Marshal(parse(t, text).Roll(func(sides uint32) uint32 { return sides }))
		if err != nil || len(out) > 54*1024 {
			t.Errorf("%s: %d bytes, %v", text, len(out), err)
		}
	}
}

// texts generates expressions, most of them right.
func texts() *rapid.Generator[string] {
	dice := rapid.StringMatching(`[1-9]?(d|D)([1-9][0-9]?|%|F|4294967295)(r[1-3]?|r<3)?(!|!>1|!=2)?((kh|kl|dh|dl|k)[1-3]?){0,2}(>=2|>1|=1|<2|<=-1)?(\[a\])?`)
	return rapid.Custom(func(t *rapid.T) string {
		var text strings.Builder
		for k := range rapid.IntRange(1, 5).Draw(t, "terms") {
			if k > 0 {
				text.WriteString(rapid.SampledFrom([]string{"+", "-", "*", " + ", "/3+", "-(", ")*2-", "*-"}).Draw(t, "operator"))
			}
			text.WriteString(rapid.OneOf(dice, rapid.StringMatching(`[0-9]{1,3}`)).Draw(t, "term"))
		}
		return text.String()
	})
}

// Every accepted expression reads back from its canonical form, keeps to its bounds and its number of dice, and gives
// the same from its recorded draws.
func TestExpressionProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e, err := Parse(texts().Filter(accepted).Draw(t, "text"))
		if err != nil {
			t.Fatal(err)
		}
		checkExpression(t, e, rapid.Uint64().Draw(t, "seed"))
	})
}

// accepted is whether text is an expression at all.
func accepted(text string) bool {
	_, err := Parse(text)
	return err == nil
}

// checkExpression rolls e with dice from a seed; seeds 0 and 1 are dice that always show the lowest and highest face.
func checkExpression(t interface{ Fatalf(string, ...any) }, e *Expression, seed uint64) {
	again, err := Parse(e.String())
	if err != nil || again.String() != e.String() {
		t.Fatalf("%s reads back as %v, %v", e, again, err)
	}
	var key Seed
	copy(key[:], fmt.Sprint(seed))
	stream := NewStream(key, Seed{}, "gm", 1, Absent, Absent)
	die := stream.Die
	switch seed {
	case 0:
		die = func(uint32) uint32 { return 1 }
	case 1:
		die = func(sides uint32) uint32 { return sides }
	}
	result := e.Roll(die)
	draws := result.Draws()
	lowest, highest := e.Bounds()
	if result.Total < lowest || result.Total > highest {
		t.Fatalf("%s: total %d outside %d to %d", e, result.Total, lowest, highest)
	}
	if len(draws) > MaxDice {
		t.Fatalf("%s: %d dice", e, len(draws))
	}
	for _, expression := range []*Expression{e, again} {
		rest := draws
		replayed := expression.Roll(func(sides uint32) uint32 {
			if len(rest) == 0 || rest[0][0] != sides {
				t.Fatalf("%s: asks for a d%d, recorded are %v", e, sides, rest)
			}
			face := rest[0][1]
			rest = rest[1:]
			return face
		})
		if !cmp.Equal(result, replayed) || len(rest) > 0 {
			t.Fatalf("%s: %v, replayed %v", e, result, replayed)
		}
	}
	for _, g := range result.Groups {
		checkGroup(t, g)
	}
	written, err := result.JSON()
	if want, failed := json.Marshal(result); err != nil || failed != nil || string(written) != string(want) {
		t.Fatalf("%s: written %s, %v, want %s, %v", e, written, err, want, failed)
	}
}

// checkGroup adds the group up again from its flags alone.
func checkGroup(t interface{ Fatalf(string, ...any) }, g Group) {
	var value int64
	for _, f := range g.Faces {
		if f.Dropped && (f.Rerolled || f.Success) || f.Rerolled && (f.Exploded || f.Success) || f.Success && !g.Counts {
			t.Fatalf("%s: flags that exclude each other: %+v", g.Text, f)
		}
		if !f.Kept() {
			continue
		}
		if !g.Counts {
			value += f.Value
		} else if f.Success {
			value++
		}
	}
	if value != g.Value {
		t.Fatalf("%s: the flags say %d, the group %d", g.Text, value, g.Value)
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"3d6kh2+1", "4dF", "2d6!", "5d10!>8>=7r<3", "-(2d%-3[x])*4/-5", "1d1!", "99999999999999999999d5", "((((", "2d6[é]"} {
		f.Add(text, uint64(2))
	}
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		e, err := Parse(text)
		if err != nil {
			var syntax *SyntaxError
			if !errors.As(err, &syntax) || syntax.Pos < 1 || syntax.Pos > len(text)+1 || syntax.Reason == "" {
				t.Fatalf("%q: %#v", text, err)
			}
			return
		}
		checkExpression(t, e, seed)
	})
}

// The grammar in the docs is the grammar in the source, and the examples there give what they say.
func TestNotationPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/notation.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("notation.go")
	if err != nil {
		t.Fatal(err)
	}
	_, grammar, _ := strings.Cut(string(page), "```ebnf\n")
	grammar, _, _ = strings.Cut(grammar, "```")
	if lines := strings.Split(strings.TrimSpace(grammar), "\n"); len(lines) < 10 || !strings.Contains(string(source), "//\t"+strings.Join(lines, "\n//\t")) {
		t.Errorf("another grammar than Parse documents:\n%s", grammar)
	}
	examples := 0
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, "|")
		if len(cells) != 6 || !strings.HasPrefix(cells[1], " `") {
			continue
		}
		examples++
		text := strings.Trim(cells[1], " `")
		var list []uint32
		for _, field := range strings.Fields(strings.ReplaceAll(cells[2], ",", " ")) {
			var face int
			if _, err := fmt.Sscan(field, &face); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			if strings.Contains(strings.ToLower(text), "df") {
				face += 2
			}
			list = append(list, uint32(face))
		}
		if got := fmt.Sprint(parse(t, text).Roll(given(t, list...)).Total); got != strings.TrimSpace(cells[3]) {
			t.Errorf("%s: total %s, the page says %s", text, got, cells[3])
		}
		if len(list) == 0 {
			t.Errorf("%s throws no dice: nobody can roll it", text)
		}
	}
	if examples < 12 {
		t.Errorf("%d examples found on the page", examples)
	}
}
