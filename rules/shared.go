package rules

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"tallystick/events"
	"tallystick/rules/dice"
)

const (
	createType = "campaign.create"
	resumeType = "clock.resume"
)

// MaxDice bounds the dice typed in with one command.
const MaxDice = dice.MaxDice

// shared are the commands that all systems have.
func shared() []CommandSpec {
	return []CommandSpec{
		createSpec(),
		Spec("setting.define", "Define the setting", "Replaces what the campaign defines itself: weapons, skills and the like, in the terms of its system.", GMOnly, defineSetting),
		Spec("participant.add", "Add a participant", "Somebody joins the table. A running session gives a seat at once.", GMOnly, addParticipant),
		Spec("participant.remove", "Remove a participant", "Somebody leaves the table.", GMOnly, removeParticipant),
		Spec("session.open", "Open a session", "Begins an evening of play and seats everybody: dice are thrown only inside a session. With devices the seats stay open until seating.close.", GMOnly, openSession),
		Spec("session.close", "Close the session", "Ends the evening of play and counts what was withheld or taken back.", GMOnly, closeSession),
		Spec("seat.take", "Take a seat", "Commits a device's chains to a lane of dice.", Participants, takeSeat),
		Spec("seating.close", "Close the seats", "Makes the list of seats final and asks every device for its part of the joint seed.", GMOnly, closeSeating),
		Spec("seat.reveal", "Reveal a witness element", "A device's part of the joint seed. Reveal only under a receipt for seating.closed.", Participants, revealSeat),
		Spec("seating.seal", "Seal the seats", "Fixes the joint seed without the devices that did not answer, and names them.", GMOnly, sealSeating),
		Spec(sealType, "Seal a secret roll", "Records a secret roll by its seal; made by the program of a command whose visibility is not public.", Participants, sealRoll),
		Spec("roll.open", "Open a secret roll", "Shows everybody what was rolled in secret; anybody can then check it. For the game master, and for who rolled, unless it was rolled blind.", Participants, openRoll),
		Spec("roll.widen", "Show a secret roll to more people", "Makes the circle larger of those who may see a secret roll; it never gets smaller. To show it to everybody, open it. For the game master, and for who rolled, unless it was rolled blind.", Participants, widenRoll),
		Spec("target.seal", "Seal a hidden target", "Fixes a target before the roll without showing it.", GMOnly, sealTarget),
		Spec("target.open", "Open a hidden target", "Shows a hidden target, and how the rolls against it came out.", GMOnly, openTarget),
		Spec("roll.declare", "Declare a roll", "Announces a roll whose dice need a witness, so that nobody can foresee them.", GMOnly, declareRoll),
		Spec("roll.witness", "Witness a roll", "The witness's element, with which the declared roll is made.", Participants, witnessRoll),
		Spec("roll.pass", "Pass a witness over", "Asks the next witness; the one who did not answer is named.", GMOnly, passWitness),
		Spec("roll.void", "Take a declared roll back", "Takes a declared roll back, says why, and shows what is needed to compute what it would have been.", GMOnly, voidRoll),
		Spec("character.create", "Create a character", "With creation \"book\" the budgets of the rules are checked, with \"free\" they are not. The character's id is the id of the command.", Participants, createCharacter),
		Spec("character.amend", "Amend a character", "Replaces the sheet and says why. Wounds stay.", GMOnly, amendCharacter),
		Spec("character.retire", "Retire a character", "Takes a character out of play and says why.", GMOnly, retireCharacter),
		Spec("roll", "Roll dice", "Throws dice in free notation, such as 3d6kh2+1.", OwnCharacters, roll).InSecret(),
		Spec(LinkMakeType, "Make a link that rolls once", "Promises a roll and records it: whoever has the link's address makes it, once. A link cannot be taken back; one that nobody uses stays to be seen.", OwnCharacters, makeLink),
		Spec(LinkRollType, "Roll by a link", "Makes the roll of a link, on the lane of who made it. The link's page gives this command.", Participants, rollLink),
		Spec("clock.advance", "Advance the clock", "Lets game time pass; what falls due is decided on the way.", GMOnly, advance),
		Spec(resumeType, "Go on with an advance", "Continues an advance of the clock that takes more than one commit.", Program, resume),
		Spec("tempo.set", "Tie the clock to the wall clock", "Lets game time follow the clock on the wall for the rest of a play-by-post session: a day in a day, an hour in a day of posts, or any other ratio. Checks fall due by themselves.", GMOnly, setTempo),
		Spec("tempo.pause", "Let game time stand still", "Until tempo.resume.", GMOnly, pauseTempo),
		Spec("tempo.resume", "Let game time go on", "From this moment. Where the clock was held before a check that could kill a player character, the check is let happen, and those of this character that follow, until the next wound.", GMOnly, resumeTempo),
		Spec(FollowType, "Follow the wall clock", "Lets as much game time pass as has passed on the wall; what falls due is decided on the way.", Program, follow),
		Spec(WarnType, "Announce a lethal check", "Says ahead that a check could kill a character.", Program, warn),
		Spec(recoverType, "Begin the ledger anew", "After a loss that cannot be healed: what is left goes on as a new log, and the record names what is missing.", Program, recoverLedger),
		Spec("key.rotate", "Rotate the signing key", "Puts another signing key in the place of the one before, which names it.", Program, rotateKey),
		Spec(disputeType, "Open a dispute", "Puts a record into question: a roll, a wound, a check that fell due. The evidence is frozen with it, and nobody can erase it.", Table, openDispute),
		Spec("dispute.rule", "Rule on a dispute", "The game master's ruling, with a reason. It stands beside the dispute and beside other rulings on it.", GMOnly, ruleDispute),
		Spec(rulingType, "Override an outcome", "The game master's own word on a roll, under the policy that the campaign was created with. The dice stay what they are.", GMOnly, makeRuling),
		Spec(RulingOpenType, "Show a ruling", "Shows a ruling that was sealed when it was made. Closing the session shows all of it.", GMOnly, openRuling),
		Spec(correctionType, "Take a command back", "Takes a command back with everything that followed from it alone. The original stays visible; later rolls that it had a hand in are listed, never scored again.", GMOnly, makeCorrection),
		Spec("note.add", "Add a note", "A remark for the record.", Participants, addNote),
	}
}

// CampaignCreate is the data of campaign.create.
type CampaignCreate struct {
	Name    string                    `json:"name" minLength:"1" maxLength:"200"`
	System  string                    `json:"system"`
	Edition int                       `json:"edition,omitzero" minimum:"0" maximum:"1000000" doc:"of the rules; left out: the newest on board"`
	Options map[string]jsontext.Value `json:"options,omitzero"`
	Setting jsontext.Value            `json:"setting,omitzero"`
	GM      string                    `json:"gm"`
	VKey    string                    `json:"vkey"`
	Policy  *events.Policy            `json:"policy,omitzero"`
	// Calendar is to look at: nothing is computed by it.
	Calendar *events.Calendar `json:"calendar,omitzero"`
}

func createSpec() CommandSpec {
	return Spec(createType, "Create a campaign", "Opens a ledger.", Program, createCampaign)
}

func createCampaign(t *Turn, d *CampaignCreate) error {
	if t.c.Book != nil {
		return Reject("created_already", "", "the campaign was created already")
	}
	if err := CheckName(d.Name); err != nil {
		return &Invalid{Field: "name", Reason: err.Error()}
	}
	if err := CheckHandle(d.GM); err != nil {
		return &Invalid{Field: "gm", Reason: err.Error()}
	}
	book, err := t.c.library.Find(d.System, d.Edition)
	switch {
	case err != nil && d.Edition != 0:
		return err // a replay: about rules that are not on board nothing can be said
	case err != nil:
		return &Invalid{Field: "system", Reason: fmt.Sprintf("is %q: no such rule system is on board", d.System)}
	}
	options, err := Resolve(book, d.Options)
	if err != nil {
		return err
	}
	if err := checkCalendar(d.Calendar); err != nil {
		return err
	}
	t.Emit(&events.CampaignCreated{
		Name: d.Name, System: book.Name(), Edition: book.Edition(), Options: options.Values(),
		Setting: d.Setting, GM: d.GM, VKey: d.VKey, Policy: d.Policy, Calendar: d.Calendar,
	})
	t.Emit(&events.ParticipantJoined{Handle: d.GM, Role: RoleGM})
	return nil
}

// checkCalendar refuses a calendar that cannot be read, or whose names could
// mislead.
func checkCalendar(c *events.Calendar) error {
	if c == nil {
		return nil
	}
	names := map[string]string{}
	for i, m := range c.Months {
		names[fmt.Sprintf("months.%d.name", i)] = m.Name
	}
	for i, day := range c.Week {
		names[fmt.Sprintf("week.%d", i)] = day
	}
	if c.Name != "" {
		names["name"] = c.Name
	}
	if c.Era != "" {
		names["era"] = c.Era
	}
	for _, field := range sortedKeys(names) {
		if err := CheckName(names[field]); err != nil {
			return within("calendar", &Invalid{Field: field, Reason: err.Error()})
		}
	}
	if field, reason := c.Problem(); field != "" {
		return within("calendar", &Invalid{Field: field, Reason: reason})
	}
	return nil
}

// SettingDefine is the data of setting.define.
type SettingDefine struct {
	Setting jsontext.Value `json:"setting"`
	Reason  string         `json:"reason" minLength:"1" maxLength:"4000"`
}

func defineSetting(t *Turn, d *SettingDefine) error {
	if err := CheckText(d.Reason); err != nil {
		return &Invalid{Field: "reason", Reason: err.Error()}
	}
	t.Emit(&events.SettingDefined{Setting: d.Setting, Reason: d.Reason})
	return t.err
}

// ParticipantAdd is the data of participant.add.
type ParticipantAdd struct {
	Handle string `json:"handle" doc:"1 to 32 of a-z, 0-9, dot and hyphen"`
	Role   string `json:"role" enum:"gm,player,spectator"`
	Name   string `json:"name,omitzero" maxLength:"200"`
}

func addParticipant(t *Turn, d *ParticipantAdd) error {
	if err := CheckHandle(d.Handle); err != nil {
		return &Invalid{Field: "handle", Reason: err.Error()}
	}
	if d.Name != "" {
		if err := CheckName(d.Name); err != nil {
			return &Invalid{Field: "name", Reason: err.Error()}
		}
	}
	if _, taken := t.c.Participant(d.Handle); taken {
		return Reject("handle_taken", "", "%s takes part already", d.Handle).On("handle")
	}
	t.Emit(&events.ParticipantJoined{Handle: d.Handle, Role: d.Role, Name: d.Name})
	// While a seating is under way its closing seats whoever has no seat.
	if s := t.c.Session; s != nil && s.Open == nil && d.Role != RoleSpectator && s.lane(d.Handle) < 0 {
		sitters := []sitter{{principal: d.Handle}}
		if s.Private {
			sitters = append(sitters, sitter{d.Handle, true})
		}
		return t.seatAtOnce(sitters)
	}
	return t.err
}

// ParticipantRemove is the data of participant.remove.
type ParticipantRemove struct {
	Handle string `json:"handle"`
}

func removeParticipant(t *Turn, d *ParticipantRemove) error {
	p, ok := t.c.Participant(d.Handle)
	if !ok {
		return Reject("unknown_participant", "", "%s does not take part", d.Handle).On("handle")
	}
	if p.Role == RoleGM && t.gms() == 1 {
		return Reject("last_gm", "", "%s is the only game master", d.Handle).On("handle")
	}
	t.Emit(&events.ParticipantLeft{Handle: d.Handle})
	return nil
}

func (t *Turn) gms() int {
	n := 0
	for _, h := range t.c.Participants() {
		if p, _ := t.c.Participant(h); p.Role == RoleGM {
			n++
		}
	}
	return n
}

// CharacterCreate is the data of character.create.
type CharacterCreate struct {
	Name     string         `json:"name" minLength:"1" maxLength:"200"`
	Kind     string         `json:"kind" enum:"pc,npc"`
	Owner    string         `json:"owner,omitzero" doc:"handle of the player it belongs to"`
	Creation string         `json:"creation" enum:"book,free"`
	Sheet    jsontext.Value `json:"sheet"`
}

func createCharacter(t *Turn, d *CharacterCreate) error {
	if err := CheckName(d.Name); err != nil {
		return &Invalid{Field: "name", Reason: err.Error()}
	}
	if err := t.owner(d); err != nil {
		return err
	}
	if _, taken := t.c.Character(t.cmd.ID); taken {
		panic("rules: command " + t.cmd.ID + " is decided twice")
	}
	sheet, warnings, err := t.sheet(d.Sheet, func(sheet any) (Body, []string, error) {
		return t.c.Book.Create(t.c.Options, sheet, d.Creation == "book", t.c.Clock)
	})
	if err != nil {
		return err
	}
	t.Emit(&events.CharacterCreated{
		Subject: events.Subject{Character: t.cmd.ID}, Name: d.Name, Kind: d.Kind, Owner: d.Owner,
		Creation: d.Creation, Sheet: sheet, Warnings: warnings,
	})
	return nil
}

func (t *Turn) owner(d *CharacterCreate) error {
	if !t.GM() {
		if d.Owner == "" {
			d.Owner = t.cmd.By
		}
		if d.Owner != t.cmd.By || d.Kind != "pc" {
			return &Forbidden{Reason: "a player creates their own player characters only"}
		}
	}
	if _, known := t.c.Participant(d.Owner); d.Owner != "" && !known {
		return Reject("unknown_participant", "", "%s does not take part in this campaign", d.Owner).On("owner")
	}
	return nil
}

// sheet reads a sheet, has it judged, and writes it out in full.
func (t *Turn) sheet(raw jsontext.Value, judge func(sheet any) (Body, []string, error)) (jsontext.Value, []string, error) {
	var full jsontext.Value
	_, warnings, err := t.c.body(raw, func(sheet any) (Body, []string, error) {
		body, warnings, err := judge(sheet)
		if err != nil {
			return nil, nil, within("sheet", err)
		}
		full, err = json.Marshal(sheet, json.Deterministic(true))
		return body, warnings, err
	})
	return full, warnings, err
}

// CharacterAmend is the data of character.amend.
type CharacterAmend struct {
	Character string         `json:"character"`
	Reason    string         `json:"reason" minLength:"1" maxLength:"4000"`
	Sheet     jsontext.Value `json:"sheet"`
}

func amendCharacter(t *Turn, d *CharacterAmend) error {
	if err := CheckText(d.Reason); err != nil {
		return &Invalid{Field: "reason", Reason: err.Error()}
	}
	ch, err := t.Living("character", d.Character)
	if err != nil {
		return err
	}
	sheet, _, err := t.sheet(d.Sheet, func(sheet any) (Body, []string, error) {
		return t.c.Book.Amend(t.c.Options, ch.Body, sheet, t.c.Clock)
	})
	if err != nil {
		return err
	}
	t.Emit(&events.CharacterAmended{Subject: events.Subject{Character: ch.ID}, Reason: d.Reason, Sheet: sheet})
	return nil
}

// CharacterRetire is the data of character.retire.
type CharacterRetire struct {
	Character string `json:"character"`
	Reason    string `json:"reason" minLength:"1" maxLength:"4000"`
}

func retireCharacter(t *Turn, d *CharacterRetire) error {
	if err := CheckText(d.Reason); err != nil {
		return &Invalid{Field: "reason", Reason: err.Error()}
	}
	ch, err := t.Character("character", d.Character)
	if err != nil {
		return err
	}
	t.Emit(&events.CharacterRetired{Subject: events.Subject{Character: ch.ID}, Reason: d.Reason})
	return nil
}

// Roll is the data of roll.
type Roll struct {
	Expression string `json:"expression" minLength:"1" maxLength:"512" doc:"dice in free notation, such as 3d6kh2+1"`
	Purpose    string `json:"purpose,omitzero" maxLength:"200"`
	Character  string `json:"character,omitzero"`
}

// Actors names who acts.
func (d *Roll) Actors() []string { return actors(d.Character) }

func actors(ids ...string) []string {
	return slices.DeleteFunc(ids, func(id string) bool { return id == "" })
}

func roll(t *Turn, d *Roll) error {
	if d.Purpose != "" {
		if err := CheckName(d.Purpose); err != nil {
			return &Invalid{Field: "purpose", Reason: err.Error()}
		}
	}
	expression, err := dice.Parse(d.Expression)
	if err != nil {
		return Reject("notation", "", "%s", err.Error()).On("expression")
	}
	var who *Character
	if d.Character != "" {
		if who, err = t.Character("character", d.Character); err != nil {
			return err
		}
	}
	th := t.Throw(d.Purpose, who)
	th.Expression = d.Expression
	result := expression.RollKinds(func(sides uint32, fudge bool) uint32 {
		if fudge {
			return uint32(th.FudgeDie())
		}
		return uint32(th.Die(int(sides)))
	})
	if t.err != nil {
		return t.err
	}
	if len(th.Draws) == 0 {
		return Reject("no_dice", "", "at position 1: %s throws no dice (it is %d): a roll needs a die somewhere, such as d6", d.Expression, result.Total).On("expression")
	}
	th.Base(int(result.Total))
	th.Detail, err = result.JSON()
	return err
}

// NoteAdd is the data of note.add.
type NoteAdd struct {
	Text string `json:"text" minLength:"1" maxLength:"4000"`
}

func addNote(t *Turn, d *NoteAdd) error {
	if err := CheckText(d.Text); err != nil {
		return &Invalid{Field: "text", Reason: err.Error()}
	}
	t.Emit(&events.NoteAdded{Text: d.Text})
	return nil
}
