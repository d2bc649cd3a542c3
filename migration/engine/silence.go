package engine

import (
	"time"

	"github.com/sliceshift/sliceshift/migration/planner"
)

// Pauses before clusters that did not answer are asked again.
const (
	// silenceFirst is the pause after the first time. It doubles from there.
	silenceFirst = time.Second
	// silenceMost is the longest pause.
	silenceMost = time.Minute
	// silenceDown is the longest pause while an ordinal is down, so that a recovery of the clusters is noticed
	// soon.
	silenceDown = planner.RequeueUnreachable
	// silenceLook is the interval at which the credentials are checked for a change.
	silenceLook = planner.RequeueRefused
	// silenceForgotten is the time after which an entry that is not used any more is dropped.
	silenceForgotten = 10 * time.Minute
)

// silences holds the clusters that did not answer, by the way they are reached. All Migrations that reach them
// in the same way share the pause, and try again one at a time. A Migration with new credentials starts without
// a pause. It is not safe for concurrent use.
type silences struct {
	of map[string]*silence
}

// silence is the state of clusters that did not answer.
type silence struct {
	// times counts the failures in a row, and why is the last error.
	times int
	why   string
	since time.Time
	// asking is true while a Migration tries again.
	asking bool
}

func newSilences() *silences { return &silences{of: map[string]*silence{}} }

// ask returns the time to wait, with the reason, or 0 if requests may be sent now. In that case the caller must
// report whether the clusters answered.
func (s *silences) ask(key string, down bool, now time.Time) (wait time.Duration, why string) {
	found := s.of[key]
	if found == nil {
		return 0, ""
	}
	pause := found.pause()
	if down {
		pause = min(pause, silenceDown)
	}
	left := found.since.Add(pause).Sub(now)
	if found.asking {
		left = max(left, silenceFirst)
	}
	if left > 0 {
		return min(left, silenceLook), found.why
	}
	found.asking = true
	return 0, ""
}

// answered records that clusters answered.
func (s *silences) answered(key string) { delete(s.of, key) }

// unanswered records that clusters did not answer requests that began at asked. Requests that were sent at the
// same time count once.
func (s *silences) unanswered(key, why string, asked, now time.Time) {
	found := s.of[key]
	if found == nil {
		s.forget(now)
		found = &silence{}
		s.of[key] = found
	}
	if found.times == 0 || !asked.Before(found.since) {
		found.times++
	}
	found.why, found.since, found.asking = why, now, false
}

// pause returns the time in which no request is sent.
func (s *silence) pause() time.Duration {
	pause := silenceFirst
	for range min(s.times, 63) - 1 {
		if pause *= 2; pause >= silenceMost {
			return silenceMost
		}
	}
	return pause
}

// forget drops entries that are not used any more.
func (s *silences) forget(now time.Time) {
	for key, each := range s.of {
		if !each.asking && now.Sub(each.since) > silenceForgotten {
			delete(s.of, key)
		}
	}
}
