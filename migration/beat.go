package migration

import (
	"cmp"
	"time"

	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/migration/pass"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// heart writes that this process drives a migration.
type heart struct {
	// run is true for the record of a run.
	run bool
	// serverTime is the time of the API server that keeps the migration; nil: the local one.
	serverTime func(time.Time) time.Time
	// last is the last heartbeat that was written. A resource definition of an older version does not store it.
	last api.Heartbeat
}

func newHeart(options Options) heart {
	_, run := options.Records.(records.ConfigMap)
	return heart{run: run, serverTime: options.ServerTime}
}

// now is the time of the API server at a local time.
func (h heart) now(local time.Time) time.Time {
	if h.serverTime == nil {
		return local
	}
	return h.serverTime(local)
}

// left is the time until the next heartbeat is due. beats is false if none is due at any time.
func (h heart) left(m *api.Migration, local time.Time) (left time.Duration, beats bool) {
	now := h.now(local)
	left, beats = records.HeartbeatDue(m, h.run, now)
	if mode := cmp.Or(m.Spec.Mode, api.ModeRun); beats && h.last.Mode == mode {
		left = max(left, min(records.HeartbeatEvery, h.last.Time.Add(records.HeartbeatEvery).Sub(now)))
	}
	return left, beats
}

// late reports whether the next heartbeat is due. The first one is the engine's.
func (h heart) late(m *api.Migration, local time.Time) bool {
	left, beats := h.left(m, local)
	return beats && left <= 0 && m.Status.Heartbeat != nil
}

// beat puts a heartbeat into a status right before that is written, and returns it.
func (h heart) beat(m *api.Migration, local time.Time) api.Heartbeat {
	records.Beat(m, h.run, h.now(local))
	if m.Status.Heartbeat == nil {
		return api.Heartbeat{}
	}
	return *m.Status.Heartbeat
}

// requeue is the time until the next pass, at most until the next heartbeat is due.
func (h heart) requeue(m *api.Migration, local time.Time, after time.Duration) time.Duration {
	if left, beats := h.left(m, local); beats {
		return min(after, max(left, pass.RequeueUnobserved))
	}
	return after
}
