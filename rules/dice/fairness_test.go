package dice

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"pgregory.net/rapid"
)

// vectors are the published vectors of the fairness specification, made by an independent implementation.
type vectors struct {
	Campaign, Session string
	Master            string
	Lanes             []struct {
		Lane        string
		N           int
		Tail        Seed
		S0, S1, S2  Seed
		RollerTail  string `json:"roller_tail"`
		C0, C1      string
		WitnessTail string `json:"witness_tail"`
		WitnessN    int    `json:"witness_n"`
		X0, X1      string
	}
	Seatings []struct {
		Seating int
		Prev    string
		Joint   Seed
		Seats   []Row
	}
	Rolls []struct {
		Name      string
		Lane      string
		I         int
		S, Joint  Seed
		SPrev     Seed   `json:"s_prev"`
		CPrev     string `json:"c_prev"`
		C, W      string
		Message0  string
		Block0    string
		Draws     [][2]uint32
		WordsUsed int `json:"words_used"`
	}
}

func load(t testing.TB) vectors {
	t.Helper()
	data, err := os.ReadFile("testdata/fairness.json")
	if err != nil {
		t.Fatal(err)
	}
	var v vectors
	if err := json.Unmarshal(data, &v, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(err)
	}
	if len(v.Lanes) != 6 || len(v.Seatings) != 2 || len(v.Rolls) != 39 {
		t.Fatalf("%d lanes, %d seatings, %d rolls: not the vectors this test knows", len(v.Lanes), len(v.Seatings), len(v.Rolls))
	}
	return v
}

func chainOf(t testing.TB, tail Seed, n int) *Chain {
	t.Helper()
	c, err := NewChain(tail, n)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func link(t testing.TB, c *Chain, i int) Seed {
	t.Helper()
	s, err := c.Link(i)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func seedOf(t testing.TB, text string) Seed {
	t.Helper()
	s, err := ParseSeed(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestVectorsLanes(t *testing.T) {
	v := load(t)
	master, err := hex.DecodeString(v.Master)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range v.Lanes {
		if got := Tail(master, v.Campaign, v.Session, l.Lane); got != l.Tail {
			t.Errorf("%s: tail %v, want %v", l.Lane, got, l.Tail)
		}
		s := chainOf(t, l.Tail, l.N)
		if s.Anchor() != l.S0 || link(t, s, 1) != l.S1 || link(t, s, 2) != l.S2 || link(t, s, l.N) != l.Tail || s.Len() != l.N {
			t.Errorf("%s: server chain %v %v %v", l.Lane, s.Anchor(), link(t, s, 1), link(t, s, 2))
		}
		for _, device := range []struct {
			tail          string
			n             int
			anchor, first string
		}{{l.RollerTail, l.N, l.C0, l.C1}, {l.WitnessTail, l.WitnessN, l.X0, l.X1}} {
			if device.tail == "" {
				continue
			}
			c := chainOf(t, seedOf(t, device.tail), device.n)
			if c.Anchor().String() != device.anchor || link(t, c, 1).String() != device.first {
				t.Errorf("%s: device chain %v %v, want %v %v", l.Lane, c.Anchor(), link(t, c, 1), device.anchor, device.first)
			}
		}
		if !ValidLane(l.Lane) {
			t.Errorf("%s: not a valid lane", l.Lane)
		}
	}
}

func TestVectorsSeatings(t *testing.T) {
	v := load(t)
	for _, seating := range v.Seatings {
		rows := slices.Clone(seating.Seats)
		for _, reorder := range []func([]Row){func([]Row) {}, slices.Reverse[[]Row]} {
			reorder(rows)
			before := slices.Clone(rows)
			if got := Joint(v.Campaign, v.Session, seating.Seating, seating.Prev, rows); got != seating.Joint {
				t.Errorf("seating %d: joint %v, want %v", seating.Seating, got, seating.Joint)
			}
			if !slices.Equal(rows, before) {
				t.Errorf("seating %d: the caller's rows were reordered", seating.Seating)
			}
		}
	}
}

func TestVectorsRolls(t *testing.T) {
	v := load(t)
	for _, r := range v.Rolls {
		if r.S.Next() != r.SPrev {
			t.Errorf("%s: s does not follow %v", r.Name, r.SPrev)
		}
		if r.C != Absent && seedOf(t, r.C).Next().String() != r.CPrev {
			t.Errorf("%s: c does not follow %v", r.Name, r.CPrev)
		}
		s := NewStream(r.S, r.Joint, r.Lane, r.I, r.C, r.W)
		for k, draw := range r.Draws {
			if face := s.Die(draw[0]); face != draw[1] {
				t.Errorf("%s: die %d of %d sides shows %d, want %d", r.Name, k+1, draw[0], face, draw[1])
			}
		}
		if words := int(s.next)*8 - (sha256.Size-s.used)/4; words != r.WordsUsed {
			t.Errorf("%s: %d words used, want %d", r.Name, words, r.WordsUsed)
		}

		first := NewStream(r.S, r.Joint, r.Lane, r.I, r.C, r.W)
		first.fill()
		if message := string(first.inner[sha256.BlockSize:]); message != r.Message0 {
			t.Errorf("%s: message %q, want %q", r.Name, message, r.Message0)
		}
		if block := hex.EncodeToString(first.block[:]); block != r.Block0 {
			t.Errorf("%s: block 0 %s, want %s", r.Name, block, r.Block0)
		}
	}
}

// The written-out HMAC is crypto/hmac's, for names and texts of any length and for late blocks.
func TestStreamIsHMAC(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.SliceOfN(rapid.Byte(), 32, 32)
		key, joint := Seed(seed.Draw(t, "s")), Seed(seed.Draw(t, "joint"))
		lane := rapid.StringMatching(`[a-z0-9][a-z0-9.-]{0,62}`).Draw(t, "lane")
		i := rapid.IntRange(1, MaxChain).Draw(t, "i")
		c := rapid.StringMatching(`-|[0-9a-f]{64}|[0-9a-f]{300}`).Draw(t, "c")
		w := rapid.StringMatching(`-|[0-9a-f]{64}`).Draw(t, "w")
		blocks := rapid.IntRange(1, 12).Draw(t, "blocks")

		s := NewStream(key, joint, lane, i, c, w)
		for b := range blocks {
			mac := hmac.New(sha256.New, key[:])
			mac.Write([]byte(strings.Join([]string{"dice/v1", joint.String(), lane, strconv.Itoa(i), c, w, strconv.Itoa(b), ""}, "\n")))
			want := mac.Sum(nil)
			for k := 0; k < len(want); k += 4 {
				word := uint32(want[k])<<24 | uint32(want[k+1])<<16 | uint32(want[k+2])<<8 | uint32(want[k+3])
				if got := s.word(); got != word {
					t.Fatalf("block %d byte %d: word %08x, want %08x", b, k, got, word)
				}
			}
		}
	})
}

// What-if dice are HMAC under the hash of the dispute, and are not the dice of the lane.
func TestWhatIfStream(t *testing.T) {
	joint := sha256.Sum256([]byte("joint"))
	key := sha256.Sum256([]byte("dice-whatif/v1\nd-1\n"))
	mac := hmac.New(sha256.New, key[:])
	mac.Write([]byte("dice-whatif/v1\n" + Seed(joint).String() + "\nanna\n7\n-\n-\n0\n"))
	want := hex.EncodeToString(mac.Sum(nil))

	s := WhatIfStream("d-1", joint, "anna", 7, Absent, Absent)
	s.fill()
	if got := hex.EncodeToString(s.block[:]); got != want {
		t.Errorf("block 0 %s, want %s", got, want)
	}
	lane := NewStream(key, joint, "anna", 7, Absent, Absent)
	lane.fill()
	if lane.block == s.block {
		t.Error("a what-if has the dice of a lane")
	}
}

// A lane's dice are the same whichever other lanes roll in between, and in whatever order its own links are asked.
func TestLanesDoNotTouch(t *testing.T) {
	const rolls = 40
	lanes := []string{"anna", "ben", "gm", "system"}
	joint := Seed(sha256.Sum256([]byte("joint")))
	value := func(c *Chain, lane string, i int) [3]uint32 {
		s := NewStream(link(t, c, i), joint, lane, i, Absent, Absent)
		return [3]uint32{s.Die(6), s.Die(10), s.Die(100)}
	}
	alone := map[string][][3]uint32{}
	for _, lane := range lanes {
		c := chainOf(t, Tail(make([]byte, 32), "campaign", "session", lane), rolls)
		for i := 1; i <= rolls; i++ {
			alone[lane] = append(alone[lane], value(c, lane, i))
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		chains := map[string]*Chain{}
		for _, lane := range lanes {
			chains[lane] = chainOf(t, Tail(make([]byte, 32), "campaign", "session", lane), rolls)
		}
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			lane := rapid.SampledFrom(lanes).Draw(rt, "lane")
			i := rapid.IntRange(1, rolls).Draw(rt, "i")
			if got := value(chains[lane], lane, i); got != alone[lane][i-1] {
				rt.Fatalf("%s %d: %v, want %v", lane, i, got, alone[lane][i-1])
			}
		}
	})
}

// Every length up to 300, and the longest: each link hashes to the one before, ascending, descending and at random.
func TestChainLinks(t *testing.T) {
	lengths := []int{4095, 4096, 4097, MaxChain}
	for n := 1; n <= 300; n++ {
		lengths = append(lengths, n)
	}
	for _, n := range lengths {
		tail := Seed(sha256.Sum256([]byte(strconv.Itoa(n))))
		elements := make([]Seed, n+1)
		elements[n] = tail
		for i := n; i > 0; i-- {
			elements[i-1] = sha256.Sum256(elements[i][:])
		}
		c := chainOf(t, tail, n)
		if c.Anchor() != elements[0] {
			t.Fatalf("n %d: anchor %v, want %v", n, c.Anchor(), elements[0])
		}
		for i := 1; i <= n; i++ {
			if link(t, c, i) != elements[i] {
				t.Fatalf("n %d: link %d differs, ascending", n, i)
			}
		}
		random := rand.New(rand.NewPCG(1, uint64(n)))
		for range min(n, 400) {
			if i := 1 + random.IntN(n); link(t, c, i) != elements[i] {
				t.Fatalf("n %d: link %d differs, at random", n, i)
			}
		}
		if kept := len(c.kept) + len(c.links); kept > 2*int(math.Sqrt(float64(n)))+4 {
			t.Errorf("n %d: %d seeds kept, want about 2·sqrt(n)", n, kept)
		}
		for _, i := range []int{-1, 0, n + 1} {
			if _, err := c.Link(i); err == nil {
				t.Errorf("n %d: link %d exists", n, i)
			}
		}
	}
	for _, n := range []int{-1, 0, MaxChain + 1} {
		if _, err := NewChain(Seed{}, n); err == nil {
			t.Errorf("a chain of %d links exists", n)
		}
	}
}

func TestSeedText(t *testing.T) {
	good := strings.Repeat("0123456789abcdef", 4)
	s := seedOf(t, good)
	if s.String() != good {
		t.Errorf("%s, want %s", s, good)
	}
	if text, err := json.Marshal(s); err != nil || string(text) != `"`+good+`"` {
		t.Errorf("JSON %s, %v", text, err)
	}
	for _, bad := range []string{"", "-", good[1:], good + "0", " " + good[1:], good[:63] + "\n", strings.ToUpper(good), good[:63] + "g", "0x" + good[2:]} {
		kept := s
		if err := kept.UnmarshalText([]byte(bad)); err == nil || kept != s {
			t.Errorf("%q: error %v, seed %v", bad, err, kept)
		}
	}
}

func TestValidLane(t *testing.T) {
	for _, good := range []string{"a", "0", "anna", "anna.2", "gm-secret", "a-", strings.Repeat("a", 63)} {
		if !ValidLane(good) {
			t.Errorf("%q refused", good)
		}
	}
	for _, bad := range []string{"", "-a", ".a", "Anna", "an na", "anna\n", "änna", "a_b", strings.Repeat("a", 64)} {
		if ValidLane(bad) {
			t.Errorf("%q accepted", bad)
		}
	}
}

// The accepted words are 0 to the last multiple of the sides, so each face has equally many of the 2^32 words: every
// word around the boundary, where a wrong comparison would show, and the face of the last one accepted.
func TestRejectionBoundary(t *testing.T) {
	for _, n := range []uint32{2, 3, 4, 6, 7, 8, 10, 12, 20, 100, 1000, 1<<31 - 1, 1 << 31, 1<<31 + 1, math.MaxUint32} {
		refused := uint32((1 << 32) % uint64(n))
		for distance := range min(refused+2*n, 300) {
			word := math.MaxUint32 - distance
			face, ok := faceOf(word, n)
			if ok != (distance >= refused) {
				t.Errorf("d%d: word %#x accepted %v; %d words are to be refused", n, word, ok, refused)
			}
			if ok && face != word%n+1 {
				t.Errorf("d%d: word %#x shows %d", n, word, face)
			}
		}
		last := math.MaxUint32 - refused // the highest word accepted shows the highest face
		if face, ok := faceOf(last, n); !ok || face != n {
			t.Errorf("d%d: last word %#x shows %d, %v", n, last, face, ok)
		}
	}
}

func TestDieOfOneAndNone(t *testing.T) {
	s := NewStream(Seed{}, Seed{}, "anna", 1, Absent, Absent)
	if s.Die(1) != 1 || s.next != 0 {
		t.Error("a one-sided die took a word")
	}
	defer func() {
		if recover() == nil {
			t.Error("a die without sides was rolled")
		}
	}()
	s.Die(0)
}

// chiSquare of counts against the expected shares, which sum to 1.
func chiSquare(counts []int, shares []float64) float64 {
	total, sum := 0, 0.0
	for _, c := range counts {
		total += c
	}
	for k, c := range counts {
		expected := float64(total) * shares[k]
		sum += (float64(c) - expected) * (float64(c) - expected) / expected
	}
	return sum
}

func even(n int) []float64 {
	return slices.Repeat([]float64{1 / float64(n)}, n)
}

// Ten million dice of ten real chains, sixteen a roll, and the same with the first die of each roll only; one of the
// chains in a short run. The bounds are passed by luck once in a thousand (df 5 and 9); the seeds are fixed, so a
// failure is a fault.
func TestFacesAreEven(t *testing.T) {
	chains := 10
	if testing.Short() {
		chains = 1
	}
	for _, c := range []struct {
		sides uint32
		bound float64
	}{{6, 20.52}, {10, 27.88}} {
		all, first := make([]int, c.sides), make([]int, c.sides)
		for session := range chains {
			chain := chainOf(t, Tail([]byte("even"), "campaign", fmt.Sprint("session ", session), "gm"), MaxChain)
			for i := 1; i <= 62500; i++ {
				s := NewStream(link(t, chain, i), Seed{1}, "gm", i, Absent, Absent)
				first[s.Die(c.sides)-1]++
				for range 15 {
					all[s.Die(c.sides)-1]++
				}
			}
		}
		for face, n := range first {
			all[face] += n
		}
		for name, counts := range map[string][]int{"all": all, "first of a roll": first} {
			if got := chiSquare(counts, even(int(c.sides))); got > c.bound {
				t.Errorf("d%d, %s: chi-square %.2f over %.2f: %v", c.sides, name, got, c.bound, counts)
			}
		}
	}
}

// 360,000 sums of 2d6 against 1, 2, … 6 … 2, 1 of 36, df 10; the sum sees dice that depend on each other.
func TestPairsAreIndependent(t *testing.T) {
	chain := chainOf(t, Tail([]byte("pairs"), "campaign", "session", "gm"), 60000)
	counts, shares := make([]int, 11), make([]float64, 11)
	for k := range shares {
		shares[k] = float64(6-max(k-5, 5-k)) / 36
	}
	for i := 1; i <= 60000; i++ {
		s := NewStream(link(t, chain, i), Seed{2}, "gm", i, Absent, Absent)
		for range 6 {
			counts[s.Die(6)+s.Die(6)-2]++
		}
	}
	if got := chiSquare(counts, shares); got > 29.59 {
		t.Errorf("chi-square %.2f over 29.59: %v", got, counts)
	}
}

func BenchmarkRollOneDie(b *testing.B) {
	b.ReportAllocs()
	for i := range b.N {
		NewStream(Seed{1}, Seed{2}, "anna", i, Absent, Absent).Die(10)
	}
}

func BenchmarkHMACAlone(b *testing.B) {
	b.ReportAllocs()
	message := []byte("dice/v1\n" + Seed{2}.String() + "\nanna\n1234\n-\n-\n0\n")
	for range b.N {
		mac := hmac.New(sha256.New, make([]byte, 32))
		mac.Write(message)
		mac.Sum(nil)
	}
}

func BenchmarkNextDie(b *testing.B) {
	s := NewStream(Seed{1}, Seed{2}, "anna", 1, Absent, Absent)
	for range b.N {
		s.Die(10)
	}
}

func BenchmarkChainLink(b *testing.B) {
	c := chainOf(b, Seed{1}, MaxChain)
	b.ResetTimer()
	for i := range b.N {
		link(b, c, i%MaxChain+1)
	}
}

// A stream that has given dice before and begins anew gives those of a new one.
func TestStreamBegin(t *testing.T) {
	var used Stream
	for i := 1; i <= 3; i++ {
		lane := strings.Repeat("anna", 4-i)
		used.Begin(Seed{byte(i)}, Seed{2}, lane, i, Absent, Absent)
		fresh := NewStream(Seed{byte(i)}, Seed{2}, lane, i, Absent, Absent)
		for k := range 5 * i { // ends inside a block, and within the second
			if got, want := used.Die(1<<31), fresh.Die(1<<31); got != want {
				t.Errorf("roll %d, die %d: got %d, want %d", i, k+1, got, want)
			}
		}
	}
}
