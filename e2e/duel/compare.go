package duel

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// difference is one aspect in which the sides differ.
type difference struct {
	// about is the aspect: a line of the state, "events of <ordinal>" or "order of events".
	about, native, ours string
}

func (d difference) String() string {
	return fmt.Sprintf("%s\n    native %s\n    ours   %s", d.about, d.native, d.ours)
}

const (
	eventsOf = "events of "
	orderOf  = "order of events"
)

// compareStates returns the differences of two states.
func compareStates(native, ours state) []difference {
	var found []difference
	keys := slices.Collect(maps.Keys(native.lines))
	for key := range ours.lines {
		if _, both := native.lines[key]; !both {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		if native.lines[key] != ours.lines[key] {
			found = append(found, difference{key, orNone(native.lines[key]), orNone(ours.lines[key])})
		}
	}
	return found
}

// compareEvents returns the differences of the events. The order counts only where the set prescribes one.
func compareEvents(w *wish, native, ours []event) []difference {
	var found []difference
	native, ours = w.counted(native), w.counted(ours)
	a, b := chains(native), chains(ours)
	for ordinal := range int32(maxOrdinal) {
		if a[ordinal] != b[ordinal] {
			found = append(found, difference{fmt.Sprint(eventsOf, ordinal), orNone(a[ordinal]), orNone(b[ordinal])})
		}
	}
	if len(found) > 0 || w.parallel() {
		return found
	}
	deletions := w.mostUnavailable(true) == 1
	if x, y := ordered(native, deletions), ordered(ours, deletions); x != y {
		found = append(found, difference{orderOf, x, y})
	}
	return found
}

// counted omits the Ready events of pods outside of the range: such a pod may be deleted before it is Ready.
func (w *wish) counted(all []event) []event {
	return slices.DeleteFunc(slices.Clone(all), func(e event) bool { return e.what == ready && !w.owns(e.ordinal) })
}

// maxOrdinal is above all ordinals of scripts.
const maxOrdinal = 20

// none stands for a missing object.
const none = "none"

func orNone(text string) string {
	if text == "" {
		return none
	}
	return text
}

func inLines(found []difference) string {
	lines := make([]string, 0, len(found))
	for _, one := range found {
		lines = append(lines, "  "+one.String())
	}
	return strings.Join(lines, "\n")
}
