package relay

import (
	"strings"
	"testing"
)

// TestTold: text from outside becomes one printable line, the same for each attempt.
func TestTold(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 300)
	for text, want := range map[string]string{
		"cluster east: forbidden": "cluster east: forbidden",
		`the sender: Post "https://east:6443/api": read tcp 10.0.0.1:53422->192.0.2.1:6443: connection reset by peer`: `the sender: Post "https://east:6443/api": read tcp 192.0.2.1:6443: connection reset by peer`,
		"write tcp [::1]:5->[::1]:443: broken pipe": "write tcp [::1]:443: broken pipe",
		"one\r\n\ttwo\x1b[31m\x00\n\none\n":         "one; two [31m",
		"\u202Eback\xff":                            "back\uFFFD",
		long:                                        strings.Repeat("é", 150) + "...",
		"\n":                                        "",
	} {
		if got := told(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
