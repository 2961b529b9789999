package webhooks

import (
	"encoding/base64"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// The reference vector that the libraries of the convention test themselves
// with.
func TestSignatureVector(t *testing.T) {
	secret, err := base64.StdEncoding.DecodeString("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		t.Fatal(err)
	}
	got := sign([][]byte{secret}, "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`))
	if want := "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// openssl comes to the same signature, from the secret as a receiver is given
// it.
func TestSignatureByOpenSSL(t *testing.T) {
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		t.Skip("openssl is not installed")
	}
	secret := []byte("a secret of 32 bytes, known to us")[:secretSize]
	body := `{"type":"note.added","timestamp":"2026-11-30T19:00:03.000Z","data":{"text":"Zoë 東京"}}`
	got := sign([][]byte{secret}, "msg_1", time.Unix(1_800_000_000, 0), []byte(body))
	shown, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(writeSecret(secret), "whsec_"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(openssl, "dgst", "-sha256", "-mac", "HMAC", "-macopt", "key:"+string(shown), "-binary")
	cmd.Stdin = strings.NewReader("msg_1.1800000000." + body)
	sum, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if want := "v1," + base64.StdEncoding.EncodeToString(sum); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
