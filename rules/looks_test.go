package rules_test

import (
	"testing"

	"tallystick/rules"
)

// The classes are those of Unicode's confusables, UTS 39, and of D19.
func TestSkeleton(t *testing.T) {
	for _, same := range [][]string{
		{"Anna", "anna", "ANNA", "Аnnа", "Ａｎｎａ", " Anna ", "An\u200dna", "Ann\ufe0fa"},
		{"Zoë", "ZOË", "Zoe\u0308", "Zоё"},
		{"paypal", "раураl", "paypa1", "paypaI"[:5] + "l"},
		{"modern", "rnodern", "MODERN"},
		{"O'Neil", "O’Neil", "0'Neil"},
		{"a b", "a  b", "a\u00a0b", "a\u3000b"},
		{"ﬁsh", "fish"},
		{"Straße", "STRASSE", "strasse"},
		{"한글", "한글"},
		{"Ꮑ", "ꮑ"},
		{"Bob", "Bob\u3164", "\u3164Bob", "B\u115fob", "Bo\u17b4b", "B\u034fob", "ꓐob", "Βоb", "ᏴОВ"},
		{"Sir Bob", "Sir\u2800Bob"},
	} {
		for _, other := range same[1:] {
			if a, b := rules.Skeleton(same[0]), rules.Skeleton(other); a != b {
				t.Errorf("%q looks like %q, %q like %q: they should look the same", same[0], a, other, b)
			}
		}
	}
	for _, pair := range [][2]string{
		{"Anna", "Hanna"}, {"Zoe", "Zoë"}, {"Goblin 1", "Goblin 2"}, {"太郎", "次郎"}, {"مريم", "مريمة"}, {"a", "à"}, {"👩‍🚀", "👨‍🚀"}, {"Bob", "Rob"},
	} {
		if rules.Skeleton(pair[0]) == rules.Skeleton(pair[1]) {
			t.Errorf("%q and %q do not look the same", pair[0], pair[1])
		}
	}
}

// What looks like something looks like itself.
func FuzzSkeleton(f *testing.F) {
	for _, s := range []string{"Anna", "Zоё", "ﬁ", "\u0345", "é\u0301", "ǅ", "ΐ", "한글", "Ꮑ", "ꮑ", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		once := rules.Skeleton(name)
		if again := rules.Skeleton(once); rules.CheckName(name) == nil && again != once {
			t.Errorf("%q looks like %q, and that like %q", name, once, again)
		}
	})
}
