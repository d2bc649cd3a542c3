package judge

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ordinalTrack holds the known state of one ordinal between the sides.
type ordinalTrack struct {
	// ran is the side on which the ordinal was last available.
	ran           SideIndex
	stopped, gone time.Time
	up            [2]bool
}

// Timeline derives the moves of each ordinal from the events of the pods. The times are those at which the auditor
// received them.
type Timeline struct {
	tracks map[int32]*ordinalTrack
	Moves  []OrdinalTime
}

// NewTimeline returns an empty Timeline.
func NewTimeline() *Timeline {
	return &Timeline{tracks: map[int32]*ordinalTrack{}}
}

// Observe records the pod of one ordinal on one side.
func (t *Timeline) Observe(side SideIndex, pod PodState, exists bool, at time.Time) {
	track := t.tracks[pod.Ordinal]
	if track == nil {
		track = &ordinalTrack{ran: Nowhere}
		t.tracks[pod.Ordinal] = track
	}
	up := exists && pod.Available()
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

// arrive closes a move if the ordinal last ran on the other side.
func (t *Timeline) arrive(track *ordinalTrack, side SideIndex, ordinal int32, at time.Time) {
	if track.ran == side.Other() {
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
		t.Moves = append(t.Moves, move)
	}
	track.ran, track.stopped, track.gone = side, time.Time{}, time.Time{}
}

// OrdinalTime is one move of one ordinal, by the auditor's clock.
type OrdinalTime struct {
	Ordinal int32  `json:"ordinal"`
	From    string `json:"from"`
	To      string `json:"to"`
	// Stopped is when the pod was no longer available on the From side, Gone when its object no longer existed, Ready
	// when the pod of the To side was Ready.
	Stopped time.Time `json:"stopped,omitzero"`
	Gone    time.Time `json:"gone,omitzero"`
	Ready   time.Time `json:"ready"`
	// Down is the time from Stopped to Ready.
	Down metav1.Duration `json:"down"`
}
