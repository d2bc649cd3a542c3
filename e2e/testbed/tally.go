package testbed

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Tally counts the events of all runs together.
type Tally struct {
	mu       sync.Mutex
	runs     int
	handoffs int
	faults   map[string]int
	// repeated counts the repeated runs; reasons counts them by reason.
	repeated int
	reasons  map[string]int
	// died counts the parts of the testbed that crashed.
	died map[string]int
}

// NewTally returns an empty Tally.
func NewTally() *Tally {
	return &Tally{faults: map[string]int{}, reasons: map[string]int{}, died: map[string]int{}}
}

// Add counts a fault.
func (s *Tally) Add(fault string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[fault]++
}

// Ran counts a completed run.
func (s *Tally) Ran(handoffs int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs, s.handoffs = s.runs+1, s.handoffs+handoffs
}

// merge adds the counts of one run.
func (s *Tally) merge(run *Tally) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs, s.handoffs = s.runs+run.runs, s.handoffs+run.handoffs
	for fault, n := range run.faults {
		s.faults[fault] += n
	}
}

// repeat counts a repeated run, with these reasons.
func (s *Tally) repeat(reasons []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.repeated++
	for _, reason := range reasons {
		s.reasons[reason]++
	}
}

// Bury counts the parts of the testbed that crashed.
func (s *Tally) Bury(deaths []Death) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range deaths {
		s.died[d.name()]++
	}
}

// String returns a table.
func (s *Tally) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for _, fault := range slices.Sorted(maps.Keys(s.faults)) {
		fmt.Fprintf(&b, "\n  %4d  %s", s.faults[fault], fault)
	}
	return fmt.Sprintf("%d runs, %d handoffs, %d faults:%s\n%s", s.runs, s.handoffs, sum(s.faults), b.String(), s.testbedSentence())
}

// Sentence returns the counts as a sentence for the documentation.
func (s *Tally) Sentence() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprintf("%d runs, %d handoffs, %d faults, 0 violations: %s. %s", s.runs, s.handoffs, sum(s.faults), list(s.faults), s.testbedSentence())
}

// TestbedSentence returns the sentence about the testbed for the documentation.
func (s *Tally) TestbedSentence() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.testbedSentence()
}

func (s *Tally) testbedSentence() string {
	text := "No part of the testbed died by itself."
	if n := sum(s.died); n > 0 {
		text = fmt.Sprintf("Parts of the testbed died by themselves, %d in all: %s.", n, list(s.died))
	}
	if s.repeated > 0 {
		text += fmt.Sprintf(" Runs repeated because the testbed broke, %d in all: %s.", s.repeated, list(s.reasons))
	}
	return text
}

// Broken returns how many parts of the testbed crashed, and how many runs were repeated because the testbed broke.
func (s *Tally) Broken() (died, repeated int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return sum(s.died), s.repeated
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
