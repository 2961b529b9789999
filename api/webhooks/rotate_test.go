package webhooks

import (
	"bytes"
	"testing"
	"time"

	"tallystick/api/ledger"
	"tallystick/events/journal"
)

// The secret before signs until it ends, not longer, and no longer than it may.
func TestSecretBeforeEnds(t *testing.T) {
	bucket, err := journal.NewMemory(1).Bucket(t.Context(), Bucket)
	if err != nil {
		t.Fatal(err)
	}
	box, err := ledger.NewBox(make([]byte, 32), "webhook/v1\n")
	if err != nil {
		t.Fatal(err)
	}
	h := &Hooks{bucket: bucket, box: box}
	hook := Hook{ID: "one", Campaign: "c"}
	var first, second string
	hook.Secret, first = h.newSecret(hook)
	if err := h.put(t.Context(), hookKey("c", "one"), hook); err != nil {
		t.Fatal(err)
	}
	if hook, second, err = h.Rotate(t.Context(), hook, 1_000*time.Hour); err != nil || time.Until(hook.BeforeEnds) > MaxOverlap {
		t.Fatalf("%v, it ends at %v", err, hook.BeforeEnds)
	}
	r := &runner{h: h, hook: hook}
	for _, c := range []struct {
		at   time.Time
		want []string
	}{{hook.BeforeEnds.Add(-time.Second), []string{second, first}}, {hook.BeforeEnds, []string{second}}} {
		secrets, err := r.secrets(t.Context(), c.at)
		if err != nil || len(secrets) != len(c.want) {
			t.Fatalf("at %v: %d secrets, %v", c.at, len(secrets), err)
		}
		for i, secret := range secrets {
			if writeSecret(secret) != c.want[i] || bytes.Contains(hook.Secret, secret) {
				t.Errorf("at %v: secret %d is another one", c.at, i)
			}
		}
	}
}
