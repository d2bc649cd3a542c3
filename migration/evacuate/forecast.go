package evacuate

import "time"

// Progress is the state of an evacuation that is under way.
type Progress struct {
	Moves []Move
	// AtOnce bounds the sets that are under way; 0: no limit.
	AtOnce int
}

// Move is the move of one set in an evacuation, and its progress.
type Move struct {
	Name  Name
	After []Name
	Wave  int32
	Stage Stage
	// Total is the number of ordinals that move, and Arrived how many of them have.
	Total, Arrived int32
	// Planned is the planned time of the whole move; 0: it was not planned.
	Planned time.Duration
	// HandsOver is true once its first handoff has begun. Lead is the time from its begin until then, Handing from then
	// until the last ordinal that has arrived, and Tail from then until its end. Since is the time since it began, or
	// since an ordinal has arrived.
	HandsOver                  bool
	Lead, Handing, Tail, Since time.Duration
	// Listed is how many of the ordinals that have arrived Handing is about.
	Listed int32
}

// Stage is how far a move has come.
type Stage int

// The stages of a move.
const (
	// Waits means that it begins at its turn.
	Waits Stage = iota
	// Moves means that it is under way.
	Moves
	// Ended means that it has moved.
	Ended
	// Stuck means that it does not continue without a change; nor do those after it.
	Stuck
)

// Span is a time from now on.
type Span struct{ Begin, End time.Duration }

// Forecast is the expected rest of an evacuation.
type Forecast struct {
	// Spans holds the rest of each set that moves or will move.
	Spans map[Name]Span
	// Left is the time until all of them have moved.
	Left time.Duration
	// Measured is how many handoffs the forecast is the measure of; 0: it is that of the plan.
	Measured int32
}

// Of forecasts the rest of an evacuation. The time of a handoff is that of those that have arrived so far, in proportion
// to the plan: a set of which twice the time was planned takes twice the time. The time of each set before its first
// handoff and after its last one is measured, too. Sets that are stuck are not part of it.
func (p Progress) Of() Forecast {
	r := p.rates()
	o := order{sets: map[Name]*Set{}, after: map[Name][]Edge{}, held: map[Name]Edge{}}
	for i := range p.Moves {
		if m := &p.Moves[i]; m.Stage == Waits || m.Stage == Moves {
			o.sets[m.Name] = &Set{Name: m.Name, Wave: m.Wave, Begun: m.Stage == Moves, Ordinals: make([]Ordinal, 1), Expected: Expected{Handoff: r.rest(*m)}}
		}
	}
	p.link(o)
	f := Forecast{Spans: map[Name]Span{}, Measured: r.arrived}
	for _, row := range schedule(o, Limits{Sets: p.AtOnce}) {
		f.Spans[row.Set.Name] = Span{row.Begin, row.End}
		f.Left = max(f.Left, row.End)
	}
	return f
}

// link adds the edges between the sets of an order, without those that close a circle.
func (p Progress) link(o order) {
	named := map[Name]*Move{}
	for i := range p.Moves {
		named[p.Moves[i].Name] = &p.Moves[i]
	}
	open, seen := map[Name]bool{}, map[Name]bool{}
	var visit func(Name)
	visit = func(name Name) {
		open[name], seen[name] = true, true
		for _, on := range named[name].After {
			if o.sets[on] == nil || open[on] {
				continue
			}
			if !seen[on] {
				visit(on)
			}
			o.after[name] = append(o.after[name], Edge{On: on})
		}
		delete(open, name)
	}
	for _, m := range p.Moves {
		if o.sets[m.Name] != nil && !seen[m.Name] {
			visit(m.Name)
		}
	}
}

// rates are the measured times of an evacuation.
type rates struct {
	// arrived is the number of measured handoffs, and each their mean time.
	arrived int32
	each    time.Duration
	// over is their time divided by the planned one; 0: it is not known.
	over float64
	// lead and tail are the means of the times before the first handoff and after the last one.
	lead, tail time.Duration
}

// measure is the sum of a number of handoffs.
type measure struct {
	n    int32
	took time.Duration
	// planned is the planned time of those that were planned, and timed their number.
	planned time.Duration
	timed   int32
}

// add adds handoffs of a set.
func (s *measure) add(m Move, n int32, took time.Duration) {
	s.n, s.took = s.n+n, s.took+took
	if m.Planned > 0 && m.Total > 0 {
		s.planned, s.timed = s.planned+m.planned()*time.Duration(n), s.timed+n
	}
}

// mostLate bounds the time that counts of a handoff under way, in multiples of the expected one: it may wait for a person.
const mostLate = 2

// rates measures the sets that move and those that have moved. The first handoffs that arrive are the short ones, so one
// under way that already takes longer than these counts, too. So does a set without a handoff.
func (p Progress) rates() (r rates) {
	var seen, lead, tail measure
	for _, m := range p.Moves {
		if m.HandsOver {
			lead.add(m, 1, m.Lead)
		}
		if m.Stage == Ended && m.Listed > 0 {
			tail.add(m, 1, m.Tail)
		}
		seen.add(m, m.Listed, m.Handing)
	}
	r.arrived, r.lead, r.tail = seen.n, lead.mean(), tail.mean()
	r.take(seen)
	for _, m := range p.Moves {
		if usual := r.handoff(m); r.arrived > 0 && m.underWay() > usual {
			seen.add(m, 1, min(m.underWay(), mostLate*usual))
		}
		if lead.n > 0 && m.Stage == Moves && !m.HandsOver && m.Since > r.lead {
			lead.add(m, 1, min(m.Since, mostLate*r.lead))
		}
		if m.Stage == Moves && m.Listed > 0 && m.Arrived >= m.Total && m.Since > r.tail {
			tail.add(m, 1, m.Since)
		}
	}
	r.take(seen)
	r.lead, r.tail = lead.mean(), tail.mean()
	return r
}

// mean returns the mean time; 0 if there is none.
func (s measure) mean() time.Duration { return s.took / time.Duration(max(1, s.n)) }

// take derives the time of a handoff from measured ones.
func (r *rates) take(seen measure) {
	r.each = seen.mean()
	if seen.planned > 0 && seen.timed == seen.n {
		r.over = float64(seen.took) / float64(seen.planned)
	}
}

// underWay returns how long the current handoff of a set has taken so far; 0 if it has none.
func (m Move) underWay() time.Duration {
	switch {
	case m.Stage != Moves || !m.HandsOver || m.Arrived >= m.Total:
		return 0
	case m.Listed == 0:
		return max(0, m.Since-m.Lead)
	default:
		return m.Since
	}
}

// planned returns the planned time of one handoff.
func (m Move) planned() time.Duration { return m.Planned / time.Duration(max(1, m.Total)) }

// handoff returns the expected time of a handoff of a set. Its own handoffs count as much as those of all together count
// for one.
func (r rates) handoff(m Move) time.Duration {
	expected := r.each
	switch {
	case r.arrived == 0:
		return m.planned()
	case r.over > 0 && m.Planned > 0:
		expected = time.Duration(r.over * float64(m.planned()))
	}
	return (m.Handing + expected) / time.Duration(m.Listed+1)
}

// rest returns the expected time until a set has moved. A step that takes longer than expected may end at any time.
func (r rates) rest(m Move) time.Duration {
	left := max(0, m.Total-m.Arrived)
	rest := r.tail
	if left > 0 {
		rest += time.Duration(left) * r.handoff(m)
	}
	switch {
	case m.Stage == Waits:
		return r.lead + rest
	case !m.HandsOver:
		return rest + max(0, r.lead-m.Since)
	case left > 0:
		return rest - min(m.Since, r.handoff(m))
	default:
		return max(0, rest-m.Since)
	}
}

// firstBegun orders the sets that are under way before the others.
func firstBegun(a, b *Set) int {
	switch {
	case a.Begun == b.Begun:
		return 0
	case a.Begun:
		return -1
	default:
		return 1
	}
}
