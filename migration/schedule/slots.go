package schedule

import (
	"iter"
	"time"
)

// Slot is a time in which handoffs may be under way. Closes is zero where it never does.
type Slot struct {
	Opens, Closes time.Time
}

// Fits says whether what takes so long can begin and end in it, from a time on.
func (s Slot) Fits(from time.Time, needs time.Duration) bool {
	if from.Before(s.Opens) {
		from = s.Opens
	}
	return s.Closes.IsZero() || !from.Add(needs).After(s.Closes)
}

// Verdict is whether a handoff may begin.
type Verdict string

// Verdicts. The zero value is Never's: what was not judged does not begin.
const (
	// Never: no window opens any more.
	Never Verdict = ""
	// Open: it may begin now.
	Open Verdict = "Open"
	// Closed: no window is open.
	Closed Verdict = "Closed"
	// Short: a window is open, and closes too soon.
	Short Verdict = "Short"
	// TooShort: windows open, and none of them is long enough.
	TooShort Verdict = "TooShort"
)

// Answer is whether a handoff may begin, and when.
type Answer struct {
	Verdict Verdict
	// Slot is the one that is open, or the next one that a handoff fits into. When none is long
	// enough, it is the longest.
	Slot Slot
	// Now is the slot that is open and too short for one more handoff, where the verdict is Short.
	Now Slot
}

// looked is how many slots are looked at for one that is long enough: those of more than a year of days.
const looked = 400

// At says whether a handoff that takes so long may begin at a time, and else when the next one may.
func (s *Schedule) At(now time.Time, needs time.Duration) Answer {
	answer := Answer{Verdict: Never}
	if s.problem != "" {
		return answer
	}
	tried, short := 0, Slot{}
	for slot := range s.slots(now, needs) {
		open := !now.Before(slot.Opens)
		switch {
		case open && slot.Fits(now, needs):
			return Answer{Verdict: Open, Slot: slot}
		case open:
			short = slot
		case slot.Fits(slot.Opens, needs):
			if short != (Slot{}) {
				return Answer{Verdict: Short, Slot: slot, Now: short}
			}
			return Answer{Verdict: Closed, Slot: slot}
		}
		if !open {
			if answer.Verdict = TooShort; slot.length() > answer.Slot.length() {
				answer.Slot = slot
			}
		}
		if tried++; tried == looked {
			break
		}
	}
	return answer
}

func (s Slot) length() time.Duration { return s.Closes.Sub(s.Opens) }

// Share is how many of the ordinals that are left fit into a slot.
type Share struct {
	Slot     Slot
	Ordinals int32
}

// shares is how many slots a forecast has at most.
const shares = 20

// Forecast says, slot by slot, how many ordinals fit if each takes as long as is expected; left are those
// that fit into none of the next slots.
func (s *Schedule) Forecast(now time.Time, needs time.Duration, ordinals int32) (forecast []Share, left int32) {
	if s.problem != "" || needs <= 0 {
		return nil, ordinals
	}
	tried := 0
	for slot := range s.slots(now, needs*time.Duration(ordinals)) {
		if ordinals == 0 || len(forecast) == shares || tried == looked {
			break
		}
		tried++
		from, fit := slot.Opens, ordinals
		if from.Before(now) {
			from = now
		}
		if !slot.Closes.IsZero() {
			fit = int32(min(int64(ordinals), int64(slot.Closes.Sub(from)/needs)))
		}
		if fit > 0 {
			forecast = append(forecast, Share{slot, fit})
			ordinals -= fit
		}
	}
	return forecast, ordinals
}

// slots are the times in which handoffs may be under way, in their order, from the one on that is open at
// a time. What overlaps or touches is one slot, which is followed for no longer than is enough.
func (s *Schedule) slots(now time.Time, enough time.Duration) iter.Seq[Slot] {
	return func(yield func(Slot) bool) {
		if s.notBefore.After(now) {
			now = s.notBefore
		}
		for slot := range s.openings(now, enough) {
			if slot.Opens.Before(s.notBefore) {
				slot.Opens = s.notBefore
			}
			if !s.notAfter.IsZero() {
				if !slot.Opens.Before(s.notAfter) || !now.Before(s.notAfter) {
					return
				}
				if slot.Closes.IsZero() || slot.Closes.After(s.notAfter) {
					slot.Closes = s.notAfter
				}
			}
			if !yield(slot) {
				return
			}
		}
	}
}

// openings are the slots of the windows alone.
func (s *Schedule) openings(now time.Time, enough time.Duration) iter.Seq[Slot] {
	return func(yield func(Slot) bool) {
		if len(s.windows) == 0 {
			yield(Slot{})
			return
		}
		next := make([]time.Time, len(s.windows))
		for i, w := range s.windows {
			next[i] = w.after(now.Add(-w.duration))
		}
		for {
			at := earliest(next)
			if at < 0 {
				return
			}
			slot := Slot{Opens: next[at], Closes: next[at]}
			limit := slot.Opens.Add(enough + longest)
			for at >= 0 && !next[at].After(slot.Closes) && slot.Closes.Before(limit) {
				if closes := next[at].Add(s.windows[at].duration); closes.After(slot.Closes) {
					slot.Closes = closes
				}
				next[at] = s.windows[at].after(next[at])
				at = earliest(next)
			}
			if !yield(slot) {
				return
			}
		}
	}
}

// earliest is the index of the first time; -1: there is none.
func earliest(times []time.Time) int {
	first := -1
	for i, t := range times {
		if !t.IsZero() && (first < 0 || t.Before(times[first])) {
			first = i
		}
	}
	return first
}

// after is when a window opens next after a time; zero: never. Where clocks are set back, a time of day that
// comes twice counts once, and where they are set forward, one that is left out does not come.
func (w window) after(t time.Time) time.Time {
	t = t.In(w.zone)
	for {
		if t = w.opens.Next(t); t.IsZero() || !again(t) {
			return t
		}
	}
}

// again says whether clocks have shown the same time of day before, because they were set back since.
func again(t time.Time) bool {
	since, _ := t.ZoneBounds()
	if since.IsZero() {
		return false
	}
	_, offset := t.Zone()
	_, before := since.Add(-time.Nanosecond).Zone()
	return t.Sub(since) < time.Duration(before-offset)*time.Second
}
