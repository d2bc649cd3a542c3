package evacuation

import (
	"fmt"
	"maps"
	"slices"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// order is the order of the entries of an Evacuation.
type order struct {
	entries map[string]api.EvacuatedMigration
	// waves are the declared waves in ascending order, and inWave the entries of each, in the order of the list.
	waves  []int32
	inWave map[int32][]string
	// below maps a wave to the sum over all lower ones: a list of them for each entry would grow with the square of their
	// number.
	below map[int32]sum
}

// orderOf returns the order of a list of entries.
func orderOf(entries []api.EvacuatedMigration) order {
	o := order{entries: make(map[string]api.EvacuatedMigration, len(entries)), inWave: map[int32][]string{}, below: map[int32]sum{}}
	for _, each := range entries {
		o.entries[each.Name] = each
		o.inWave[each.Wave] = append(o.inWave[each.Wave], each.Name)
	}
	o.waves = slices.Sorted(maps.Keys(o.inWave))
	return o
}

// sum describes Migrations that must have moved before another one begins.
type sum struct {
	// held states which of them cannot move without a change; empty if all can.
	held string
	// waiting lists the first ones that have not moved.
	waiting []string
	// circle is true if one of them comes after itself. Such a sum holds for the entry alone from which it was asked.
	circle bool
}

// mostNames is how many names a message lists.
const mostNames = 5

// moved reports whether all of them have moved.
func (s sum) moved() bool { return s.held == "" && len(s.waiting) == 0 }

// ahead sums up the Migrations that must have moved before a listed one: those that it names, and all of lower waves.
func (v *view) ahead(name string) (s sum) {
	entry := v.entries[name]
	for _, before := range entry.After {
		if v.add(&s, before); s.held != "" {
			return s
		}
	}
	lower := v.lower(entry.Wave)
	s.held = lower.held
	for _, before := range lower.waiting {
		s.wait(before)
	}
	return s
}

// lower sums up the Migrations of the waves below one.
func (v *view) lower(wave int32) sum {
	nth, _ := slices.BinarySearch(v.waves, wave)
	if nth == 0 {
		return sum{}
	}
	if known, found := v.below[wave]; found {
		return known
	}
	last := v.waves[nth-1]
	s := v.lower(last)
	s.waiting = slices.Clone(s.waiting)
	for _, before := range v.inWave[last] {
		if s.held != "" {
			break
		}
		v.add(&s, before)
	}
	if !s.circle {
		v.below[wave] = s
	}
	return s
}

// add adds a Migration to a sum.
func (v *view) add(s *sum, before string) {
	known, found := v.states[before]
	if !found {
		if _, listed := v.entries[before]; !listed {
			s.held = fmt.Sprintf("it comes after %s, which the Evacuation does not list", before)
			return
		}
		if v.visiting[before] {
			s.held, s.circle = fmt.Sprintf("it comes after %s, which comes after it: correct spec.migrations[].after or .wave", before), true
			return
		}
		known.State = v.state(before)
	}
	switch known.State {
	case api.EvacuatedMoved:
	case api.EvacuatedMissing, api.EvacuatedHeld, api.EvacuatedStalled, api.EvacuatedBack, api.EvacuatedPaused, api.EvacuatedRollingBack:
		s.held = fmt.Sprintf("it comes after %s, which is %s", before, known.State)
	default:
		s.wait(before)
	}
}

// wait adds a Migration that has not moved.
func (s *sum) wait(before string) {
	if len(s.waiting) < mostNames && !slices.Contains(s.waiting, before) {
		s.waiting = append(s.waiting, before)
	}
}
