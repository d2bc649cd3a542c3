package report

import "testing"

// TestCounted: 1 takes the singular, every other number the plural.
func TestCounted(t *testing.T) {
	for n, want := range map[int]string{0: "0 stops", 1: "1 stop", 2: "2 stops"} {
		if got := counted(n, "stop"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
