package status

import (
	"fmt"
	"strings"
	"time"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/view"
)

// Line returns the state of a migration in one line.
func Line(row view.Row, now time.Time) string {
	words := []string{fmt.Sprintf("%d/%d moved", row.Moved, row.Total)}
	if row.Mode != api.ModeRun {
		words = append(words, "mode "+string(row.Mode))
	}
	switch row.State { //nolint:exhaustive // in the others it is not completed
	case view.StateMoved, view.StateRolledBack, view.StateRecovered, view.StateReleased:
		return strings.Join(append(words, string(row.State)+": "+row.Now), "  ")
	}
	if h := row.Handoff; h != nil {
		text := fmt.Sprintf("ordinal %d", h.Ordinal)
		if step := view.StepText(h.Step); step != "" {
			text += ": " + step
		}
		if h.Down != nil {
			text += "; " + h.Down.Text(now)
		}
		words = append(words, text)
	}
	switch hold := row.Hold; {
	case hold == nil:
	case hold.Stalled:
		words = append(words, "STALLED "+hold.Reason+": "+hold.Message)
	case hold.Message != "":
		words = append(words, hold.Message)
	}
	return strings.Join(words, "  ")
}
