package migration

import (
	"time"

	"github.com/sliceshift/sliceshift/migration/pass"
)

// How long clusters that did not answer are left alone.
const (
	// silenceFirst is after the first time; it doubles from there.
	silenceFirst = time.Second
	// silenceMost is after many times.
	silenceMost = time.Minute
	// silenceDown is while an ordinal is down: that they answer again must be noticed soon.
	silenceDown = pass.RequeueUnreachable
	// silenceLook is how often it is looked whether other credentials are given meanwhile.
	silenceLook = pass.RequeueRefused
	// silenceForgotten is after how long nobody has asked any more for what did not answer.
	silenceForgotten = 10 * time.Minute
)

// silences are the clusters that did not answer, by how they are reached: what else is reached
// in the same way is left alone as long, and asked by one at a time. Who is given other
// credentials starts anew. It is not safe for concurrent use.
type silences struct {
	of map[string]*silence
}

// silence is of clusters that did not answer.
type silence struct {
	// times is how often in a row, why the last time says.
	times int
	why   string
	since time.Time
	// asking is true while somebody asks again.
	asking bool
}

func newSilences() *silences { return &silences{of: map[string]*silence{}} }

// ask says whether clusters may be asked, and otherwise when to come back and why not. Who may
// must say whether they answered.
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

// answered is for clusters that did.
func (s *silences) answered(key string) { delete(s.of, key) }

// unanswered is for clusters that did not, and were asked so long ago. Those who asked at the
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

// pause is how long nobody asks.
func (s *silence) pause() time.Duration {
	pause := silenceFirst
	for range min(s.times, 63) - 1 {
		if pause *= 2; pause >= silenceMost {
			return silenceMost
		}
	}
	return pause
}

// forget drops what nobody asks for any more.
func (s *silences) forget(now time.Time) {
	for key, each := range s.of {
		if !each.asking && now.Sub(each.since) > silenceForgotten {
			delete(s.of, key)
		}
	}
}
