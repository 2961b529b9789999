package rulestest

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"tallystick/events"
	"tallystick/rules"
	"tallystick/rules/dice"
)

// Salt implements rules.Salts: what only the holder of the master key can
// know.
func (m *Chains) Salt(label string) ([]byte, error) {
	salt := sha256.Sum256([]byte("a salt that nobody guesses\n" + label))
	return salt[:], nil
}

// A Device holds the chains of a participant, as a phone or the command line
// does: the server never sees more of them than what is shown.
type Device struct {
	T      testing.TB
	Handle string
	C, X   *dice.Chain // nil when the device has none
}

// NewDevice makes the chains of a device from its name: c of n elements and x
// of m; zero for none.
func NewDevice(t testing.TB, handle, name string, n, m int) *Device {
	t.Helper()
	make := func(kind string, n int) *dice.Chain {
		if n == 0 {
			return nil
		}
		chain, err := dice.NewChain(sha256.Sum256([]byte(kind+name)), n)
		if err != nil {
			t.Fatal(err)
		}
		return chain
	}
	return &Device{T: t, Handle: handle, C: make("c of ", n), X: make("x of ", m)}
}

// Take is the data of a seat.take with the device's chains.
func (d *Device) Take() string {
	switch {
	case d.C == nil:
		return fmt.Sprintf(`{"x0":%q}`, d.X.Anchor())
	case d.X == nil:
		return fmt.Sprintf(`{"c0":%q,"n":%d}`, d.C.Anchor(), d.C.Len())
	}
	return fmt.Sprintf(`{"c0":%q,"x0":%q,"n":%d}`, d.C.Anchor(), d.X.Anchor(), d.C.Len())
}

// Seat is what the device adds to its owner's next roll on a lane.
func (d *Device) Seat(c *rules.Campaign, lane string) *events.Seat {
	d.T.Helper()
	for _, l := range c.Session.Lanes {
		if l.Name == lane {
			return &events.Seat{Lane: lane, I: l.Used + 1, C: element(d.T, d.C, l.Used+1)}
		}
	}
	d.T.Fatalf("there is no lane %s", lane)
	return nil
}

// Witness is element m of the witness chain.
func (d *Device) Witness(m int) string {
	d.T.Helper()
	return element(d.T, d.X, m)
}

func element(t testing.TB, chain *dice.Chain, i int) string {
	t.Helper()
	seed, err := chain.Link(i)
	if err != nil {
		t.Fatal(err)
	}
	return seed.String()
}
