package rpgamix

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// The weapon table, each row as the book runs its six columns together: damage
// potential, to-hit penalty, parry modifier, maximum and minimum range, minimum
// strength (RPGX-13). A star is a weapon without a strength bonus.
func TestWeaponTable(t *testing.T) {
	printed := strings.Split(`Fist/Hand 00---10050---
Kick 5-1---200200---
Shield (bludgeon) 5-1+55050+1
Club 20-10150100---
Knife 200011025---
Short Sword 30-1+215050---
Long Sword 30-1+2200200---
Broad Sword 40-2+1200200+2
Spear 40-1+2300200 (50, choke)-1
Javelin 20-1/50m+21000+(100xstr)200---
Mace 40-10200100+2
Short Bow* 30-1/50m---200002000
Long Bow* 40-1/50m---30000200+2
Cross-Bow* 75-1/50m015000100+1
Sling* 20-1/50m---10000200---
Pistol* 40-80-1/75m---250000-2
Shotgun* 80-100-1/150m---500001000
Rifle* 60-100-1/250m---1000001000`, "\n")
	var ours []string
	for _, w := range weaponTable {
		ours = append(ours, w.printed())
	}
	if !slices.Equal(ours, printed) {
		for i := range max(len(ours), len(printed)) {
			if i >= len(ours) || i >= len(printed) || ours[i] != printed[i] {
				t.Errorf("row %d differs:\n%s\n%s", i+1, strings.Join(ours, "\n"), strings.Join(printed, "\n"))
				break
			}
		}
	}
}

// printed is the row in the book's notation.
func (w Weapon) printed() string {
	var b strings.Builder
	b.WriteString(w.Name)
	if w.NoStrength {
		b.WriteString("*")
	}
	fmt.Fprintf(&b, " %d", w.Potential)
	if w.Models != 0 {
		fmt.Fprintf(&b, "-%d", w.Models)
	}
	if w.PerMetres != 0 {
		fmt.Fprintf(&b, "-1/%dm", w.PerMetres)
	} else {
		fmt.Fprint(&b, w.ToHit)
	}
	b.WriteString(signed(w.Parry))
	fmt.Fprint(&b, w.Max)
	if w.MaxStrength != 0 {
		fmt.Fprintf(&b, "+(%dxstr)", w.MaxStrength)
	}
	fmt.Fprint(&b, w.Min)
	if w.Choked != 0 {
		fmt.Fprintf(&b, " (%d, choke)", w.Choked)
	}
	return b.String() + signed(w.MinStrength)
}

func signed(n *int) string {
	switch {
	case n == nil:
		return "---"
	case *n == 0:
		return "0"
	}
	return fmt.Sprintf("%+d", *n)
}

// What the book prints of its disciplines: prices, what has to be learned
// before, what comes with them, what they permit (RPGX-66, RPGX-75, RPGX-86 to
// RPGX-89).
func TestPrintedDisciplines(t *testing.T) {
	for _, x := range []struct{ name, costs, requires, grants, permits, backgrounds, free string }{
		{"Generic Fighting", "20 25", "", "", "Aggravated Attack, Strategic Defense", "", ""},
		{"Brotherhood of Pyromancy", "50", "", "", "Fire Defense, Create Fire, Control Fire, Extinguish Fire", "", ""},
		{"Elementary Education", "5", "", "Arithmetic:2 Reading:2 Writing:2", "Social Studies, Geography, Computers, Language, Memorization", "", ""},
		{"Highschool Education", "5", "Elementary Education", "", "", "", ""},
		{"Math", "", "Highschool Education", "", "", "", ""},
		{"English", "", "Highschool Education", "", "", "", ""},
		{"Foreign Language", "", "Highschool Education", "", "", "", ""},
		{"Science", "", "Highschool Education", "", "", "", ""},
		{"Social Studies", "", "Highschool Education", "", "", "", ""},
		{"College Education", "", "", "", "", "", ""},
		{"Medical Doctor", "10", "Elementary Education, Highschool Education, College Education", "",
			"First Aid, EMT, Diagnosis, Long-Term Care/Healing, Psychoanalysis, Surgery, Research, Gross Anatomy, Pharmacology", "Wealth, Special Facilities", "Licence to Practice Medicine"},
		{"Samurai", "", "", "", "", "Danger Sense", ""},
		{"Aristocrat", "", "", "", "", "Land, Education, Leadership", ""},
	} {
		d, ok := find((&Setting{}).library(), x.name)
		if !ok {
			t.Errorf("there is no discipline %s", x.name)
			continue
		}
		for what, pair := range map[string][2]string{
			"prices":        {strings.Trim(fmt.Sprint(d.Costs), "[]"), x.costs},
			"prerequisites": {strings.Join(d.Requires, ", "), x.requires},
			"skills":        {strings.Trim(fmt.Sprint(d.Grants), "map[]"), x.grants},
			"permissions":   {strings.Join(d.Permits, ", "), x.permits},
			"backgrounds":   {strings.Join(d.Backgrounds, ", "), x.backgrounds},
			"free":          {strings.Join(d.Free, ", "), x.free},
		} {
			if pair[0] != pair[1] {
				t.Errorf("%s of %s: got %s, want %s", what, x.name, pair[0], pair[1])
			}
		}
	}
	if len(printedDisciplines) != 13 {
		t.Errorf("%d disciplines are printed, 13 are looked at", len(printedDisciplines))
	}
}

// The book's two tables of materials: what each multiplies the difficulty by
// where its combustibility helps (RPGX-83), and where it hinders (RPGX-84).
func TestMaterials(t *testing.T) {
	helps := "oil/gas 1/4, dry oily tinder/wax 1/2, dry tinder/hair 1, hardwood/bone 2, damp tinder/flesh 3, soggy tinder 4, rock 10, water 10, air 10"
	hinders := "oil/gas 4, dry oily tinder/wax 2, dry tinder/hair 1, hardwood/bone 2, damp tinder/flesh 1/2, soggy tinder 1/4, rock 10, water 1/8, air 1/10"
	var ours [2][]string
	for _, m := range materials {
		for i, r := range []ratio{m.helps, m.hinders} {
			ours[i] = append(ours[i], strings.TrimSuffix(fmt.Sprintf("%s %d/%d", m.name, r.num, r.den), "/1"))
		}
	}
	for i, want := range []string{helps, hinders} {
		if got := strings.Join(ours[i], ", "); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
