package built

import (
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

// TestCounter: packages are counted, also when a line arrives in parts, and complaints are not.
func TestCounter(t *testing.T) {
	at := clocktesting.NewFakePassiveClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	var out strings.Builder
	c := newCounter(&out, at, 8)
	for _, text := range []string{"k8s.io/a\nk8s.i", "o/b\n# k8s.io/c\n./c.go:1:2: undefined: x\n"} {
		if n, err := c.Write([]byte(text)); n != len(text) || err != nil {
			t.Fatal(n, err)
		}
	}
	at.SetTime(at.Now().Add(3 * time.Minute))
	for _, line := range []string{"k8s.io/d\n", "k8s.io/e\n"} {
		if _, err := c.Write([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	at.SetTime(at.Now().Add(every))
	for range 6 {
		if _, err := c.Write([]byte("k8s.io/f\n")); err != nil {
			t.Fatal(err)
		}
		at.SetTime(at.Now().Add(every))
	}
	const want = `  3 of 8 packages, about 5 min left
  5 of 8 packages, about 2 min left
  6 of 8 packages, about 1 min left
  7 of 8 packages, less than a minute left
  8 of 8 packages, less than a minute left
  8 of 8 packages, less than a minute left
  8 of 8 packages, less than a minute left
`
	if got := out.String(); got != want {
		t.Errorf("got:\n%s", got)
	}
}
