package preview

import (
	"fmt"
	"strings"
	"time"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/migration/schedule"
	"github.com/sliceshift/sliceshift/migration/view"
)

// Schedule shows which part of a move fits into which windows, if each handoff takes the expected time.
type Schedule struct {
	HandoffSeconds int64     `json:"handoffSeconds"`
	Windows        []Opening `json:"windows"`
	// Left is the number of ordinals that fit into none of these windows.
	Left int32 `json:"left"`

	by *schedule.Schedule
}

// Opening is the number of handoffs that fit into one window. An absent time means no limit.
type Opening struct {
	Opens    *time.Time `json:"opens,omitempty"`
	Closes   *time.Time `json:"closes,omitempty"`
	Ordinals int32      `json:"ordinals"`
}

// scheduleOf returns the schedule, or nil if no schedule decides when ordinals move.
func scheduleOf(s plan.Snapshot) *Schedule {
	s = resumed(s)
	timing, asked := planner.TimingOf(s)
	if !asked {
		return nil
	}
	d := &Schedule{HandoffSeconds: int64(timing.Needs / time.Second), Windows: []Opening{}, by: s.Spec.Schedule}
	shares, left := s.Spec.Schedule.Forecast(s.Now, timing.Needs, timing.Left)
	d.Left = left
	for _, share := range shares {
		d.Windows = append(d.Windows, Opening{optional(share.Slot.Opens), optional(share.Slot.Closes), share.Ordinals})
	}
	return d
}

// expected returns the expected duration of each handoff in seconds, and its source. It is 0 if no ordinal is left to
// move to the destination. Without a schedule, it uses the planner's assumption.
func expected(s plan.Snapshot) (int64, HandoffSource) {
	s = resumed(s)
	if s.Spec.Schedule == nil {
		s.Spec.Schedule = schedule.Of(&api.ScheduleSpec{})
	}
	timing, asked := planner.TimingOf(s)
	switch {
	case !asked:
		return 0, ""
	case s.Spec.Schedule.Expected() > 0:
		return int64(timing.Needs / time.Second), HandoffSaid
	case s.Record.Pace != nil:
		return int64(s.Record.Pace.LongestSeconds), HandoffMeasured
	default:
		return int64(timing.Needs / time.Second), HandoffAssumed
	}
}

func optional(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// text returns the first windows, and when the last ordinals move.
func (d Schedule) text() string {
	const shown = 5
	lines := []string{fmt.Sprintf("By its schedule, with %s for a handoff:", time.Duration(d.HandoffSeconds)*time.Second)}
	for i, opening := range d.Windows {
		if i >= shown-1 && i < len(d.Windows)-1 {
			if i == shown-1 {
				lines = append(lines, "  ...")
			}
			continue
		}
		lines = append(lines, "  "+d.line(opening))
	}
	if d.Left > 0 {
		lines = append(lines, fmt.Sprintf("  %s after that", view.Count(int(d.Left), "ordinal")))
	}
	return strings.Join(lines, "\n")
}

func (d Schedule) line(s Opening) string {
	text := view.Count(int(s.Ordinals), "ordinal")
	switch {
	case s.Opens == nil && s.Closes == nil:
		return text + " at any time"
	case s.Opens == nil:
		return text + " up to " + d.by.Text(*s.Closes)
	case s.Closes == nil:
		return text + " from " + d.by.Text(*s.Opens) + " on"
	default:
		return text + " from " + d.by.Text(*s.Opens) + " to " + d.by.Text(*s.Closes)
	}
}
