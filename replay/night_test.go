package replay_test

import (
	"bytes"
	"fmt"
	"testing"

	"tallystick/events"
	"tallystick/events/merkle"
	"tallystick/replay"
	"tallystick/rules"
	"tallystick/rules/rulestest"
)

var embers = rules.NewBook(rulestest.Ember())

// A night is a campaign in which everything happens that has to do with fair
// dice, and its log key.
type night struct {
	*rulestest.Table
	signer *merkle.Signer
	vault  rulestest.Chains // makes seals; the same chains as the table's
	secret map[int64]rules.Secret
	device map[string]*rulestest.Device // by lane
	fire   string
}

func begin(t testing.TB) *night {
	t.Helper()
	signer, err := merkle.NewSigner("ledger.example", rulestest.Campaign, bytes.Repeat([]byte{7}, merkle.SeedSize))
	if err != nil {
		t.Fatal(err)
	}
	n := &night{Table: rulestest.Empty(t, embers), signer: signer, secret: map[int64]rules.Secret{}, device: map[string]*rulestest.Device{}}
	n.Must("gm", "campaign.create", fmt.Sprintf(`{"name":"Night watch","system":"ember","gm":"gm","vkey":%q,"policy":{"overrides":"shown_later"}}`, signer.VKey()))
	for _, h := range []string{"anna", "bo", "cleo", "dan"} {
		n.Must("gm", "participant.add", fmt.Sprintf(`{"handle":%q,"role":"player"}`, h))
	}
	return n
}

func (n *night) last() int64 { return n.State.Next - 1 }

// used is how many rolls a lane has made.
func (n *night) used(lane string) int {
	n.T.Helper()
	for _, l := range n.State.Session.Lanes {
		if l.Name == lane {
			return l.Used
		}
	}
	n.T.Fatalf("there is no lane %s", lane)
	return 0
}

// seat takes a seat for a device, and gives it the lane.
func (n *night) seat(d *rulestest.Device, lane string) {
	n.T.Helper()
	n.Must(d.Handle, "seat.take", d.Take())
	n.device[lane] = d
}

// reveal answers for a lane in the seating that is closed.
func (n *night) reveal(lane string) {
	n.T.Helper()
	for _, a := range n.State.Session.Open.Ask {
		if a.Lane == lane {
			d := n.device[lane]
			n.Must(d.Handle, "seat.reveal", fmt.Sprintf(`{"lane":%q,"m":%d,"x":%q}`, lane, a.M, d.Witness(a.M)))
			return
		}
	}
	n.T.Fatalf("lane %s is not asked", lane)
}

// with gives a command with the link of a lane's device.
func (n *night) with(lane, typ, data string) int64 {
	n.T.Helper()
	d := n.device[lane]
	cmd := n.Command(d.Handle, typ, data)
	if d.C != nil {
		cmd.Seat = d.Seat(n.State, lane)
	}
	if _, err := n.Do(cmd); err != nil {
		n.T.Fatalf("%s %s: %v", typ, data, err)
	}
	return n.last()
}

// seal makes a secret roll and returns the n of the seal.
func (n *night) seal(typ, data string) int64 {
	n.T.Helper()
	sealed, secret, err := rules.DecideSecret(n.State, n.Command("gm", typ, data), &n.vault)
	if err == nil {
		_, err = n.Do(sealed)
	}
	if err != nil {
		n.T.Fatal(err)
	}
	n.secret[n.last()] = secret
	return n.last()
}

// hide seals a target and returns the n of the seal.
func (n *night) hide(value int) int64 {
	n.T.Helper()
	cmd, secret, err := rules.HideTarget(n.Command("gm", "target.seal", fmt.Sprintf(`{"target":{"value":%d}}`, value)), &n.vault)
	if err == nil {
		_, err = n.Do(cmd)
	}
	if err != nil {
		n.T.Fatal(err)
	}
	n.secret[n.last()] = secret
	return n.last()
}

// open opens a seal; what is roll or target.
func (n *night) open(what string, seal int64) {
	n.T.Helper()
	s := n.secret[seal]
	earlier := ""
	if what == "roll" {
		earlier = `,"shows_earlier":true`
	}
	n.Must("gm", what+".open", fmt.Sprintf(`{%q:%d,"salt":"%x","payload":%q%s}`, what, seal, s.Salt, s.Payload, earlier))
}

// dispute is the data of a dispute about a record, with the evidence of it.
func (n *night) dispute(roll int) string {
	lines := n.lines()
	var tree merkle.Frontier
	for _, line := range lines {
		tree.Append(line)
	}
	root, leaf := tree.Root(), merkle.LeafHash(lines[roll])
	return fmt.Sprintf(`{"roll":%d,"question":"Was it?","evidence":{"size":%d,"root":"%x","leaf":"%x"}}`, roll, len(lines), root[:], leaf[:])
}

// rule makes a ruling that is shown later and returns the n of the seal.
func (n *night) rule(roll int) int64 {
	n.T.Helper()
	data := fmt.Sprintf(`{"roll":%d,"outcome":"it burns","reason":"dry enough"}`, roll)
	cmd, secret, err := rules.HideRuling(n.State, n.Command("gm", "ruling.make", data), &n.vault)
	if err == nil {
		_, err = n.Do(cmd)
	}
	if err != nil {
		n.T.Fatal(err)
	}
	n.secret[n.last()] = secret
	return n.last()
}

// historian is chains that can read the ledger again.
type historian struct {
	*rulestest.Chains
	payloads [][]byte
}

func (h historian) Correct(c *rules.Campaign, x rules.Correction) (*rules.Difference, error) {
	return replay.Correct(func(each func(payload []byte) error) error {
		for _, payload := range h.payloads {
			if err := each(payload); err != nil {
				return err
			}
		}
		return nil
	}, c, x)
}

// correct takes a command back.
func (n *night) correct(command string) {
	n.T.Helper()
	cmd := n.Command("gm", "correction.make", fmt.Sprintf(`{"command":%q,"reason":"it rained"}`, command))
	facts, err := rules.Decide(n.State, cmd, historian{&n.vault, n.Payloads})
	if err != nil {
		n.T.Fatal(err)
	}
	payload := n.Encode(cmd, facts)
	recs, err := events.ParseCommit(payload)
	if err == nil {
		err = n.State.ApplyCommit(recs)
	}
	if err != nil {
		n.T.Fatal(err)
	}
	n.Records, n.Payloads = append(n.Records, recs...), append(n.Payloads, payload)
}

// declare declares a stoking and returns its n.
func (n *night) declare(lane string) int64 {
	n.T.Helper()
	return n.with(lane, "roll.declare", fmt.Sprintf(`{"command":"ember.stoke","arguments":{"character":%q,"logs":2},"purpose":"the last log"}`, n.fire))
}

// witness answers as the lane that is asked.
func (n *night) witness() {
	n.T.Helper()
	d := n.State.Session.Declared
	device := n.device[d.Witness.Lane]
	n.Must(device.Handle, "roll.witness", fmt.Sprintf(`{"declared":%d,"w":%q}`, d.N, device.Witness(d.Witness.M)))
}

// play plays the night with devices.
func play(t testing.TB) *night {
	t.Helper()
	n := begin(t)
	n.Must("gm", "session.open", `{"title":"The long night","kind":"table","devices":true}`)
	n.seat(rulestest.NewDevice(t, "gm", "gm", 64, 64), "gm")
	n.seat(rulestest.NewDevice(t, "anna", "anna", 20, 32), "anna")
	n.seat(rulestest.NewDevice(t, "bo", "bo", 0, 32), "bo")
	n.Must("gm", "seating.close", `{}`)
	n.reveal("anna")
	n.reveal("gm")
	n.Must("gm", "seating.seal", `{}`) // bo is missing
	n.Must("anna", "character.create", `{"name":"Hearth","kind":"pc","creation":"free","sheet":{"points":60}}`)
	n.fire = n.Records[n.last()].Cmd.ID
	n.Must("gm", "character.create", `{"name":"Torch","kind":"npc","creation":"free","sheet":{"points":9}}`)

	n.with("anna", "roll", `{"expression":"2d6+1","purpose":"spark"}`)
	n.Must("dan", "roll", `{"expression":"1d20"}`)
	n.Must("bo", "roll", `{"expression":"1d100"}`, 42)
	first := n.seal("roll", `{"expression":"3d6","purpose":"who listens"}`)
	second := n.seal("roll", `{"expression":"1d20","purpose":"the trap"}`)
	n.seal("roll", `{"expression":"1d20","purpose":"never told"}`)
	n.open("roll", second)
	n.open("roll", first)

	target := n.hide(7)
	n.hide(9) // never opened
	n.with("anna", "ember.stoke", fmt.Sprintf(`{"character":%q,"logs":2,"call":%d}`, n.fire, target))
	n.open("target", target)

	n.declare("gm")
	n.witness() // anna, the first by name
	declared := n.declare("gm")
	n.Must("gm", "roll.pass", fmt.Sprintf(`{"declared":%d}`, declared)) // bo is passed over for anna
	n.witness()
	declared = n.declare("gm")
	n.Must("gm", "roll.void", fmt.Sprintf(`{"declared":%d,"reason":"the fire is out of sight"}`, declared))

	n.seat(rulestest.NewDevice(t, "cleo", "cleo", 64, 8), "cleo.2") // late: she was seated without
	n.Must("gm", "seating.close", `{}`)
	for _, lane := range []string{"cleo.2", "gm", "bo", "anna"} {
		n.reveal(lane)
	}
	n.with("cleo.2", "roll", `{"expression":"4dF"}`)

	n.Must("gm", "clock.advance", `{"seconds":35}`) // ticks of both fires

	for n.used("anna") < 4 {
		n.with("anna", "roll", `{"expression":"1d6"}`)
	}
	n.seat(rulestest.NewDevice(t, "anna", "anna again", 64, 8), "anna.2") // 16 left
	d := rulestest.NewDevice(t, "bo", "bo again", 32, 32)
	n.Must("bo", "seat.take", fmt.Sprintf(`{"c0":%q,"x0":%q,"n":32,"lost":true}`, d.C.Anchor(), d.X.Anchor()))
	n.device["bo.2"] = d
	n.Must("gm", "seating.close", `{}`)
	for _, a := range n.State.Session.Open.Ask {
		if a.Lane != "bo" {
			n.reveal(a.Lane)
		}
	}
	if n.State.Session.Open != nil {
		n.Must("gm", "seating.seal", `{}`)
	}
	n.with("anna.2", "ember.stoke", fmt.Sprintf(`{"character":%q,"logs":3}`, n.fire))
	n.with("bo.2", "roll", `{"expression":"2d10kh1"}`)
	declared = n.declare("gm")
	n.Must("gm", "roll.void", fmt.Sprintf(`{"declared":%d,"reason":"it is late"}`, declared))
	n.Must("bo", "dispute.open", n.dispute(20))
	n.open("ruling", n.rule(20))
	n.rule(21) // never shown
	n.Must("gm", "session.close", `{}`)

	n.Must("gm", "session.open", `{"title":"A walk","kind":"downtime"}`)
	walk := n.Must("gm", "clock.advance", `{"seconds":40}`)
	n.correct(walk) // game time runs back
	n.Must("gm", "clock.advance", `{"seconds":30}`)
	n.Must("gm", "note.add", `{"text":"The end — for now."}`)
	n.Must("gm", "session.close", `{}`)
	return n
}

// lines are the records as stored.
func (n *night) lines() [][]byte {
	return bytes.Split(bytes.Join(n.Payloads, []byte("\n")), []byte("\n"))
}

// export writes records as a ledger is exported.
func export(lines [][]byte) []byte { return append(bytes.Join(lines, []byte("\n")), '\n') }

// sign signs a checkpoint over the first size of the records.
func (n *night) sign(lines [][]byte, size int) []byte {
	n.T.Helper()
	var tree merkle.Frontier
	for _, line := range lines[:size] {
		tree.Append(line)
	}
	note, err := n.signer.Sign(tree.Size(), tree.Root())
	if err != nil {
		n.T.Fatal(err)
	}
	return note
}
