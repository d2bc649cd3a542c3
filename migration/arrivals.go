package migration

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sliceshift/sliceshift/migration/plan"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// arrivalsPause is how long a Migration tells of no more ordinals that have arrived than it has told of: an
// event of each would cost as much as a write of its handoff, and nobody reads a thousand. With a hundred Migrations a
// handoff takes ten seconds, and a shorter pause spares nothing.
const arrivalsPause = 30 * time.Second

// arrivals are the ordinals of a Migration that have arrived and that no event has told of yet. One that comes
// alone is told of at once.
type arrivals struct {
	told      time.Time
	direction api.Direction
	ordinals  []int32
	slowest   time.Duration
}

// add is for an ordinal that has arrived after so long. It returns what is to be told before, if anything: an
// event tells of one direction.
func (a *arrivals) add(ordinal int32, took time.Duration, direction api.Direction) (before string) {
	if direction != a.direction {
		before = a.take()
	}
	a.direction, a.ordinals, a.slowest = direction, append(a.ordinals, ordinal), max(a.slowest, took)
	return before
}

// due is what is to be told now; empty: nothing is. Nothing waits for longer when it is the last.
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

// side is the one that they have come to.
func (a *arrivals) side() plan.SideName {
	if a.direction == api.Back {
		return plan.SourceSide
	}
	return plan.DestinationSide
}
