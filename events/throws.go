package events

// Throws are the questions of a roll in order, each with the dice that are its
// own.
func (e *RollMade) Throws() []Throw {
	own := len(e.Draws)
	for _, th := range e.Also {
		own -= len(th.Draws)
	}
	first := e.Throw
	first.Draws = first.Draws[:max(own, 0)]
	return append([]Throw{first}, e.Also...)
}
