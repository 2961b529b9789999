package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"tallystick/events"
	"tallystick/events/merkle"
	"tallystick/rules"
	"tallystick/rules/dice"
)

// seatFile is a participant's side of the dice: the tails of the chains, and
// the newest checkpoint that was seen. Whoever has it can roll in the
// participant's name no more than with the token, but can foresee nothing
// either: the server's elements are missing.
type seatFile struct {
	Server   string    `json:"server"`
	Campaign string    `json:"campaign"`
	Handle   string    `json:"handle"`
	Session  string    `json:"session"`
	Lane     string    `json:"lane"`
	N        int       `json:"n"`
	C        dice.Seed `json:"c"` // tail of the roller chain
	X        dice.Seed `json:"x"` // tail of the witness chain
	// What has left this device: the highest element of each chain. A server
	// that asks further ahead would learn the rolls before they are made.
	Given int `json:"given"`
	Shown int `json:"shown"`
	keeper

	path string
}

func seatCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "seat",
		Short: "Hold your own dice chains in a file",
		Long: `With a seat file your dice depend on secrets that the server does not have:
it cannot choose them, and it cannot foresee your rolls. Take the seat while
the seats of a session are open, leave "tallystick seat watch" running so that
your part is given when it is asked for, and roll with "tallystick roll --seat".

The file also keeps the newest checkpoint you have seen; every answer is held
against it, and a ledger that was rolled back or rewritten is called so.`,
	}
	cmd.AddCommand(seatTakeCommand(), seatWatchCommand())
	return cmd
}

func seatTakeCommand() *cobra.Command {
	var remote remoteFlags
	var path string
	var n int
	cmd := &cobra.Command{
		Use: "take CAMPAIGN", Short: "Make chains, commit to them, and keep them in a file", Args: exactly(1),
		Example: "  tallystick seat take 0192f1c0-… --token-file anna.token --seat anna.seat",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := remote.client()
			if err != nil {
				return err
			}
			s, err := takeSeat(cmd.Context(), c, args[0], path, n)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s sits on lane %s; the chains are in %s and nowhere else\n", s.Handle, s.Lane, path)
			return nil
		},
	}
	remote.add(cmd)
	cmd.Flags().StringVar(&path, "seat", "", "file to keep the chains in; it must not exist yet")
	cmd.Flags().IntVar(&n, "n", 1024, "length of the chains: the most rolls of the lane")
	if err := cmd.MarkFlagRequired("seat"); err != nil {
		panic(err)
	}
	return cmd
}

// takeSeat makes chains and commits to them. The file is on disk before the
// server hears of the anchors.
func takeSeat(ctx context.Context, c *client, campaign, path string, n int) (*seatFile, error) {
	s := &seatFile{Server: c.base, Campaign: campaign, N: n, path: path}
	rand.Read(s.C[:])
	rand.Read(s.X[:])
	roller, err := dice.NewChain(s.C, n)
	if err != nil {
		return nil, &codeError{exitUnusable, err}
	}
	witness, err := dice.NewChain(s.X, n)
	if err != nil {
		return nil, err
	}
	if s.VKey, err = currentVKey(ctx, c, campaign); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	if err := s.save(); err != nil {
		return nil, err
	}
	a, err := c.command(ctx, campaign, "seat.take", map[string]any{"c0": roller.Anchor(), "x0": witness.Anchor(), "n": n})
	if err != nil {
		return nil, errors.Join(err, os.Remove(path))
	}
	rec, err := events.Parse(a.Records[0])
	if err != nil {
		return nil, err
	}
	var taken events.SeatTaken
	if err := json.Unmarshal(rec.Data, &taken); err != nil {
		return nil, err
	}
	if taken.C0 != roller.Anchor().String() || taken.X0 != witness.Anchor().String() || taken.N != n {
		return nil, errors.New("the server has recorded other anchors than yours: do not play here")
	}
	s.Handle, s.Session, s.Lane = taken.Principal, taken.Session, taken.Lane
	if err := s.check(a); err != nil {
		return nil, err
	}
	return s, s.save()
}

func currentVKey(ctx context.Context, c *client, campaign string) (string, error) {
	in, err := c.stream(ctx, "/v1/campaigns/"+campaign+"/ledger")
	if err != nil {
		return "", err
	}
	defer in.Close()
	vkey, _, err := copyLedger(io.Discard, in)
	return vkey, err
}

// save writes the file anew beside itself, syncs, and renames. What another
// process of the same seat has given or seen meanwhile is kept.
func (s *seatFile) save() error {
	if now, err := loadSeat(s.path); err == nil && now.C == s.C {
		s.Given, s.Shown = max(s.Given, now.Given), max(s.Shown, now.Shown)
		if now.VKey == s.VKey && now.size() > s.size() {
			s.Checkpoint = now.Checkpoint
		}
	}
	b, err := json.Marshal(s, jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	f, err := os.OpenFile(s.path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err = f.Write(append(b, '\n')); err == nil {
		err = f.Sync()
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return err
	}
	return os.Rename(s.path+".new", s.path)
}

func loadSeat(path string) (*seatFile, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	s := &seatFile{path: path}
	if err := json.Unmarshal(b, s, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("%s is no seat file: %w", path, err)
	}
	return s, nil
}

func seatWatchCommand() *cobra.Command {
	var remote remoteFlags
	var path string
	var once, anew bool
	cmd := &cobra.Command{
		Use: "watch", Short: "Give your part of the joint seed, and witness declared rolls, when asked", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := loadSeat(path)
			if err != nil {
				return err
			}
			c, err := remote.client()
			if err != nil {
				return err
			}
			if err := s.follow(cmd.Context(), c, cmd.ErrOrStderr(), anew); err != nil {
				return err
			}
			w := &watcher{seat: s, client: c, out: cmd.OutOrStdout()}
			return w.follow(cmd.Context(), once)
		},
	}
	remote.add(cmd)
	cmd.Flags().StringVar(&path, "seat", "", "file with the chains")
	cmd.Flags().BoolVar(&once, "once", false, "stop when the seats are sealed")
	acceptNewLog(cmd, &anew)
	if err := cmd.MarkFlagRequired("seat"); err != nil {
		panic(err)
	}
	return cmd
}

// watcher follows a campaign for its seat. It has seen what stands in the
// ledger, not what anybody says about it.
type watcher struct {
	seat   *seatFile
	client *client
	out    io.Writer

	frontier merkle.Frontier
	own      bool    // the seat's anchors stand in the ledger
	asked    int     // highest element of the witness chain that the ledger asks for
	declared []int64 // rolls that were declared in the seat's session
	answered []string
}

// follow reads the ledger from its beginning and then as it grows.
func (w *watcher) follow(ctx context.Context, once bool) error {
	resp, err := w.client.do(ctx, http.MethodGet, "/v1/campaigns/"+w.seat.Campaign+"/events", nil, http.Header{"Accept": {"text/event-stream"}})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, events.MaxRecord+64)
	var pending []func(context.Context) error
	live := false
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case name == "event" && value == "backlog.end":
			live = true
		case name != "data" || strings.HasPrefix(value, `{"next"`):
			continue
		default:
			act, done, err := w.record([]byte(value))
			if err != nil {
				return err
			}
			if act != nil {
				pending = append(pending, act)
			}
			if done && once {
				return nil
			}
		}
		if !live {
			continue
		}
		for _, act := range pending {
			if err := act(ctx); err != nil {
				return err
			}
		}
		pending = nil
	}
	return lines.Err()
}

// record looks at one record; act is what it asks of this seat.
func (w *watcher) record(line []byte) (act func(context.Context) error, sealed bool, err error) {
	rec, err := events.Parse(line)
	if err != nil {
		return nil, false, err
	}
	w.frontier.Append(line)
	e, err := events.Core().Decode(rec)
	if err != nil {
		return nil, false, nil // a system's own event: none of this seat's business
	}
	switch e := e.(type) {
	case *events.SeatTaken:
		if e.Session == w.seat.Session && e.Lane == w.seat.Lane {
			w.own = true
		}
	case *events.SeatingClosed:
		i := slices.IndexFunc(e.Ask, func(a events.Ask) bool { return a.Lane == w.seat.Lane })
		if e.Session == w.seat.Session && i >= 0 {
			if err := w.due(e.Ask[i]); err != nil {
				return nil, false, err
			}
			return func(ctx context.Context) error { return w.reveal(ctx, rec.N, e.Ask[i].M) }, false, nil
		}
	case *events.SeatRevealed:
		if e.Session == w.seat.Session && e.Lane == w.seat.Lane {
			w.answered = append(w.answered, fmt.Sprint("x", e.M))
		}
	case *events.RollDeclared:
		if e.Session == w.seat.Session {
			w.declared = append(w.declared, rec.N)
		}
		if e.Session == w.seat.Session && e.Witness.Lane == w.seat.Lane {
			if err := w.due(e.Witness); err != nil {
				return nil, false, err
			}
			return func(ctx context.Context) error { return w.witness(ctx, rec.N, e.Witness.M, e.Purpose) }, false, nil
		}
	case *events.RollPassed:
		if e.Next.Lane == w.seat.Lane && slices.Contains(w.declared, e.Declared) {
			if err := w.due(e.Next); err != nil {
				return nil, false, err
			}
			return func(ctx context.Context) error { return w.witness(ctx, e.Declared, e.Next.M, "") }, false, nil
		}
	case *events.RollResolved:
		w.answered = append(w.answered, fmt.Sprint("roll ", e.Declared))
	case *events.RollVoided:
		w.answered = append(w.answered, fmt.Sprint("roll ", e.Declared))
	case *events.SeatingSealed:
		if e.Session == w.seat.Session {
			fmt.Fprintf(w.out, "seats sealed, joint seed %s\n", e.Joint)
			return nil, true, nil
		}
	}
	return nil, false, nil
}

// reveal gives the seat's part, but only under the server's signature over a
// ledger in which this device has found its own anchors before the closing.
func (w *watcher) reveal(ctx context.Context, closed int64, m int) error {
	if slices.Contains(w.answered, fmt.Sprint("x", m)) || m < w.asked {
		return nil // given already, or missed and spent
	}
	if !w.own {
		return errors.New("the seats are closed, but your anchors are not among them: nothing is revealed")
	}
	if err := w.receipt(ctx, closed); err != nil {
		return err
	}
	x, err := w.element(m)
	if err != nil {
		return err
	}
	if _, err := w.client.command(ctx, w.seat.Campaign, "seat.reveal", map[string]any{"lane": w.seat.Lane, "m": m, "x": x}); err != nil {
		return err
	}
	fmt.Fprintf(w.out, "revealed element %d of the witness chain\n", m)
	return w.seat.save()
}

// receipt holds the server to the ledger that this device has read, in which
// record n stands.
func (w *watcher) receipt(ctx context.Context, n int64) error {
	if n >= w.frontier.Size() {
		return fmt.Errorf(fork, w.frontier.Size(), "it asks about a record that it has not shown")
	}
	return w.seat.signed(ctx, w.client, &w.frontier)
}

// mostMissed is how many elements of the witness chain may have been asked for
// and missed, while nobody watched, before nothing more is given.
const mostMissed = 16

// element takes element m of the witness chain out of the file. It leaves only
// when it was asked for in turn, and not far behind the last one that did.
func (w *watcher) element(m int) (dice.Seed, error) {
	if m != w.asked || m > w.seat.Shown+1+mostMissed {
		return dice.Seed{}, fmt.Errorf("the server asks for element %d of your witness chain, but %d is next: nothing was given away. Show your file to the table", m, w.seat.Shown+1)
	}
	chain, err := dice.NewChain(w.seat.X, w.seat.N)
	if err != nil {
		return dice.Seed{}, err
	}
	x, err := chain.Link(m)
	if err != nil {
		return dice.Seed{}, err
	}
	w.seat.Shown = max(w.seat.Shown, m)
	return x, w.seat.save()
}

// due notes that an element of the seat's witness chain is asked for: each
// once, one after the other.
func (w *watcher) due(a events.Ask) error {
	if a.M != w.asked+1 {
		return fmt.Errorf("the ledger asks for element %d of your witness chain, but %d is next: nothing was given away. Show your file to the table", a.M, w.asked+1)
	}
	w.asked = a.M
	return nil
}

// witness answers for a declared roll.
func (w *watcher) witness(ctx context.Context, declared int64, m int, purpose string) error {
	if slices.Contains(w.answered, fmt.Sprint("roll ", declared)) || m < w.asked {
		return nil // done already, or passed over
	}
	if err := w.receipt(ctx, declared); err != nil {
		return err
	}
	x, err := w.element(m)
	if err != nil {
		return err
	}
	if _, err := w.client.command(ctx, w.seat.Campaign, "roll.witness", map[string]any{"declared": declared, "w": x}); err != nil {
		var p *problem
		if errors.As(err, &p) && p.Status == http.StatusUnprocessableEntity {
			return nil // somebody was faster, or it was taken back
		}
		return err
	}
	fmt.Fprintf(w.out, "witnessed roll %d %s\n", declared, printable(purpose))
	return w.seat.save()
}

func rollCommand() *cobra.Command {
	var remote remoteFlags
	var path, purpose string
	var asJSON, anew bool
	cmd := &cobra.Command{
		Use:   "roll CAMPAIGN EXPRESSION",
		Short: "Roll dice in a running session, with your own chains if you hold them",
		Example: `  tallystick roll 0192f1c0-… 3d6kh2+1 --token-file anna.token
  tallystick roll 0192f1c0-… 1d20 --token-file anna.token --seat anna.seat`,
		Args: exactly(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := remote.client()
			if err != nil {
				return err
			}
			a, err := rollDice(cmd, c, args[0], args[1], purpose, path, anew)
			if err != nil {
				return err
			}
			if asJSON {
				fmt.Fprintf(cmd.OutOrStdout(), "%s\n", a.Records[len(a.Records)-1])
				return nil
			}
			return newTranscript(cmd.OutOrStdout()).tell(a.Records)
		},
	}
	remote.add(cmd)
	cmd.Flags().StringVar(&path, "seat", "", "file with your chains")
	cmd.Flags().StringVar(&purpose, "purpose", "", "what it is for")
	acceptNewLog(cmd, &anew)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the record")
	return cmd
}

// rollDice rolls and, with a seat file, checks the dice and the ledger before
// anything is believed.
func rollDice(cmd *cobra.Command, c *client, campaign, expression, purpose, path string, anew bool) (answer, error) {
	ctx := cmd.Context()
	data := map[string]any{"expression": expression}
	if purpose != "" {
		data["purpose"] = purpose
	}
	if path == "" {
		return c.command(ctx, campaign, "roll", data)
	}
	s, err := loadSeat(path)
	if err != nil {
		return answer{}, err
	}
	if err := s.follow(ctx, c, cmd.ErrOrStderr(), anew); err != nil {
		return answer{}, err
	}
	lane, err := s.laneState(ctx, c)
	if err != nil {
		return answer{}, err
	}
	i := lane.Used + 1
	link, err := s.give(i)
	if err != nil {
		return answer{}, err
	}
	key, err := uuid.NewV7()
	if err != nil {
		return answer{}, err
	}
	body := map[string]any{"type": "roll", "data": data, "seat": events.Seat{Lane: s.Lane, I: i, C: link.String()}}
	header := http.Header{"Idempotency-Key": {key.String()}, "Ledger-Size": {fmt.Sprint(s.size())}}
	var a answer
	if err := c.call(ctx, http.MethodPost, "/v1/campaigns/"+campaign+"/commands", body, header, &a); err != nil {
		return a, err
	}
	if err := s.check(a); err != nil {
		return a, err
	}
	if err := checkDice(lane, a, i, link); err != nil {
		return a, fmt.Errorf("THE DICE DO NOT FOLLOW from the seeds: %w", err)
	}
	return a, s.save()
}

// give takes element i of the roller chain out of the file. Only the next one
// leaves it, or the last one again, whose command may have had no answer; what
// leaves is noted on disk first.
func (s *seatFile) give(i int) (dice.Seed, error) {
	if i != s.Given && i != s.Given+1 {
		return dice.Seed{}, fmt.Errorf("the server's ledger asks for element %d of your chain, but %d is next: nothing was given away. Show your file to the table", i, s.Given+1)
	}
	roller, err := dice.NewChain(s.C, s.N)
	if err != nil {
		return dice.Seed{}, err
	}
	link, err := roller.Link(i)
	if err != nil {
		return dice.Seed{}, err
	}
	s.Given = max(s.Given, i)
	return link, s.save()
}

// laneState is where a seat's lane stands, read from a ledger that the server
// has signed and that continues the one this file has seen.
func (s *seatFile) laneState(ctx context.Context, c *client) (*rules.Lane, error) {
	in, err := c.stream(ctx, "/v1/campaigns/"+s.Campaign+"/ledger")
	if err != nil {
		return nil, err
	}
	defer in.Close()
	lane := &rules.Lane{Name: s.Lane}
	var frontier merkle.Frontier
	declared := map[int64]int{} // indexes of declared rolls of the lane
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, events.MaxRecord+1)
	for lines.Scan() {
		frontier.Append(lines.Bytes())
		rec, err := events.Parse(lines.Bytes())
		if err != nil {
			return nil, err
		}
		if err := s.note(lane, declared, rec); err != nil {
			return nil, err
		}
	}
	switch {
	case lines.Err() != nil:
		return nil, lines.Err()
	case !lane.Sealed:
		return nil, errors.New("the seats of this session are not sealed yet")
	}
	return lane, s.signed(ctx, c, &frontier)
}

// signed holds the server to the ledger that this device has read: its
// signature must be over these very records, and they must continue what the
// file has seen.
func (s *seatFile) signed(ctx context.Context, c *client, read *merkle.Frontier) error {
	checkpoint, err := c.text(ctx, fmt.Sprintf("/v1/campaigns/%s/checkpoint?size=%d", s.Campaign, read.Size()))
	if err != nil {
		return err
	}
	head, err := merkle.Open(checkpoint, s.VKey)
	if err != nil {
		return err
	}
	if head.Size != read.Size() || head.Root != read.Root() {
		return fmt.Errorf(fork, read.Size(), "its signature is over other records than it showed")
	}
	return s.catchUp(ctx, c, s.Campaign)
}

// note takes what a record says of the seat's lane.
func (s *seatFile) note(lane *rules.Lane, declared map[int64]int, rec events.Record) error {
	e, err := events.Core().Decode(rec)
	if err != nil {
		return nil // a system's own event
	}
	switch e := e.(type) {
	case *events.SeatTaken:
		if e.Session == s.Session && e.Lane == s.Lane {
			lane.Seating = e.Seating
			lane.Last, err = dice.ParseSeed(e.S0)
		}
	case *events.SeatingSealed:
		if e.Session == s.Session && e.Seating == lane.Seating {
			lane.Sealed = true
			lane.Joint, err = dice.ParseSeed(e.Joint)
		}
	case *events.RollMade:
		if e.Session == s.Session && e.Lane == s.Lane {
			lane.Used = e.I
			lane.Last, err = dice.ParseSeed(e.S)
		}
	case *events.RollDeclared:
		if e.Session == s.Session && e.Lane == s.Lane {
			declared[rec.N] = e.I
		}
	case *events.RollResolved:
		if e.Session == s.Session && e.Lane == s.Lane {
			lane.Used = e.I
			lane.Last, err = dice.ParseSeed(e.S)
		}
	case *events.RollVoided:
		if i, mine := declared[e.Declared]; mine {
			lane.Used = i
			lane.Last, err = dice.ParseSeed(e.S)
		}
	}
	return err
}

// checkDice holds the dice of an answer against the lane's chain, the joint
// seed and the link that was sent.
func checkDice(lane *rules.Lane, a answer, i int, link dice.Seed) error {
	for _, line := range a.Records {
		rec, err := events.Parse(line)
		if err != nil {
			return err
		}
		if rec.Type != "roll.made" {
			continue
		}
		var roll events.RollMade
		if err := json.Unmarshal(rec.Data, &roll); err != nil {
			return err
		}
		seed, err := dice.ParseSeed(roll.S)
		switch {
		case err != nil:
			return err
		case roll.Lane != lane.Name || roll.I != i || roll.C != link.String():
			return errors.New("it is another roll than the one that was due")
		case seed.Next() != lane.Last:
			return errors.New("the server's seed is not the one it had promised")
		}
		stream := dice.NewStream(seed, lane.Joint, roll.Lane, roll.I, roll.C, dice.Absent)
		for k, d := range roll.Draws {
			if d[0] < 1 || stream.Die(d[0]) != d[1] {
				return fmt.Errorf("die %d", k+1)
			}
		}
		return nil
	}
	return errors.New("the answer holds no roll")
}
