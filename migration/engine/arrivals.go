package engine

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// arrivalsPause is the minimum time between two arrival events of a Migration. An event for each ordinal would
// cost as much as a write of its handoff, and no user reads a thousand events. With a hundred Migrations a
// handoff takes ten seconds, so a shorter pause saves nothing.
const arrivalsPause = 30 * time.Second

// arrivals holds the ordinals of a Migration that have arrived and that no event has reported yet. The first
// arrival is reported at once.
type arrivals struct {
	told      time.Time
	direction api.Direction
	ordinals  []int32
	slowest   time.Duration
}

// add records an ordinal's arrival and its duration. It returns the note that must be reported first, if any,
// because one event covers one direction.
func (a *arrivals) add(ordinal int32, took time.Duration, direction api.Direction) (before string) {
	if direction != a.direction {
		before = a.take()
	}
	a.direction, a.ordinals, a.slowest = direction, append(a.ordinals, ordinal), max(a.slowest, took)
	return before
}

// due returns the note to report now; empty means none. If last is true, nothing waits any longer.
func (a *arrivals) due(now time.Time, last bool) string {
	if !last && now.Sub(a.told) < arrivalsPause {
		return ""
	}
	note := a.take()
	if note != "" {
		a.told = now
	}
	return note
}

func (a *arrivals) take() string {
	ordinals, slowest := a.ordinals, a.slowest.Round(time.Millisecond)
	a.ordinals, a.slowest = nil, 0
	switch len(ordinals) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("ordinal %d is available at the %s, after %s", ordinals[0], a.side(), slowest)
	}
	all := make([]string, len(ordinals))
	for i, ordinal := range ordinals {
		all[i] = strconv.Itoa(int(ordinal))
	}
	return fmt.Sprintf("ordinals %s are available at the %s, the slowest after %s", strings.Join(all, ", "), a.side(), slowest)
}

// side returns the side at which the ordinals have arrived.
func (a *arrivals) side() plan.SideName {
	if a.direction == api.Back {
		return plan.SourceSide
	}
	return plan.DestinationSide
}
