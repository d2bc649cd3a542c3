package printable

import (
	"strings"
	"testing"
)

// TestFit: text within the limit is unchanged, and longer text uses the limit to the byte.
func TestFit(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"empty":             {"", ""},
		"it fits":           {strings.Repeat("a", 12), strings.Repeat("a", 12)},
		"a byte too long":   {strings.Repeat("a", 13), strings.Repeat("a", 9) + "…"},
		"quotes that fit":   {strings.Repeat(`"`, 6), strings.Repeat(`"`, 6)},
		"a quote too many":  {strings.Repeat(`"`, 7), `""""` + "…"},
		"between letters":   {strings.Repeat("é", 7), "éééé…"},
		"six bytes for one": {"<<<", "<…"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Fit(tc.text, 12); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
