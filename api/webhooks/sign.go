package webhooks

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"time"
)

// secretSize is the length of a signing secret, in bytes.
const secretSize = 32

// writeSecret is a signing secret as the convention writes it.
func writeSecret(secret []byte) string { return "whsec_" + base64.StdEncoding.EncodeToString(secret) }

// sign is the value of the header webhook-signature for an attempt: a signature
// with each secret, of which a receiver needs to know one.
func sign(secrets [][]byte, id string, at time.Time, body []byte) string {
	all := make([]string, len(secrets))
	for i, secret := range secrets {
		mac := hmac.New(sha256.New, secret)
		fmt.Fprintf(mac, "%s.%d.%s", id, at.Unix(), body)
		all[i] = "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	return strings.Join(all, " ")
}
