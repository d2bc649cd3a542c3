package schedule

import (
	"iter"
	"time"
)

// Slot is a time range in which handoffs may be in flight. Closes is zero if it never closes.
type Slot struct {
	Opens, Closes time.Time
}

// Fits reports whether a handoff with that duration can begin and end in the slot, not before from.
func (s Slot) Fits(from time.Time, needs time.Duration) bool {
	if from.Before(s.Opens) {
		from = s.Opens
	}
	return s.Closes.IsZero() || !from.Add(needs).After(s.Closes)
}

// Verdict classifies whether a handoff may begin.
type Verdict string

// Verdicts. The zero value is Never: without a decision, nothing begins.
const (
	// Never: no further window opens.
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

// Answer tells whether a handoff may begin, and when.
type Answer struct {
	Verdict Verdict
	// Slot is the open slot, or the next one into which a handoff fits. If none is long enough, it is the longest.
	Slot Slot
	// Now is the open slot that is too short for one more handoff, if the verdict is Short.
	Now Slot
}

// looked is how many slots are searched for one that is long enough: more than a year of daily slots.
const looked = 400

// At returns whether a handoff with that duration may begin at a time, or else when the next one may.
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

// shares is the maximal number of slots in a forecast.
const shares = 20

// Forecast returns for each slot how many ordinals fit if each takes the expected time. left is how many fit into
// none of these slots.
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

// slots iterates over the time ranges in which handoffs may be in flight, in order, starting with the one that is
// open at a time. Windows that overlap or touch are one slot, which is extended no further than needed.
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

// openings iterates over the slots of the windows alone.
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

// earliest returns the index of the first time; -1: there is none.
func earliest(times []time.Time) int {
	first := -1
	for i, t := range times {
		if !t.IsZero() && (first < 0 || t.Before(times[first])) {
			first = i
		}
	}
	return first
}

// after returns when a window next opens after a time; zero: never. When clocks are set back, a time of day that
// occurs twice counts once. When they are set forward, a skipped time of day does not occur.
func (w window) after(t time.Time) time.Time {
	t = t.In(w.zone)
	for {
		if t = w.opens.Next(t); t.IsZero() || !again(t) {
			return t
		}
	}
}

// again reports whether the same time of day has already occurred before the clocks were set back.
func again(t time.Time) bool {
	since, _ := t.ZoneBounds()
	if since.IsZero() {
		return false
	}
	_, offset := t.Zone()
	_, before := since.Add(-time.Nanosecond).Zone()
	return t.Sub(since) < time.Duration(before-offset)*time.Second
}
