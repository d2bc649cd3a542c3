package migration

import (
	"strings"
	"testing"
	"unicode/utf8"

	"k8s.io/client-go/tools/events"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// TestLongNotes: a note that the API would refuse for its length is no event at all (G16).
func TestLongNotes(t *testing.T) {
	for name, tc := range map[string]struct {
		message string
		cut     bool
	}{
		"short":               {"waiting", false},
		"just short enough":   {strings.Repeat("a", longestNote), false},
		"too long":            {strings.Repeat("a", longestNote+1), true},
		"cut within a letter": {"a" + strings.Repeat("é", longestNote), true},
	} {
		t.Run(name, func(t *testing.T) {
			recorder := events.NewFakeRecorder(1)
			r := &Reconciler{Events: recorder}
			r.event(&api.Migration{}, "Warning", "Held", "Hold", tc.message)
			note := strings.TrimPrefix(<-recorder.Events, "Warning Held ")
			if len(note) > longestNote || !utf8.ValidString(note) {
				t.Errorf("%d bytes, valid: %t", len(note), utf8.ValidString(note))
			}
			if cut := strings.HasSuffix(note, "…"); cut != tc.cut || !cut && note != tc.message {
				t.Errorf("got %q", note)
			}
		})
	}
}
