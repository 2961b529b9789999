package journal

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// What is done meanwhile is done while the store works: the entry is stored before it
// ends.
func TestMeanwhileTheEntryIsStored(t *testing.T) {
	j, _ := openEmbedded(t, Options{Dir: t.TempDir()})
	e := Entry{Campaign: uuid.NewString(), ID: "x", Payload: []byte("x")}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	stored := uint64(0)
	e.Meanwhile = func() {
		for stored == 0 && ctx.Err() == nil {
			stored, _ = j.Last(ctx, e.Campaign)
		}
	}
	seq, err := j.Append(ctx, e)
	if err != nil || seq == 0 || stored != seq {
		t.Errorf("append gave %d, %v; meanwhile the last was %d", seq, err, stored)
	}
}

// A connection that is lost with the answer is noticed at once, not when the wait
// for the answer ends; the entry is found or sent again.
func TestLostConnectionIsNotWaitedFor(t *testing.T) {
	j, _ := openEmbedded(t, Options{Dir: t.TempDir(), AckWait: time.Minute})
	campaign, last := uuid.NewString(), uint64(0)
	for i := range 20 {
		e := Entry{Campaign: campaign, ID: string(rune('a' + i)), Expected: last, Payload: []byte("x")}
		e.Meanwhile = func() {
			if err := j.lone.conn.ForceReconnect(); err != nil {
				t.Error(err)
			}
		}
		seq, err := j.Append(soon(t), e)
		if err != nil {
			t.Fatalf("append %d: %v", i, err)
		}
		last = seq
	}
	if got := readAll(t, j, campaign); len(got) != 20 {
		t.Errorf("%d commits, want 20", len(got))
	}
}

// asked is a lone connection to a server where respond answers what comes on
// feed.question.
func asked(t *testing.T, patience time.Duration, respond nats.MsgHandler) *lone {
	t.Helper()
	e, there, here := serve(t, t.TempDir())
	t.Cleanup(func() { e.close() })
	if respond != nil {
		if _, err := there.Subscribe("feed.question", respond); err != nil {
			t.Fatal(err)
		}
		if err := there.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	l := newLone(t.Context(), here, patience)
	t.Cleanup(l.close)
	return l
}

func question(text string) *nats.Msg { return &nats.Msg{Subject: "feed.question", Data: []byte(text)} }

// An answer that comes twice, or too late, is not taken for that to the next message.
func TestNobodyElsesAnswer(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	l := asked(t, 20*time.Second, func(m *nats.Msg) {
		if string(m.Data) == "late" {
			<-release
		}
		for range 3 {
			if err := m.Respond(m.Data); err != nil {
				t.Error(err)
			}
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := l.ask(ctx, question("late"), cancel); !errors.Is(err, context.Canceled) {
		t.Fatalf("a question without an answer: %v", err)
	}
	close(release)
	for _, text := range []string{"a", "b", "c"} {
		answer, err := l.ask(t.Context(), question(text), func() {})
		if err != nil || string(answer.Data) != text {
			t.Fatalf("the answer to %s is %+v, %v", text, answer, err)
		}
	}
	if len(l.free) != 1 {
		t.Errorf("%d inboxes for one question at a time", len(l.free))
	}
}

// A question that nobody heard, or nobody answers, ends.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	done := false
	if _, err := asked(t, 20*time.Second, nil).ask(t.Context(), question("x"), func() { done = true }); !errors.Is(err, nats.ErrNoResponders) || !done {
		t.Errorf("nobody is there: %v", err)
	}
	silent := asked(t, 50*time.Millisecond, func(*nats.Msg) {})
	if _, err := silent.ask(t.Context(), question("x"), func() {}); !errors.Is(err, nats.ErrTimeout) {
		t.Errorf("nobody answers: %v", err)
	}
	closing, end := context.WithCancel(t.Context())
	silent.ctx, silent.patience = closing, 20*time.Second
	if _, err := silent.ask(t.Context(), question("x"), end); !errors.Is(err, context.Canceled) {
		t.Errorf("the journal ends: %v", err)
	}
}

// The server's usual answer is read at once, and whatever is read so is what the
// JSON says.
func TestPlainAck(t *testing.T) {
	j, _ := openEmbedded(t, Options{Dir: t.TempDir()})
	e := Entry{Campaign: uuid.NewString(), ID: "x", Payload: []byte("x")}
	answer, err := j.lone.ask(soon(t), j.message(e), func() {})
	if err != nil {
		t.Fatal(err)
	}
	if ack, ok := plainAck(answer.Data); !ok || ack.Stream != j.layout.stream(e.Campaign) || ack.Sequence != 1 {
		t.Errorf("%s is read as %+v, %v", answer.Data, ack, ok)
	}
	for _, refused := range []Entry{e, {Campaign: e.Campaign, ID: "y", Expected: 7, Payload: e.Payload}} {
		if ack, err := j.lone.store(soon(t), j.message(refused), func() {}); err == nil || apiCode(err) != codeWrongLast {
			t.Errorf("%s after %d: %+v, %v", refused.ID, refused.Expected, ack, err)
		}
	}
	e.Expected = 1
	if ack, err := j.lone.store(soon(t), j.message(e), func() {}); err != nil || !ack.Duplicate || ack.Sequence != 1 {
		t.Errorf("a message that is known: %+v, %v", ack, err)
	}
}

func FuzzPlainAck(f *testing.F) {
	for _, text := range []string{
		`{"stream":"LEDGER_0","seq":17}`, `{"stream":"LEDGER_0","seq":1,"duplicate":true}`, `{"stream":"","seq":1}`, `{"stream":"a\"","seq":1}`,
		`{"error":{"code":400,"err_code":10071,"description":"wrong last sequence: 3"},"stream":"LEDGER_0","seq":0}`, `{"stream":"A","seq":-1}`, `{"stream":"A","seq":017}`, `{"stream":"A","seq":}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		ack, ok := plainAck(data)
		if !ok {
			return
		}
		var said struct {
			Error *jetstream.APIError `json:"error"`
			jetstream.PubAck
		}
		if err := json.Unmarshal(data, &said); err != nil || said.Error != nil || said.PubAck != *ack {
			t.Errorf("%q is read as %+v; it says %+v, %v", data, ack, said, err)
		}
	})
}
