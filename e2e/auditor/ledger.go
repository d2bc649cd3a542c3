package auditor

import (
	"maps"
	"sync"

	"k8s.io/utils/clock"
)

// ledger collects the findings of the checks. It is safe for concurrent use.
type ledger struct {
	clock clock.PassiveClock

	mu         sync.Mutex
	checks     map[Invariant]int
	violations []Finding
	unproved   []Finding
	known      map[string]bool
	torn       int
	broken     int
}

func newLedger(c clock.PassiveClock) *ledger {
	return &ledger{clock: c, checks: map[Invariant]int{}, known: map[string]bool{}}
}

// checked counts a completed check, whatever its result.
func (l *ledger) checked(invariant Invariant) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.checks[invariant]++
}

// violated records a violation once, however many checks find it.
func (l *ledger) violated(invariant Invariant, ordinal int32, message string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.violations = l.record("violated", l.violations, Finding{Invariant: invariant, Ordinal: ordinal, Message: message})
}

// notProved records a check that could not be completed.
func (l *ledger) notProved(invariant Invariant, ordinal int32, message string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unproved = l.record("unproved", l.unproved, Finding{Invariant: invariant, Ordinal: ordinal, Message: message})
}

func (l *ledger) record(kind string, list []Finding, f Finding) []Finding {
	key := kind + "\x00" + string(f.Invariant) + "\x00" + f.Message
	if l.known[key] {
		return list
	}
	l.known[key] = true
	f.Time = l.clock.Now()
	return append(list, f)
}

// tornSample counts a sample during which something changed.
func (l *ledger) tornSample() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.torn++
}

// interrupted counts a watch that broke off.
func (l *ledger) interrupted() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.broken++
}

// fill copies the findings into the report.
func (l *ledger) fill(r *Report) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.Checks = maps.Clone(l.checks)
	r.Violations = append([]Finding(nil), l.violations...)
	r.Unproved = append([]Finding(nil), l.unproved...)
	r.TornSamples, r.Interruptions = l.torn, l.broken
}
