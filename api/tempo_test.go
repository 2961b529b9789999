package api

import (
	"strings"
	"testing"
	"time"

	"tallystick/projections"
)

const tides = `{"name":"Tides","hours":20,"week":["Ebb","Flood"],"era":"AT","months":[{"name":"Salt","days":30},{"name":"Foam","days":31}],
	"leap":[{"month":"Foam","every":4}],"start":{"year":7,"month":"Foam","day":31,"hour":19}}`

func (g *game) tempo() TempoNow {
	g.t.Helper()
	return read[TempoNow](g.t, g.get(g.path("/tempo"), g.anna), 200)
}

// A tempo is set, seen, paused and resumed by HTTP; every time has its offset.
func TestTempo(t *testing.T) {
	g := newGame(t)
	if now := g.tempo(); now.State != "none" || now.Next != nil {
		t.Errorf("before: %+v", now)
	}
	g.refused(g.gm, `{"type":"tempo.set","data":{"game":"1h","wall":"1d"}}`, "not_play_by_post")
	g.command(g.gm, `{"type":"session.close","data":{}}`)
	g.command(g.gm, `{"type":"session.open","data":{"title":"Letters","kind":"play-by-post"}}`)
	set := `{"type":"tempo.set","data":{"game":"1h","wall":"1d","warn":"6h","quiet":{"zone":"Asia/Kathmandu","from":"22:00","to":"07:00","days":["sunday"]}}}`
	problem(t, g.ask("POST", g.path("/commands"), g.anna, set, "Idempotency-Key", key()), "forbidden", "")
	g.command(g.gm, set)
	now := g.tempo()
	if now.State != "running" || now.Game != 3_600 || now.Wall != 86_400 || now.Warn != 21_600 || now.Hold != "pc" || now.Quiet.Zone != "Asia/Kathmandu" {
		t.Errorf("set: %+v", now)
	}
	at, err := time.Parse(time.RFC3339, now.Now)
	if err != nil || !strings.HasSuffix(now.Now, "+05:45") || time.Since(at).Abs() > time.Minute {
		t.Errorf("now is %s: %v", now.Now, err)
	}
	if v := read[projections.Campaign](t, g.get(g.path(""), g.anna), 200).Tempo; v == nil || v.State != "running" || v.Game != 3_600 {
		t.Errorf("the campaign's view has %+v", v)
	}
	g.refused(g.gm, `{"type":"tempo.resume","data":{}}`, "tempo_running")
	g.command(g.gm, `{"type":"tempo.pause","data":{"reason":"holidays"}}`)
	g.refused(g.gm, `{"type":"tempo.pause","data":{}}`, "tempo_paused")
	if now := g.tempo(); now.State != "paused" {
		t.Errorf("paused: %+v", now)
	}
	g.command(g.gm, `{"type":"tempo.resume","data":{}}`)
	g.command(g.gm, `{"type":"session.close","data":{}}`)
	if now := g.tempo(); now.State != "none" {
		t.Errorf("closed: %+v", now)
	}
	for body, field := range map[string]string{
		`{"type":"tempo.set","data":{"game":"1h","wall":"1d","quiet":{"zone":"Mars/Olympus","days":["sunday"]}}}`: "body.data.quiet.zone",
		`{"type":"tempo.set","data":{"game":"soon","wall":"1d"}}`:                                                 "body.data.game",
		`{"type":"tempo.set","data":{"game":"1h","wall":"1d","quite":{}}}`:                                        "body.data.quite",
	} {
		problem(t, g.ask("POST", g.path("/commands"), g.gm, body, "Idempotency-Key", key()), "malformed", field)
	}
	problem(t, g.ask("POST", g.path("/commands"), g.gm, `{"type":"clock.follow","data":{"since":"","seconds":60,"at":""}}`, "Idempotency-Key", key()), "forbidden", "")
}

// Dates are shown beside game time, and nothing else comes of a calendar.
func TestCalendar(t *testing.T) {
	n := newGame(t).node
	created := read[NewCampaign](t, n.ask("POST", "/v1/campaigns", adminToken, `{"name":"Ash","system":"toy","calendar":`+tides+`}`), 201)
	g := &game{node: n, id: created.Campaign, gm: created.GM.Token, anna: created.GM.Token}
	g.command(g.gm, `{"type":"session.open","data":{"title":"one","kind":"table"}}`)
	bob := g.command(g.gm, `{"type":"character.create","data":{"name":"Bob","kind":"pc","creation":"free","sheet":{"strength":3}}}`).Command
	v := read[projections.Campaign](t, g.get(g.path(""), g.gm), 200)
	if v.Date == nil || v.Date.Text != "Ebb, 31 Foam 7 AT, 19:00" || v.Calendar.Hours != 20 {
		t.Errorf("at the start: %+v", v.Date)
	}
	g.command(g.gm, `{"type":"clock.advance","data":{"by":"61m"}}`)
	if v = read[projections.Campaign](t, g.get(g.path(""), g.gm), 200); v.Date.Text != "Flood, 1 Salt 8 AT, 00:01" || v.Clock != 3_660 {
		t.Errorf("an hour later: %+v at %d", v.Date, v.Clock)
	}
	if d := read[DateOf](t, g.get(g.path("/date?clock=4467600"), g.gm), 200); d.Date.Text != "Flood, 1 Salt 9 AT, 00:00" {
		t.Errorf("a leap year of 62 days later it is %s", d.Date.Text)
	}
	g.command(g.gm, `{"type":"wound.inflict","data":{"character":"`+bob+`","points":1,"cause":"a fall"}}`)
	line := read[projections.Timeline](t, g.get(g.path("/characters/"+bob+"/timeline"), g.gm), 200)
	if last := line.Items[len(line.Items)-1]; last.Date != "Flood, 1 Salt 8 AT, 00:01" || last.Clock != 3_660 {
		t.Errorf("the timeline has %+v", last)
	}
	session := v.Session
	if text := string(g.get(g.path("/sessions/"+session+"/transcript"), g.gm, "Accept", "text/plain").body); !strings.Contains(text, "(Flood, 1 Salt 8 AT, 00:01)") {
		t.Errorf("the transcript has no date:\n%s", text)
	}
	if d := read[DateOf](t, n.get("/v1/campaigns/"+newGame(t).id+"/date", adminToken), 404); d.Date != nil {
		t.Errorf("a campaign of another server has %+v", d)
	}
	for calendar, field := range map[string]string{
		`{"months":[]}`: "body.calendar.months",
		`{"hours":0,"months":[{"name":"A","days":3}]}`:                        "body.calendar.hours",
		`{"hours":-4,"months":[{"name":"A","days":3}]}`:                       "body.calendar.hours",
		`{"months":[{"name":"A","days":0}]}`:                                  "body.calendar.months",
		`{"months":[{"name":"A","days":3},{"name":"A","days":3}]}`:            "body.calendar.months.1.name",
		`{"months":[{"name":"A\u202e","days":3}]}`:                            "body.calendar.months.0.name",
		`{"months":[{"name":"A","days":3}],"week":["x","x"]}`:                 "body.calendar.week.1",
		`{"months":[{"name":"A","days":3}],"leap":[{"month":"B","every":4}]}`: "body.calendar.leap.0.month",
		`{"months":[{"name":"A","days":3}],"leap":[{"month":"A","every":0}]}`: "body.calendar.leap.0.every",
		`{"months":[{"name":"A","days":3}],"start":{"day":4}}`:                "body.calendar.start.day",
		`{"months":[{"name":"A","days":3}],"start":{"month":"B"}}`:            "body.calendar.start.month",
		`{"months":[{"name":"A","days":3}],"moons":2}`:                        "body.calendar.moons",
	} {
		problem(t, n.ask("POST", "/v1/campaigns", adminToken, `{"name":"Ash","system":"toy","calendar":`+calendar+`}`), "malformed", field)
	}
}
