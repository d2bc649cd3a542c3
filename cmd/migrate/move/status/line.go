package status

import (
	"fmt"
	"strings"

	"github.com/sliceshift/sliceshift/internal/records"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/view"
)

// Line says in one line where a migration is.
func Line(m *api.Migration) string {
	status := m.Status
	words := []string{fmt.Sprintf("%d/%d moved", status.Arrived(), status.Total)}
	if m.Spec.Mode != api.ModeRun && m.Spec.Mode != "" {
		words = append(words, "mode "+string(m.Spec.Mode))
	}
	if h := status.Handoff; h != nil {
		text := fmt.Sprintf("ordinal %d", h.Ordinal)
		if step := view.StepText(h.Step); step != "" {
			text += ": " + step
		}
		words = append(words, text)
	}
	if completed := records.Completed(m); completed != "" {
		return strings.Join(append(words, "completed: "+completed), "  ")
	}
	if stall := view.StallOf(m); stall != nil {
		return strings.Join(append(words, "STALLED "+stall.Reason+": "+stall.Message), "  ")
	}
	for _, c := range status.Conditions {
		if c.Type == api.ConditionProgressing && c.Message != "" {
			words = append(words, c.Message)
		}
	}
	return strings.Join(words, "  ")
}
