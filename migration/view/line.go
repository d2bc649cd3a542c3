package view

import (
	"fmt"
	"strings"
	"time"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// Line returns the state of a migration in one line.
func (r Row) Line(now time.Time) string {
	words := []string{fmt.Sprintf("%d/%d moved", r.Moved, r.Total)}
	if r.Mode != api.ModeRun {
		words = append(words, "mode "+string(r.Mode))
	}
	if _, ended := ends[r.State]; ended {
		return strings.Join(append(words, string(r.State)+": "+r.Now), "  ")
	}
	if h := r.Handoff; h != nil {
		text := h.Text()
		if h.Down != nil {
			text += "; " + h.Down.Text(now)
		}
		words = append(words, text)
	}
	switch hold := r.Hold; {
	case hold == nil:
	case hold.Stalled:
		words = append(words, "STALLED "+hold.Reason+": "+hold.Message)
	case hold.Message != "":
		words = append(words, hold.Message)
	}
	return strings.Join(words, "  ")
}
