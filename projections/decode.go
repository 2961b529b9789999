package projections

import (
	"fmt"

	"tallystick/events"

	"github.com/go-json-experiment/json"
)

// decode reads a shared event strictly, and of any other the subject alone.
func decode(rec events.Record) (events.Event, error) {
	if _, shared := core[rec.Type]; shared {
		return core.Decode(rec)
	}
	e := &foreign{name: rec.Type}
	if err := json.Unmarshal(rec.Data, &e.Subject); err != nil {
		return nil, fmt.Errorf("its subject: %w", err)
	}
	return e, nil
}
