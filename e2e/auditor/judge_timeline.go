package auditor

import "time"

// ordinalTrack is what is known of one ordinal's way.
type ordinalTrack struct {
	// ran is the side on which the ordinal was last available.
	ran           sideIndex
	stopped, gone time.Time
	up            [2]bool
}

// timeline makes the moves of each ordinal out of the pods' events. The times are
// those at which the auditor learned of them.
type timeline struct {
	tracks map[int32]*ordinalTrack
	moves  []OrdinalTime
}

func newTimeline() *timeline {
	return &timeline{tracks: map[int32]*ordinalTrack{}}
}

// observe takes note of the pod of one ordinal on one side.
func (t *timeline) observe(side sideIndex, pod podState, exists bool, at time.Time) {
	track := t.tracks[pod.Ordinal]
	if track == nil {
		track = &ordinalTrack{ran: nowhere}
		t.tracks[pod.Ordinal] = track
	}
	up := exists && pod.available()
	was := track.up[side]
	track.up[side] = up
	switch {
	case up && !was:
		t.arrive(track, side, pod.Ordinal, at)
	case !up && was && track.ran == side:
		track.stopped = at
	}
	if !exists && track.ran == side {
		track.gone = at
	}
}

// arrive closes a move when the ordinal last ran on the other side.
func (t *timeline) arrive(track *ordinalTrack, side sideIndex, ordinal int32, at time.Time) {
	if track.ran == side.other() {
		move := OrdinalTime{
			Ordinal: ordinal,
			From:    track.ran.String(),
			To:      side.String(),
			Stopped: track.stopped,
			Gone:    track.gone,
			Ready:   at,
		}
		if !track.stopped.IsZero() {
			move.Down.Duration = at.Sub(track.stopped)
		}
		t.moves = append(t.moves, move)
	}
	track.ran, track.stopped, track.gone = side, time.Time{}, time.Time{}
}
