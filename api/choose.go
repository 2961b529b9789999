package api

import (
	"strconv"
	"strings"
)

// Content types of what is told to people.
const (
	mediaText     = "text/plain"
	mediaMarkdown = "text/markdown"
	mediaHTML     = "text/html"
	mediaZip      = "application/zip"
)

// choose is the best of the offered forms that a client takes; the first when
// it names none of them.
func choose(header string, offers ...string) string {
	best, bestQ := offers[0], 0.0
	for part := range strings.SplitSeq(header, ",") {
		name, params, _ := strings.Cut(part, ";")
		q := 1.0
		for param := range strings.SplitSeq(params, ";") {
			if value, ok := strings.CutPrefix(strings.TrimSpace(param), "q="); ok {
				q, _ = strconv.ParseFloat(value, 64) // what is no number is 0: not wanted
			}
		}
		name = strings.ToLower(strings.TrimSpace(name))
		for _, offer := range offers {
			if name == offer && q > bestQ {
				best, bestQ = offer, q
			}
		}
	}
	return best
}
