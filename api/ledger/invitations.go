package ledger

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"tallystick/events/journal"
)

// Limits of invitations.
const (
	// MaxInvitations is how many of a campaign may be open at a time.
	MaxInvitations = 100
	// InvitationLasts is how long one is good unless something else is said.
	InvitationLasts = 7 * 24 * time.Hour
	// InvitationLastsMost is the longest that one may be good.
	InvitationLastsMost = 30 * 24 * time.Hour
)

const invitationPrefix = "tallyinvite_"

// ErrNoInvitation: nothing is known of this invitation: it was never made, was
// used or taken back, or has expired.
var ErrNoInvitation = errors.New("this invitation is not good any more")

// ErrTooManyInvitations: a campaign has as many open invitations as it may.
var ErrTooManyInvitations = fmt.Errorf("%d invitations are open: take some back first", MaxInvitations)

// An Invitation lets whoever holds its token take part once.
type Invitation struct {
	ID      string    `json:"id"` // says nothing about its token
	Handle  string    `json:"handle"`
	Role    string    `json:"role"`
	Name    string    `json:"name,omitzero"`
	By      string    `json:"by"` // the game master in whose name the participant is added
	Expires time.Time `json:"expires"`
	Hash    string    `json:"hash"` // SHA-256 of the token, hex
}

// Command is the id of the command that adds the participant: the same however
// often the acceptance is repeated.
func (i Invitation) Command() string {
	return uuid.NewSHA1(uuid.NameSpaceOID, []byte("tallystick invitation "+i.ID)).String()
}

// Invite makes an invitation and returns its token, of which only the hash is
// kept. Expired ones are dropped on the way.
func (t *Tokens) Invite(ctx context.Context, campaign string, i Invitation) (Invitation, string, error) {
	secret := make([]byte, 32)
	rand.Read(secret)
	token := invitationPrefix + campaign + "_" + hex.EncodeToString(secret)
	hash := sha256.Sum256([]byte(token))
	i.ID, i.Hash = uuid.NewString(), hex.EncodeToString(hash[:])
	i.Expires = i.Expires.UTC().Truncate(time.Second)
	err := t.invitations(ctx, campaign, func(open []Invitation) ([]Invitation, error) {
		if len(open) >= MaxInvitations {
			return nil, ErrTooManyInvitations
		}
		return append(open, i), nil
	})
	return i, token, err
}

// Invitations are the open ones of a campaign, in the order they were made.
func (t *Tokens) Invitations(ctx context.Context, campaign string) (open []Invitation, err error) {
	open, _, err = t.readInvitations(ctx, campaign)
	return open, err
}

// Disinvite takes an invitation back: ErrNoInvitation when there is none.
func (t *Tokens) Disinvite(ctx context.Context, campaign, id string) error {
	return t.invitations(ctx, campaign, func(open []Invitation) ([]Invitation, error) {
		return without(open, func(i Invitation) bool { return i.ID == id })
	})
}

// Invited finds what a token invites to, without using it.
func (t *Tokens) Invited(ctx context.Context, token string) (campaign string, i Invitation, err error) {
	rest, ok := strings.CutPrefix(token, invitationPrefix)
	campaign, _, found := strings.Cut(rest, "_")
	if _, err := uuid.Parse(campaign); !ok || !found || err != nil {
		return "", i, ErrNoInvitation
	}
	open, _, err := t.readInvitations(ctx, campaign)
	if err != nil {
		return "", i, err
	}
	for _, i := range open {
		if i.is(token) {
			return campaign, i, nil
		}
	}
	return "", i, ErrNoInvitation
}

// Spend uses an invitation up. Of several who try at once one succeeds; the
// others get ErrNoInvitation.
func (t *Tokens) Spend(ctx context.Context, campaign, token string) error {
	return t.invitations(ctx, campaign, func(open []Invitation) ([]Invitation, error) {
		return without(open, func(i Invitation) bool { return i.is(token) })
	})
}

func (i Invitation) is(token string) bool {
	hash := sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare([]byte(hex.EncodeToString(hash[:])), []byte(i.Hash)) == 1
}

func without(open []Invitation, gone func(Invitation) bool) ([]Invitation, error) {
	rest := slices.DeleteFunc(slices.Clone(open), gone)
	if len(rest) == len(open) {
		return nil, ErrNoInvitation
	}
	return rest, nil
}

func invitationsKey(campaign string) string { return "invitations." + campaign }

// readInvitations gives those that have not expired, and the revision they
// were read at, 0 for none.
func (t *Tokens) readInvitations(ctx context.Context, campaign string) (open []Invitation, revision uint64, err error) {
	value, revision, err := t.bucket.Get(ctx, invitationsKey(campaign))
	if errors.Is(err, journal.ErrNotFound) {
		return nil, 0, nil
	}
	if err == nil {
		err = json.Unmarshal(value, &open)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("read the invitations: %w", err)
	}
	now := t.now()
	return slices.DeleteFunc(open, func(i Invitation) bool { return !now.Before(i.Expires) }), revision, nil
}

// invitations changes the open ones of a campaign, as often as others get in
// between.
func (t *Tokens) invitations(ctx context.Context, campaign string, change func([]Invitation) ([]Invitation, error)) error {
	for {
		open, revision, err := t.readInvitations(ctx, campaign)
		if err != nil {
			return err
		}
		if open, err = change(open); err != nil {
			return err
		}
		value, err := json.Marshal(open)
		if err != nil {
			return err
		}
		if revision == 0 {
			_, err = t.bucket.Create(ctx, invitationsKey(campaign), value)
		} else {
			_, err = t.bucket.Update(ctx, invitationsKey(campaign), value, revision)
		}
		if !errors.Is(err, journal.ErrConflict) {
			if err != nil {
				return fmt.Errorf("keep the invitations: %w", err)
			}
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}
