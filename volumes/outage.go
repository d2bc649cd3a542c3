package volumes

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// Outage is how long the next ordinal is expected to be down for its handoff, in consecutive parts: from when its pod
// is terminated until its pod at the other side is Ready. The time that it must then stay Ready is not part of it. The
// zero value is an assumption. Use the methods: the fields hold the measured values.
type Outage struct {
	// Stop, Detach, Carry, Copy and Start are the medians of the parts of the same names in api.OutageParts.
	Stop, Detach, Carry, Copy, Start time.Duration
	// Measured is how many handoffs these are the medians of; 0: none was measured.
	Measured int
	// Rehearsed is how many pods of a rehearsal Start is the median of, while no handoff was measured. Carry is then how
	// long their volumes took to be restored, if the move restores them, too. The other parts are assumed.
	Rehearsed int
}

// assumed returns the outage that is expected until a handoff was measured: a pod that ends at once, and a disk that is
// attached in some seconds. The last pass of a copy depends on its data, so the copy itself projects it.
func assumed() Outage {
	const short, start = 2 * time.Second, 4 * time.Second
	return Outage{Stop: short, Detach: short, Carry: short, Start: start}
}

// expected returns the outage before a handoff was measured: the assumption, with the parts of a rehearsal if there was
// one.
func (o Outage) expected() Outage {
	expected := assumed()
	if o.Rehearsed > 0 {
		expected.Carry += o.Carry
		expected.Start = o.Start
	}
	return expected
}

// OutageOf returns the medians of the outages that the history of a migration lists for a direction. The way back has
// other clusters at its ends, so it is measured separately. An outage in which the migration was stopped for a while
// says nothing about the next one.
func OutageOf(history *api.History, direction api.Direction) Outage {
	return OutageOfAll([]*api.History{history}, direction)
}

// OutageOfAll is OutageOf for the histories of several migrations, of which some may be nil.
func OutageOfAll(histories []*api.History, direction api.Direction) Outage {
	var measured []api.OutageParts
	for _, history := range histories {
		if history == nil {
			continue
		}
		for _, past := range history.Handoffs {
			if past.Direction == direction && past.Outage != (api.OutageParts{}) && !interrupted(past, history.Stops) {
				measured = append(measured, past.Outage)
			}
		}
	}
	if len(measured) == 0 {
		return Outage{}
	}
	median := func(part func(api.OutageParts) metav1.Duration) time.Duration {
		lasted := make([]time.Duration, len(measured))
		for i, each := range measured {
			lasted[i] = part(each).Duration
		}
		slices.Sort(lasted)
		last := len(lasted) - 1
		return (lasted[last/2] + lasted[len(lasted)/2]) / 2
	}
	return Outage{
		Stop:     median(func(p api.OutageParts) metav1.Duration { return p.Stop }),
		Detach:   median(func(p api.OutageParts) metav1.Duration { return p.Detach }),
		Carry:    median(func(p api.OutageParts) metav1.Duration { return p.Carry }),
		Copy:     median(func(p api.OutageParts) metav1.Duration { return p.Copy }),
		Start:    median(func(p api.OutageParts) metav1.Duration { return p.Start }),
		Measured: len(measured),
	}
}

// interrupted reports whether the migration was stopped while the ordinal of a handoff was down.
func interrupted(past api.PastHandoff, stops []api.PastStop) bool {
	return slices.ContainsFunc(stops, func(stop api.PastStop) bool {
		return stop.StartTime.Time.Before(past.ReadyTime.Time) && stop.EndTime.After(past.StopTime.Time)
	})
}

// OutagePart is one part of an outage.
type OutagePart struct {
	// Name is stop, detach, carry, copy or start.
	Name  string
	Lasts time.Duration
}

// WithoutCopy returns the outage without the last pass of a copy.
func (o Outage) WithoutCopy() Outage {
	o.Copy = 0
	return o
}

// Parts returns the parts in their order. The copy is listed only if one was measured.
func (o Outage) Parts() []OutagePart {
	if o.Measured == 0 {
		o = o.expected()
	}
	parts := []OutagePart{{"stop", o.Stop}, {"detach", o.Detach}, {"carry", o.Carry}}
	if o.Copy > 0 {
		parts = append(parts, OutagePart{"copy", o.Copy})
	}
	return append(parts, OutagePart{"start", o.Start})
}

// Lasts returns the sum of the parts.
func (o Outage) Lasts() (sum time.Duration) {
	for _, part := range o.Parts() {
		sum += part.Lasts
	}
	return sum
}

// Source returns where the durations come from.
func (o Outage) Source() string {
	parts := "start"
	if o.Carry > 0 {
		parts = "carry and start"
	}
	switch {
	case o.Measured == 0 && o.Rehearsed == 1:
		return parts + " rehearsed with 1 pod, the rest assumed"
	case o.Measured == 0 && o.Rehearsed > 0:
		return fmt.Sprintf("%s rehearsed with %d pods, the rest assumed", parts, o.Rehearsed)
	case o.Measured == 0:
		return "assumed"
	case o.Measured == 1:
		return "measured once"
	default:
		return fmt.Sprintf("median of %d", o.Measured)
	}
}

// String returns the parts and their source as text for the user.
func (o Outage) String() string {
	texts := make([]string, 0, len(o.Parts()))
	for _, part := range o.Parts() {
		texts = append(texts, part.Name+" "+Brief(part.Lasts))
	}
	return strings.Join(append(texts, o.Source()), ", ")
}

// Brief returns a duration in whole seconds, or in tenths of a second below ten.
func Brief(d time.Duration) string {
	const short, tenth = 10 * time.Second, 100 * time.Millisecond
	if d < short {
		return d.Round(tenth).String()
	}
	return d.Round(time.Second).String()
}
