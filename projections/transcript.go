package projections

import (
	"fmt"
	"html"
	"io"
	"strings"

	"tallystick/events"
)

// A Form is how a transcript is written.
type Form string

// Forms of a transcript.
const (
	FormText     Form = "text"
	FormMarkdown Form = "markdown"
	FormHTML     Form = "html"
)

// A Transcript tells one session in words while its records come by. It holds
// the names of characters and nothing else: its size does not grow with the
// session.
type Transcript struct {
	out     io.Writer
	style   style
	session string
	teller  *Teller
	open    bool
	found   bool
	err     error // the first of the writer
}

// NewTranscript begins the transcript of a session in one of the forms; an
// unknown form is an error. Records before the session only teach it names.
func NewTranscript(out io.Writer, form Form, session string) (*Transcript, error) {
	s, ok := styles[form]
	if !ok {
		return nil, fmt.Errorf("format is %q: must be text, markdown or html", form)
	}
	return &Transcript{out: out, style: s, session: session, teller: NewTeller()}, nil
}

// Apply takes the next record of the campaign. done is true when the session
// is over and nothing more is told. The error is one of the writer.
func (t *Transcript) Apply(rec events.Record) (done bool, err error) {
	lines := t.teller.Tell(rec)
	if rec.Type == "session.opened" {
		if e, err := decode(rec); err == nil && e.(*events.SessionOpened).Session == t.session {
			t.open, t.found = true, true
			t.write(t.style.head(Printable(e.(*events.SessionOpened).Title), rec))
		}
	}
	if !t.open {
		return t.found, t.err
	}
	t.tell(lines)
	if rec.Type == "session.closed" {
		t.open = false
		t.write(t.style.foot)
		return true, t.err
	}
	return false, t.err
}

// End says that no record follows. It reports whether the session was there at
// all.
func (t *Transcript) End() (found bool, err error) {
	if t.open {
		t.tell(t.teller.Rest())
		t.open = false
		t.write(t.style.foot)
	}
	return t.found, t.err
}

func (t *Transcript) tell(lines []Line) {
	for _, line := range lines {
		t.write(t.style.line(line))
	}
}

func (t *Transcript) write(s string) {
	if t.err == nil {
		_, t.err = io.WriteString(t.out, s)
	}
}

// style writes the parts of a transcript.
type style struct {
	head func(title string, rec events.Record) string
	line func(Line) string
	foot string
}

var styles = map[Form]style{
	FormText: {
		head: func(title string, rec events.Record) string {
			return fmt.Sprintf("%s\n%s\n\n", title, rec.At)
		},
		line: func(l Line) string { return TextLine(l) },
	},
	FormMarkdown: {
		head: func(title string, rec events.Record) string {
			return fmt.Sprintf("# %s\n\n%s\n\n", EscapeMarkdown(title), rec.At)
		},
		line: func(l Line) string {
			text := fmt.Sprintf("- `%s`%s %s (%d)\n", strings.TrimSpace(GameTime(l.Clock)), EscapeMarkdown(dated(l)), EscapeMarkdown(l.Text), l.N)
			for _, more := range l.More {
				text += "  - " + EscapeMarkdown(more) + "\n"
			}
			return text
		},
	},
	FormHTML: {
		head: func(title string, rec events.Record) string {
			title = html.EscapeString(title)
			return fmt.Sprintf("<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>%[1]s</title>\n<h1>%[1]s</h1>\n<p><time>%[2]s</time></p>\n<ol>\n", title, rec.At)
		},
		line: func(l Line) string {
			text := fmt.Sprintf("<li value=\"%d\"><code>%s</code>%s <bdi>%s</bdi>", l.N, strings.TrimSpace(GameTime(l.Clock)), html.EscapeString(dated(l)), html.EscapeString(l.Text))
			for _, more := range l.More {
				text += "<br><bdi>" + html.EscapeString(more) + "</bdi>"
			}
			return text + "</li>\n"
		},
		foot: "</ol>\n</html>\n",
	},
}

// TextLine writes a line for a terminal, with the record and the game time in
// front.
func TextLine(l Line) string {
	text := fmt.Sprintf("  %5d  %s%s  %s\n", l.N, GameTime(l.Clock), dated(l), l.Text)
	for _, more := range l.More {
		text += strings.Repeat(" ", 25) + more + "\n"
	}
	return text
}

// dated is the date of a line for behind its game time, if there is one.
func dated(l Line) string {
	if l.Date == "" {
		return ""
	}
	return " (" + Printable(l.Date) + ")"
}

var markdown = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "#", `\#`, "|", `\|`, "~", `\~`, "!", `\!`,
)

// EscapeMarkdown keeps what people wrote from becoming markup.
func EscapeMarkdown(s string) string { return markdown.Replace(s) }
