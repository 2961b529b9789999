package projections

import (
	"fmt"
	"strings"

	"tallystick/events"

	"github.com/go-json-experiment/json"
)

const rollSkipped = ".roll.skipped"

// decode reads a shared event strictly, and of any other the subject alone; of
// an action that needed no roll also how it came out.
func decode(rec events.Record) (events.Event, error) {
	if _, shared := core[rec.Type]; shared {
		return core.Decode(rec)
	}
	e := &foreign{name: rec.Type}
	if err := json.Unmarshal(rec.Data, &e.Subject); err != nil {
		return nil, fmt.Errorf("its subject: %w", err)
	}
	var s skipped
	if strings.HasSuffix(rec.Type, rollSkipped) && json.Unmarshal(rec.Data, &s) == nil {
		e.skipped = s
	}
	return e, nil
}
