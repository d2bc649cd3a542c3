package report

import "testing"

// TestCounted: one is one, and all others are several.
func TestCounted(t *testing.T) {
	for n, want := range map[int]string{0: "0 stops", 1: "1 stop", 2: "2 stops"} {
		if got := counted(n, "stop"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
