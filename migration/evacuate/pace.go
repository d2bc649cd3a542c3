package evacuate

import (
	"slices"
	"time"
)

// fewest is the number of handoffs from which on their lateness counts: of fewer, chance decides.
const fewest = 10

// late returns how many times as long the handoffs so far have taken as this forecast would have expected of them; at
// least 1. Sets that are under way at once wait for what they share: the manager, its limits, the API servers. No time of
// a set shows that before it has begun.
func (p Progress) late(r rates) float64 {
	took, done := p.handed(r)
	if r.arrived < fewest || took == 0 {
		return 1
	}
	named := p.named()
	past := p.rows(func(m Move) (time.Duration, bool) {
		begun := m.Stage != Waits
		m.Stage, m.Arrived = Waits, 0
		return r.rest(m), begun
	})
	var last time.Duration
	for _, row := range past {
		last = max(last, row.End)
	}
	expected := func(at time.Duration) (sum float64) {
		for _, row := range past {
			m := named[row.Set.Name]
			sum += min(float64(m.Total), max(0, float64(at-row.Begin-r.lead)/float64(max(1, r.handoff(*m)))))
		}
		return sum
	}
	needs := time.Duration(0)
	for last-needs > time.Millisecond { // in half of the time that is left, or not
		if half := (needs + last) / 2; expected(half) < done {
			needs = half
		} else {
			last = half
		}
	}
	return max(1, float64(took)/float64(max(time.Millisecond, last)))
}

// handed returns for how long sets have been under way so far, and how many handoffs have arrived, those under way in part.
// The time while none was does not count, nor does more than twice the usual time of one step: it may wait for a person.
func (p Progress) handed(r rates) (took time.Duration, done float64) {
	var spans []Span // backwards from now
	for _, m := range p.Moves {
		if m.Stage == Stuck || m.Stage == Waits {
			continue
		}
		usual, current, begun := max(1, r.handoff(m)), min(m.Since, mostLate*r.lead), m.Since
		if m.HandsOver {
			current = min(m.underWay(), mostLate*usual)
			done += float64(m.Arrived) + min(1, float64(current)/float64(usual))
		}
		if m.Listed > 0 {
			begun += m.Handing + m.Lead
		}
		spans = append(spans, Span{Begin: min(begun, max(0, m.Since-current)), End: begun})
	}
	slices.SortFunc(spans, func(a, b Span) int { return int(a.Begin - b.Begin) })
	var until time.Duration
	for _, s := range spans {
		took += max(0, s.End-max(s.Begin, until))
		until = max(until, s.End)
	}
	return took, done
}
