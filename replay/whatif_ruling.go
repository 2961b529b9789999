package replay

import (
	"cmp"
	"fmt"

	"tallystick/rules"
)

// ruled are the commands of another ruling in the place of the recorded one:
// corrections that carry it out, and the ruling.
func (f *fork) ruled(c *rules.Campaign, was rules.Command) ([]rules.Command, error) {
	asked := *f.change.Ruling
	if f.change.Command != nil || len(f.change.Modifiers)+len(f.change.Dice) > 0 {
		return nil, &rules.Invalid{Field: "ruling", Reason: "stands alone: it cannot go with a command, modifiers or dice"}
	}
	switch was.Type {
	case "dispute.rule":
		return f.onDispute(c, was, asked)
	case "ruling.make":
		return overRoll(was, asked)
	}
	return nil, rules.Reject("no_ruling", "", "record %d is of %s: another ruling can be asked for where the game master ruled, on a dispute (dispute.rule) or over a roll (ruling.make)", f.n, was.Type).On("ruling")
}

// overRoll is another word over a roll. It is words, as the recorded one is.
func overRoll(was rules.Command, asked ChangedRuling) ([]rules.Command, error) {
	var d rules.RulingMake
	if err := rules.Unmarshal(was.Data, &d); err != nil {
		return nil, err
	}
	switch {
	case d.Seal != "":
		return nil, rules.Reject("sealed_ruling", "", "the ruling is sealed: what it is about is not shown yet").On("ruling")
	case asked.Ruling != "" || asked.Outcome == "":
		return nil, &rules.Invalid{Field: "ruling.outcome", Reason: "is what another ruling over a roll needs, and no other member but a reason"}
	}
	d.Outcome, d.Reason = asked.Outcome, cmp.Or(asked.Reason, d.Reason)
	return canonical(was, &d)
}

// onDispute is another ruling on a dispute. One that overturns takes the command
// of the disputed record back; one that does not takes back the corrections
// that carried the recorded one out.
func (f *fork) onDispute(c *rules.Campaign, was rules.Command, asked ChangedRuling) ([]rules.Command, error) {
	var d rules.DisputeRule
	if err := rules.Unmarshal(was.Data, &d); err != nil {
		return nil, err
	}
	if asked.Ruling == "" || asked.Outcome != "" {
		return nil, &rules.Invalid{Field: "ruling.ruling", Reason: "is what another ruling on a dispute needs, and no other member but a reason"}
	}
	dispute, _ := c.Dispute(d.Dispute) // it was ruled on
	off := rules.TakenBack(c.Corrections())
	var back []string
	if asked.Ruling == "overturned" {
		if command, ok := c.CommandOf(dispute.Roll); ok && off[command] == "" {
			back = []string{command}
		}
	} else {
		for _, id := range d.Corrections {
			if off[id] == "" {
				back = append(back, id)
			}
		}
		d.Corrections = nil
	}
	var cmds []rules.Command
	for i, command := range back {
		correction := rules.Command{ID: fmt.Sprintf("%s part %d", was.ID, i), By: was.By, Type: "correction.make"}
		one, err := canonical(correction, &rules.CorrectionMake{Command: command, Reason: "the dispute is ruled " + asked.Ruling})
		if err != nil {
			return nil, err
		}
		cmds = append(cmds, one...)
		if asked.Ruling == "overturned" {
			d.Corrections = append(d.Corrections, correction.ID)
		}
	}
	d.Ruling, d.Reason = asked.Ruling, cmp.Or(asked.Reason, d.Reason)
	ruled, err := canonical(was, &d)
	return append(cmds, ruled...), err
}

// canonical is a command with other data.
func canonical(cmd rules.Command, data any) ([]rules.Command, error) {
	raw, err := rules.Canonical(data)
	cmd.Data = raw
	return []rules.Command{cmd}, err
}
