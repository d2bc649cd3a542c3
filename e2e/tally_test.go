package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
)

// tally is what all runs together did.
type tally struct {
	mu       sync.Mutex
	runs     int
	handoffs int
	faults   map[string]int
	// repeated are the runs that were tried again; reasons says how often for what.
	repeated int
	reasons  map[string]int
	// died are the parts of the bench that died by themselves.
	died map[string]int
}

func newTally() *tally {
	return &tally{faults: map[string]int{}, reasons: map[string]int{}, died: map[string]int{}}
}

func (s *tally) add(fault string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[fault]++
}

// ran counts a run that has come to its end.
func (s *tally) ran(handoffs int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs, s.handoffs = s.runs+1, s.handoffs+handoffs
}

// merge adds what one run did.
func (s *tally) merge(run *tally) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs, s.handoffs = s.runs+run.runs, s.handoffs+run.handoffs
	for fault, n := range run.faults {
		s.faults[fault] += n
	}
}

// repeat counts a run that is tried again, for these reasons.
func (s *tally) repeat(reasons []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.repeated++
	for _, reason := range reasons {
		s.reasons[reason]++
	}
}

// bury counts the parts of the bench that died by themselves.
func (s *tally) bury(deaths []death) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range deaths {
		s.died[d.name()]++
	}
}

// String is a table.
func (s *tally) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for _, fault := range slices.Sorted(maps.Keys(s.faults)) {
		fmt.Fprintf(&b, "\n  %4d  %s", s.faults[fault], fault)
	}
	return fmt.Sprintf("%d runs, %d handoffs, %d faults:%s\n%s", s.runs, s.handoffs, sum(s.faults), b.String(), s.bench())
}

// sentence is the same for the documentation.
func (s *tally) sentence() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprintf("%d runs, %d handoffs, %d faults, 0 violations: %s. %s", s.runs, s.handoffs, sum(s.faults), list(s.faults), s.bench())
}

// benchSentence is what the documentation says of the bench alone.
func (s *tally) benchSentence() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bench()
}

func (s *tally) bench() string {
	text := "No part of the bench died by itself."
	if n := sum(s.died); n > 0 {
		text = fmt.Sprintf("Parts of the bench died by themselves, %d in all: %s.", n, list(s.died))
	}
	if s.repeated > 0 {
		text += fmt.Sprintf(" Runs repeated because the bench broke, %d in all: %s.", s.repeated, list(s.reasons))
	}
	return text
}

func sum(counts map[string]int) int {
	all := 0
	for _, n := range counts {
		all += n
	}
	return all
}

func list(counts map[string]int) string {
	items := make([]string, 0, len(counts))
	for _, item := range slices.Sorted(maps.Keys(counts)) {
		items = append(items, fmt.Sprintf("%s (%d)", item, counts[item]))
	}
	return strings.Join(items, "; ")
}

// TestTally: the documentation names what broke without being asked to.
func TestTally(t *testing.T) {
	t.Parallel()
	run, total := newTally(), newTally()
	run.add("a pause")
	run.ran(3)
	total.merge(run)
	if want := "1 runs, 3 handoffs, 1 faults, 0 violations: a pause (1). No part of the bench died by itself."; total.sentence() != want {
		t.Errorf("sentence %q, want %q", total.sentence(), want)
	}
	total.bury([]death{kwokDied, kwokDied})
	total.repeat([]string{"kwok of the destination died by itself"})
	want := "1 runs, 3 handoffs, 1 faults, 0 violations: a pause (1). Parts of the bench died by themselves, 2 in all: kwok of the destination (2)." +
		" Runs repeated because the bench broke, 1 in all: kwok of the destination died by itself (1)."
	if total.sentence() != want {
		t.Errorf("sentence %q, want %q", total.sentence(), want)
	}
}
