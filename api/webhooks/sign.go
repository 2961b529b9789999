package webhooks

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"time"
)

// secretSize is the length of a signing secret, in bytes.
const secretSize = 32

// writeSecret is a signing secret as the convention writes it.
func writeSecret(secret []byte) string { return "whsec_" + base64.StdEncoding.EncodeToString(secret) }

// sign is the value of the header webhook-signature for an attempt.
func sign(secret []byte, id string, at time.Time, body []byte) string {
	mac := hmac.New(sha256.New, secret)
	fmt.Fprintf(mac, "%s.%d.%s", id, at.Unix(), body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
