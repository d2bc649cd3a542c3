package report

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/view"
)

// measure sets the downtime of each handoff, as far as the time of its stop is known.
func (r *Report) measure() {
	for i := range r.Handoffs {
		h := &r.Handoffs[i]
		h.DownSeconds, h.SoakSeconds = nil, nil
		down := h.downtime()
		if down == nil {
			continue
		}
		h.DownSeconds = new(view.Exact(down.Outage(r.until(*h))))
		if h.Ready != nil {
			h.SoakSeconds = new(view.Exact(down.Soak(r.until(*h))))
		}
	}
}

// downtime returns the downtime in a handoff; nil if there was none, or if it is unknown.
func (h Handoff) downtime() *view.Down {
	switch {
	case h.Stopped == nil:
		return nil
	case h.End == nil:
		return &view.Down{Since: *h.Stopped, Ready: h.Ready}
	}
	past := api.PastHandoff{Outcome: h.Outcome, StopTime: metav1.NewMicroTime(*h.Stopped)}
	if h.Ready != nil {
		past.ReadyTime = metav1.NewMicroTime(*h.Ready)
	}
	return view.DownIn(past)
}

// untilReady returns when the downtime in a handoff ended: the ordinal serves from when it is Ready.
func (r *Report) untilReady(h Handoff) time.Time {
	if h.Ready != nil {
		return *h.Ready
	}
	return r.until(h)
}

// until returns when a handoff ended, or the end of the report.
func (r *Report) until(h Handoff) time.Time {
	if h.End != nil {
		return *h.End
	}
	return r.end()
}

// logStops takes the times of stops from the log if the status does not have them: the last stop since the
// ordinal was available before.
func (r *Report) logStops() {
	since := map[int32]time.Time{}
	for i := range r.Handoffs {
		h := &r.Handoffs[i]
		var last *time.Time
		for _, e := range r.Entries {
			if h.Stopped == nil && !h.Stayed && e.Verb == plan.ScaleDown && e.Ordinal != nil && *e.Ordinal == h.Ordinal &&
				e.Time.After(since[h.Ordinal]) && !e.Time.After(r.until(*h)) {
				last = &e.Time
			}
		}
		if last != nil {
			h.Stopped = last
		}
		if h.Outcome == "" && h.End != nil {
			since[h.Ordinal] = *h.End
		}
	}
}

// away returns the time for which the ordinal of a handoff is drawn as down. Downtime in a previous handoff
// that was reversed is drawn in that one. down is false if there is none.
func (r *Report) away(nth int) (from, to time.Time, down bool) {
	h := r.Handoffs[nth]
	from, to = h.Start, r.untilReady(h)
	switch {
	case h.Stayed, h.Stopped == nil && h.End == nil && !records.StoppedAt(h.Step):
		return from, to, false
	case h.Stopped != nil:
		from = *h.Stopped
	}
	if before, found := r.before(nth); found && before.Outcome == api.HandoffTurnedBack && before.End.After(from) {
		from = *before.End
	}
	return from, to, true
}

// before returns the previous handoff of the same ordinal that has ended.
func (r *Report) before(nth int) (Handoff, bool) {
	for i := nth - 1; i >= 0; i-- {
		if h := r.Handoffs[i]; h.Ordinal == r.Handoffs[nth].Ordinal && h.End != nil {
			return h, true
		}
	}
	return Handoff{}, false
}

// soak returns how long the ordinal of a handoff was Ready before it counted as available; empty if unknown.
func (h Handoff) soak() string {
	if h.SoakSeconds == nil {
		return ""
	}
	text := length(time.Duration(*h.SoakSeconds * float64(time.Second)))
	if h.End == nil {
		text += " so far"
	}
	return text
}

// down returns how long the ordinal of a handoff was down, as text.
func (h Handoff) down() string {
	switch {
	case h.Stayed:
		return "not stopped"
	case h.Stopped == nil && h.End == nil && !records.StoppedAt(h.Step):
		return "not stopped yet"
	case h.DownSeconds == nil:
		return "not known"
	}
	text := length(time.Duration(*h.DownSeconds * float64(time.Second)))
	switch {
	case h.Outcome == api.HandoffTurnedBack:
		return text + " until then"
	case h.End == nil && h.Ready == nil:
		return text + " so far"
	case h.Stopped.Before(h.Start):
		return fmt.Sprintf("%s, since %s", text, moment(*h.Stopped))
	default:
		return text
	}
}
