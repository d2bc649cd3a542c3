package engine

import (
	"cmp"
	"time"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/migration/planner"
)

// heart writes the heartbeat by which this process shows that it drives a migration.
type heart struct {
	// run is true for the record of a run.
	run bool
	// serverTime converts a local time to the time of the API server that stores the migration; nil means the
	// local time.
	serverTime func(time.Time) time.Time
	// last is the last heartbeat that was written. An older resource definition does not store it.
	last api.Heartbeat
}

func newHeart(options Options) heart {
	_, run := options.Records.(records.ConfigMap)
	return heart{run: run, serverTime: options.ServerTime}
}

// now returns the time of the API server at a local time.
func (h heart) now(local time.Time) time.Time {
	if h.serverTime == nil {
		return local
	}
	return h.serverTime(local)
}

// left returns the time until the next heartbeat is due. beats is false if none will be due.
func (h heart) left(m *api.Migration, local time.Time) (left time.Duration, beats bool) {
	now := h.now(local)
	left, beats = records.HeartbeatDue(m, h.run, now)
	if mode := cmp.Or(m.Spec.Mode, api.ModeRun); beats && h.last.Mode == mode {
		left = max(left, min(records.HeartbeatEvery, h.last.Time.Add(records.HeartbeatEvery).Sub(now)))
	}
	return left, beats
}

// late reports whether the next heartbeat is due. The engine writes the first one.
func (h heart) late(m *api.Migration, local time.Time) bool {
	left, beats := h.left(m, local)
	return beats && left <= 0 && m.Status.Heartbeat != nil
}

// beat sets the heartbeat in a status that is about to be written, and returns it.
func (h heart) beat(m *api.Migration, local time.Time) api.Heartbeat {
	records.Beat(m, h.run, h.now(local))
	if m.Status.Heartbeat == nil {
		return api.Heartbeat{}
	}
	return *m.Status.Heartbeat
}

// requeue returns the time until the next pass, at most until the next heartbeat is due.
func (h heart) requeue(m *api.Migration, local time.Time, after time.Duration) time.Duration {
	if left, beats := h.left(m, local); beats {
		return min(after, max(left, planner.RequeueUnobserved))
	}
	return after
}
