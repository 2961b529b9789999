package events_test

import (
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"pgregory.net/rapid"

	"tallystick/events"
)

func calendar(t testing.TB, text string) *events.Calendar {
	t.Helper()
	var c events.Calendar
	if err := json.Unmarshal([]byte(text), &c, json.RejectUnknownMembers(true)); err != nil {
		t.Fatal(err)
	}
	return &c
}

// gregorian is the calendar that package time has too.
const gregorian = `{"week":["Monday","Tuesday","Wednesday","Thursday","Friday","Saturday","Sunday"],
	"months":[{"name":"January","days":31},{"name":"February","days":28},{"name":"March","days":31},{"name":"April","days":30},
	{"name":"May","days":31},{"name":"June","days":30},{"name":"July","days":31},{"name":"August","days":31},{"name":"September","days":30},
	{"name":"October","days":31},{"name":"November","days":30},{"name":"December","days":31}],
	"leap":[{"month":"February","every":4},{"month":"February","every":100,"days":-1},{"month":"February","every":400}]}`

// The calendar of this world comes out as package time has it, from any start
// and over thousands of years.
func TestCalendarGregorian(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := calendar(t, gregorian)
		start := time.Date(rapid.IntRange(-800, 3000).Draw(rt, "year"), time.Month(rapid.IntRange(1, 12).Draw(rt, "month")),
			rapid.IntRange(1, 28).Draw(rt, "day"), rapid.IntRange(0, 23).Draw(rt, "hour"), rapid.IntRange(0, 59).Draw(rt, "minute"), 0, 0, time.UTC)
		year := int64(start.Year())
		c.Start = events.Start{Year: &year, Month: start.Month().String(), Day: int64(start.Day()), Hour: int64(start.Hour()), Minute: int64(start.Minute()), Weekday: start.Weekday().String()}
		if field, reason := c.Problem(); field != "" {
			rt.Fatalf("%s %s", field, reason)
		}
		clock := rapid.Int64Range(0, 9_000_000_000_000).Draw(rt, "clock")
		want := time.Unix(start.Unix()+clock, 0).UTC()
		d := c.Date(clock)
		if d.Year != int64(want.Year()) || d.Month != want.Month().String() || d.Day != int64(want.Day()) || d.Weekday != want.Weekday().String() ||
			d.Hour != int64(want.Hour()) || d.Minute != int64(want.Minute()) || d.Second != int64(want.Second()) {
			rt.Fatalf("%+v, want %v, %v", d, want, want.Weekday())
		}
	})
}

// An invented world, counted by hand: ten hours a day, three months, the last
// of which only every third year has.
func TestCalendarInvented(t *testing.T) {
	c := calendar(t, `{"name":"Tide","hours":10,"week":["Ebb","Slack","Flood"],"era":"AT",
		"months":[{"name":"Salt","days":5},{"name":"Foam","days":4},{"name":"Between","days":0}],
		"leap":[{"month":"Between","every":3,"year":7,"days":2}],"start":{"year":6,"month":"Foam","day":4,"hour":9,"weekday":"Flood"}}`)
	if field, reason := c.Problem(); field != "" {
		t.Fatalf("%s %s", field, reason)
	}
	const day, hour = 36_000, 3_600
	for clock, want := range map[int64]string{
		0:                     "Flood, 4 Foam 6 AT, 09:00",
		hour:                  "Ebb, 1 Salt 7 AT, 00:00",
		hour + 5*day:          "Flood, 1 Foam 7 AT, 00:00",
		hour + 9*day + 90:     "Ebb, 1 Between 7 AT, 00:01",
		hour + 10*day:         "Slack, 2 Between 7 AT, 00:00",
		hour + 11*day:         "Flood, 1 Salt 8 AT, 00:00",
		hour + (11+9)*day:     "Flood, 1 Salt 9 AT, 00:00",
		hour + (11+9+9+9)*day: "Flood, 1 Between 10 AT, 00:00",
		// As many days later as a thousand times three years have.
		hour + (29*1_000)*day: "Flood, 1 Salt 3007 AT, 00:00",
	} {
		if got := c.Date(clock).Text; got != want {
			t.Errorf("%d: %s, want %s", clock, got, want)
		}
	}
	c.Date(events.MaxInteger)
}

// Days follow one another: each moment is after the one before, and no date
// comes twice.
func TestCalendarRunsOn(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := &events.Calendar{Hours: rapid.Int64Range(1, 40).Draw(rt, "hours")}
		first := int64(1)
		for range rapid.IntRange(1, 4).Draw(rt, "months") {
			c.Months = append(c.Months, events.Month{Name: string(rune('A' + len(c.Months))), Days: rapid.Int64Range(first, 9).Draw(rt, "days")})
			first = 0
		}
		for range rapid.IntRange(0, 3).Draw(rt, "rules") {
			c.Leap = append(c.Leap, events.Leap{
				Month: rapid.SampledFrom(c.Months).Draw(rt, "month").Name, Every: rapid.Int64Range(1, 9).Draw(rt, "every"),
				Year: rapid.Int64Range(-20, 20).Draw(rt, "year"), Days: rapid.Int64Range(0, 3).Draw(rt, "leap"),
			})
		}
		year := rapid.Int64Range(-50, 50).Draw(rt, "start")
		c.Start.Year = &year
		if field, reason := c.Problem(); field != "" {
			rt.Fatalf("%s %s", field, reason)
		}
		before := c.Date(0)
		for n := int64(1); n < 200; n++ {
			d := c.Date(n * c.Hours * 3600)
			next := d.Year == before.Year && d.Month == before.Month && d.Day == before.Day+1
			turned := d.Day == 1 && (d.Year == before.Year && d.Month > before.Month || d.Year == before.Year+1)
			if !next && !turned {
				rt.Fatalf("after %s comes %s", before.Text, d.Text)
			}
			before = d
		}
	})
}

// Nonsense is refused, and the member is named.
func TestCalendarNonsense(t *testing.T) {
	for text, field := range map[string]string{
		`{"months":[{"name":"A","days":30},{"name":"A","days":30}]}`:                                     "months.1.name",
		`{"months":[{"name":"A","days":0}]}`:                                                             "months",
		`{"months":[{"name":"A","days":1},{"name":"B","days":0}],"leap":[{"month":"B","every":2}]}`:      "",
		`{"months":[{"name":"A","days":2}],"leap":[{"month":"B","every":2}]}`:                            "leap.0.month",
		`{"months":[{"name":"A","days":2}],"leap":[{"month":"A","every":2,"days":-3}]}`:                  "leap.0.days",
		`{"months":[{"name":"A","days":2}],"leap":[{"month":"A","every":2,"days":-2}]}`:                  "months",
		`{"months":[{"name":"A","days":2}],"week":["x","y","x"]}`:                                        "week.2",
		`{"months":[{"name":"A","days":2}],"start":{"day":3}}`:                                           "start.day",
		`{"months":[{"name":"A","days":2}],"start":{"month":"C"}}`:                                       "start.month",
		`{"hours":10,"months":[{"name":"A","days":2}],"start":{"hour":10}}`:                              "start.hour",
		`{"months":[{"name":"A","days":2}],"week":["x"],"start":{"weekday":"y"}}`:                        "start.weekday",
		`{"months":[{"name":"A","days":0},{"name":"B","days":3}]}`:                                       "start.day",
		`{"months":[{"name":"A","days":2}],"leap":[{"month":"A","every":4,"days":3}],"start":{"day":5}}`: "start.day",
	} {
		got, reason := calendar(t, text).Problem()
		if got != field || (field == "") != (reason == "") || strings.Contains(reason, "%!") {
			t.Errorf("%s: %q %q, want %q", text, got, reason, field)
		}
	}
}
