package journal

import (
	"context"
	"fmt"
	"net/textproto"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

const (
	// ServiceName is what the micro service is called in $SRV.
	ServiceName = "tallystick"
	// serviceVersion is that of its requests and answers.
	serviceVersion = "1.0.0"
	// commandPrefix is what the subjects begin with at which a campaign is
	// commanded. It is not ledger., which are the streams' own.
	commandPrefix = "tallystick.command."
	// requestsAtOnce is how many requests are answered at a time; more wait.
	requestsAtOnce = 64
	// answerRoom is kept free for the headers of an answer, in bytes.
	answerRoom = 4 << 10
)

// A Request asks something by NATS request and reply.
type Request struct {
	Campaign string // from the subject; whatever was written there
	Data     []byte
	header   map[string][]string
}

// Values are those of a header, whatever the case its name was written in: more
// than one where it was written more than once.
func (r Request) Values(name string) (all []string) {
	for key, values := range r.header {
		if textproto.CanonicalMIMEHeaderKey(key) == textproto.CanonicalMIMEHeaderKey(name) {
			all = append(all, values...)
		}
	}
	return all
}

// A Reply answers a request.
type Reply struct {
	Data   []byte
	Code   int    // of an error, as HTTP has them; 0: it worked
	Reason string // in words, with a code
}

// A Responder is a journal that can be asked by NATS request and reply.
type Responder interface {
	// Respond has requests at tallystick.command.<campaign> answered, by one of
	// all programs that respond, until ctx ends. The service is found at
	// $SRV.PING, $SRV.INFO and $SRV.STATS.
	Respond(ctx context.Context, answer func(context.Context, Request) Reply) error
}

// Respond implements Responder.
func (j *jetStream) Respond(ctx context.Context, answer func(context.Context, Request) Reply) error {
	service, err := micro.AddService(j.conn, micro.Config{Name: ServiceName, Version: serviceVersion, Description: "Commands to campaigns"})
	if err != nil {
		return fmt.Errorf("journal: service: %w", err)
	}
	room := make(chan struct{}, requestsAtOnce)
	err = service.AddEndpoint("command", micro.HandlerFunc(func(r micro.Request) {
		room <- struct{}{} // holds the subscription up, so that the server does
		go func() {
			defer func() { <-room }()
			reply := answer(ctx, Request{Campaign: strings.TrimPrefix(r.Subject(), commandPrefix), Data: r.Data(), header: r.Headers()})
			_ = respond(r, reply, j.conn.MaxPayload()) // who gets no answer asks again
		}()
	}), micro.WithEndpointSubject(commandPrefix+"*"))
	if err != nil {
		_ = service.Stop() // the first error is the one that tells
		return fmt.Errorf("journal: service: %w", err)
	}
	context.AfterFunc(ctx, func() { _ = service.Stop() }) // the connection is closed soon after
	return nil
}

// respond sends a reply. One that is too large for a message is said to be: what
// was asked for is done all the same.
func respond(r micro.Request, reply Reply, most int64) error {
	switch {
	case int64(len(reply.Data)) > most-answerRoom:
		return r.Error("413", "it was done, but the answer does not fit into a message: ask by HTTP with the same Idempotency-Key", nil)
	case reply.Code != 0:
		return r.Error(strconv.Itoa(reply.Code), reply.Reason, reply.Data, contentType("application/problem+json"))
	}
	return r.Respond(reply.Data, contentType("application/json"))
}

func contentType(kind string) micro.RespondOpt {
	return func(m *nats.Msg) {
		if m.Header == nil {
			m.Header = nats.Header{}
		}
		m.Header.Set("Content-Type", kind)
	}
}
