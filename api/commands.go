package api

import (
	"context"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"tallystick/api/ledger"
	"tallystick/events"
	"tallystick/rules"
)

// CommandRequest is what is asked for.
type CommandRequest struct {
	Type       string         `json:"type"`
	Data       jsontext.Value `json:"data,omitzero"`
	Dice       *events.Hand   `json:"dice,omitzero"`
	Seat       *events.Seat   `json:"seat,omitzero"`
	Visibility jsontext.Value `json:"visibility,omitzero"`
}

// CommandAnswer is what a command came to.
type CommandAnswer struct {
	Command     string            `json:"command" doc:"its id"`
	First       int64             `json:"first" doc:"n of its first record"`
	Last        int64             `json:"last" doc:"n of its last record"`
	Records     []jsontext.Value  `json:"records" doc:"as they are stored; the first 1,000 of a command that made more: read the rest from the ledger"`
	Receipt     string            `json:"receipt" doc:"proof that the first record is in the ledger, under a checkpoint that covers all of them (C2SP tlog-proof@v1)"`
	Consistency *ConsistencyProof `json:"consistency,omitzero" doc:"from the Ledger-Size that was sent to the size in the receipt; missing when this ledger is shorter than that: it was rolled back"`
	Secret      jsontext.Value    `json:"secret,omitzero" doc:"of a secret roll, for who gave it and may see it: what the seal hides, without the link of the lane"`
	Repeated    bool              `json:"repeated,omitzero" doc:"the command had been executed before; this is its recorded answer"`
}

type commandInput struct {
	InCampaign
	Key     string `header:"Idempotency-Key" required:"true" doc:"a UUID, the command's id: the same key gives the same answer for ever"`
	Size    int64  `header:"Ledger-Size" minimum:"0" doc:"how many records the newest checkpoint you keep covers: the answer then proves that the ledger only grew since"`
	RawBody []byte `contentType:"application/json"`
}

const (
	addType    = "participant.add"
	removeType = "participant.remove"
)

func (s *Server) commandRoutes(schemas *schemas) {
	handle(s, route{
		Method: http.MethodPost, Path: "/v1/campaigns/{campaign}/commands", ID: "give-command", Summary: "Give a command",
		Doc: "Decides a command by the rules and stores everything that follows from it, or nothing. Who commands follows from the token. " +
			"Once a command is answered it is on disk. A retry with the same Idempotency-Key never rolls twice.",
		Access: member, Body: schemas.commands, Fails: []int{422},
	}, s.giveCommand)
}

func (s *Server) giveCommand(ctx context.Context, in *commandInput) (*output[CommandAnswer], error) {
	id, err := commandID(in.Key)
	if err != nil {
		return nil, err
	}
	body, err := decode[CommandRequest](in.RawBody)
	if err != nil {
		return nil, err
	}
	cmd := rules.Command{ID: id, Type: body.Type, Data: body.Data, Dice: body.Dice, Seat: body.Seat}
	a, err := s.give(ctx, in.Campaign, cmd, body.Visibility)
	if err != nil {
		return nil, inCommand(err)
	}
	out := commandAnswer(a)
	if in.Size > 0 {
		if out.Consistency, err = s.grown(ctx, in.Campaign, in.Size, a.Last+1); err != nil {
			return nil, err
		}
	}
	return answer(out), nil
}

// give executes a command under a visibility: as it is, or as a secret roll
// of which the ledger gets the seal alone.
func (s *Server) give(ctx context.Context, campaign string, cmd rules.Command, visibility jsontext.Value) (ledger.Answer, error) {
	if visibility == nil {
		return s.execute(ctx, campaign, cmd)
	}
	shown, err := events.ParseVisibility(visibility)
	if err != nil {
		return ledger.Answer{}, &rules.Invalid{Field: "visibility", Reason: err.Error()}
	}
	if shown.Public() {
		return s.execute(ctx, campaign, cmd)
	}
	cmd.By = callerOf(ctx).Handle
	return s.cfg.Ledger.ExecuteHidden(ctx, campaign, cmd, shown)
}

// grown proves that the ledger of a size that a client keeps is a beginning of
// the one its command made; nil when the client has seen more than there is.
func (s *Server) grown(ctx context.Context, campaign string, from, to int64) (*ConsistencyProof, error) {
	size, err := s.cfg.Ledger.Size(ctx, campaign)
	if err != nil || from > size {
		return nil, err
	}
	to = max(from, to) // the answer to a retry may be older than what the client keeps
	hashes, checkpoint, err := s.cfg.Ledger.Consistency(ctx, campaign, from, to)
	if err != nil {
		return nil, err
	}
	return &ConsistencyProof{From: from, To: to, Hashes: base64s(hashes), Checkpoint: string(checkpoint)}, nil
}

// execute gives a command in the caller's name, and ends the token of somebody
// it removed.
func (s *Server) execute(ctx context.Context, campaign string, cmd rules.Command) (ledger.Answer, error) {
	cmd.By = callerOf(ctx).Handle
	a, err := s.cfg.Ledger.Execute(ctx, campaign, cmd)
	if err != nil || cmd.Type != removeType {
		return a, err
	}
	var removed rules.ParticipantRemove
	if err := json.Unmarshal(cmd.Data, &removed); err != nil {
		return a, err
	}
	return a, s.revoke(ctx, campaign, removed.Handle)
}

func commandAnswer(a ledger.Answer) CommandAnswer {
	out := CommandAnswer{
		Secret: a.Secret, Command: a.Command, First: a.First, Last: a.Last, Receipt: string(a.Receipt), Repeated: a.Repeated,
		Records: make([]jsontext.Value, len(a.Records)),
	}
	for i, line := range a.Records {
		out.Records[i] = line
	}
	return out
}
