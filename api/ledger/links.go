package ledger

import (
	"context"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"

	"github.com/google/uuid"

	"tallystick/rules"
)

// linkMAC is how many bytes of an HMAC-SHA256 keep an address from being
// guessed.
const linkMAC = 16

// LinkToken is the secret part of a link's address. It follows from the master
// key, so nothing has to be kept, and making the link again gives it again.
// It is empty for a link whose id is no UUID: this program made no such link.
func (l *Ledger) LinkToken(campaign, link string) string {
	c, err := uuid.Parse(campaign)
	if err != nil {
		return ""
	}
	id, err := uuid.Parse(link)
	if err != nil {
		return ""
	}
	body := append(c[:], id[:]...)
	return base64.RawURLEncoding.EncodeToString(append(body, l.linkMAC(body)...))
}

// Linked finds what an address leads to; ok is false for one that this server
// did not give out.
func (l *Ledger) Linked(token string) (campaign, link string, ok bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(raw) != 32+linkMAC || !hmac.Equal(raw[32:], l.linkMAC(raw[:32])) {
		return "", "", false
	}
	return uuid.UUID(raw[:16]).String(), uuid.UUID(raw[16:32]).String(), true
}

func (l *Ledger) linkMAC(body []byte) []byte {
	key, err := hkdf.Key(sha256.New, l.cfg.Keys.Master, nil, "link/v1\n", 32)
	if err != nil {
		panic("ledger: " + err.Error()) // 32 bytes can always be made
	}
	mac := hmac.New(sha256.New, key)
	mac.Write(body)
	return mac.Sum(nil)[:linkMAC]
}

// RollLink makes the roll of a link in the name of who made it. The command's
// id follows from the link: whoever asks again gets the recorded answer.
func (l *Ledger) RollLink(ctx context.Context, campaign, link, by string) (Answer, error) {
	data, err := rules.Canonical(&rules.LinkRoll{Link: link})
	if err != nil {
		return Answer{}, err
	}
	id := uuid.NewSHA1(uuid.NameSpaceOID, []byte("tallystick link "+campaign+" "+link)).String()
	return l.Execute(ctx, campaign, rules.Command{ID: id, By: by, Type: rules.LinkRollType, Data: data})
}
