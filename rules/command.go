package rules

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"tallystick/events"
)

// A Command is what was asked for.
type Command struct {
	ID   string // UUID given by who asks; becomes the id of what the command creates
	By   string // handle; SystemPrincipal for what the program does by itself
	Type string
	Data jsontext.Value
	Dice *events.Hand // thrown on a real table; nil: the ledger's dice
	Seat *events.Seat // the device's link, for a lane that has a device
}

// SystemPrincipal commands what time brings about, and owns the lane of dice
// for it. No participant can have this handle.
const SystemPrincipal = "system"

// Who may give a command.
type Who int

const (
	// GMOnly commands are the game master's.
	GMOnly Who = iota
	// OwnCharacters may also be commanded by a player for characters that are
	// theirs: the command's data names them by Actors.
	OwnCharacters
	// Participants is everybody at the table but spectators.
	Participants
	// Table is everybody at the table, spectators too.
	Table
	// Program is for commands that only the program itself gives.
	Program
)

// Acting is a command's data that says which characters act by it.
type Acting interface{ Actors() []string }

// CommandSpec is one type of command: its data, who may give it, and how it
// is decided.
type CommandSpec struct {
	Type  string
	Title string // for a form's heading
	Doc   string
	Who   Who
	// Secret commands throw dice and may change nothing: their outcome can be
	// sealed.
	Secret bool
	// New is a pointer to zero data; its type gives the schema.
	New    func() any
	decide func(t *Turn, data any) error
}

// Spec makes a command type of a data type and the function that decides it.
// The function checks everything, then draws, then emits: once a die is drawn
// it does not reject.
func Spec[T any](typ, title, doc string, who Who, decide func(t *Turn, data *T) error) CommandSpec {
	return CommandSpec{
		Type: typ, Title: title, Doc: doc, Who: who,
		New:    func() any { return new(T) },
		decide: func(t *Turn, data any) error { return decide(t, data.(*T)) },
	}
}

// InSecret is the same command type, whose outcome can be sealed. It may only
// be said of one that emits something either however the dice fall or never.
func (s CommandSpec) InSecret() CommandSpec {
	s.Secret = true
	return s
}

// Parse reads and checks a command's data.
func (s CommandSpec) Parse(data jsontext.Value) (any, error) {
	d := s.New()
	if err := Unmarshal(data, d); err != nil {
		return nil, err
	}
	return d, nil
}

// Canonical is a command as it is recorded and compared with a retry: data in
// the order of the schema. It refuses an unknown type and data that cannot be
// meant.
func (c *Campaign) Canonical(cmd Command) (Command, error) {
	spec, err := c.spec(cmd)
	if err != nil {
		return cmd, err
	}
	data, err := spec.Parse(cmd.Data)
	if err != nil {
		return cmd, err
	}
	if cmd.Data, err = Canonical(data); err != nil {
		return cmd, err
	}
	if err := events.CheckJSON(cmd.Data); err != nil {
		return cmd, &Invalid{Field: "data", Reason: "cannot be recorded: " + err.Error()}
	}
	if cmd.Dice != nil {
		raw, err := Canonical(cmd.Dice)
		if err == nil {
			err = within("dice", Unmarshal(raw, &events.Hand{}))
		}
		if err != nil {
			return cmd, err
		}
	}
	if cmd.Seat != nil {
		raw, err := Canonical(cmd.Seat)
		if err == nil {
			err = within("seat", Unmarshal(raw, &events.Seat{}))
		}
		return cmd, err
	}
	return cmd, nil
}

// Unmarshal reads JSON strictly into v and checks the bounds in its struct
// tags (see Check). Every complaint is an *Invalid that names the field.
func Unmarshal(data jsontext.Value, v any) error {
	if len(data) == 0 {
		data = jsontext.Value("{}")
	}
	if err := json.Unmarshal(data, v, json.RejectUnknownMembers(true)); err != nil {
		return invalid(err)
	}
	return Check(data, reflect.ValueOf(v))
}

// Canonical writes a command's data as it is recorded: members in the order
// of the schema, nothing that was left out.
func Canonical(v any) (jsontext.Value, error) {
	return json.Marshal(v, json.Deterministic(true))
}

func invalid(err error) error {
	var bad *Invalid
	if errors.As(err, &bad) {
		return err
	}
	var sem *json.SemanticError
	if errors.As(err, &sem) {
		reason := "cannot be read"
		switch {
		case errors.Is(sem.Err, json.ErrUnknownName):
			reason = "is not known here"
		case sem.GoType != nil && sem.JSONKind != 0:
			reason = fmt.Sprintf("is a JSON %s: must be %s", kindName(sem.JSONKind), typeName(sem.GoType))
		case sem.Err != nil:
			reason = sem.Err.Error()
		}
		if sem.Err != nil && sem.JSONKind == '0' {
			reason = "is out of range or no whole number"
		}
		return &Invalid{Field: dotted(string(sem.JSONPointer)), Reason: reason}
	}
	var syn *jsontext.SyntacticError
	if errors.As(err, &syn) {
		return &Invalid{Field: dotted(string(syn.JSONPointer)), Reason: "is not strict JSON: " + syn.Err.Error()}
	}
	return &Invalid{Reason: err.Error()}
}

func kindName(k jsontext.Kind) string {
	switch k {
	case 'n':
		return "null"
	case 't', 'f':
		return "boolean"
	case '0':
		return "number"
	case '"':
		return "string"
	case '{':
		return "object"
	}
	return "array"
}

func typeName(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Int, reflect.Int64, reflect.Uint32:
		return "a whole number"
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		return "an array"
	}
	return "an object"
}
