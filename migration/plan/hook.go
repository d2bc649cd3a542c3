package plan

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// HookTurn is one run of a hook that is due, and what its Job is told.
type HookTurn struct {
	Hook api.Hook
	Run  api.HookRun
	// Side is where the Job runs, and About the side that ordinals leave, before, or come to, after.
	Side, About SideName
	Direction   api.Direction
}

// Ordinal for which it is run; NoOrdinal for one of the migration.
func (t HookTurn) Ordinal() int32 {
	if t.Run.Ordinal == nil {
		return NoOrdinal
	}
	return *t.Run.Ordinal
}

// HookJob is the Job of a hook as it was seen.
type HookJob struct {
	Name string
	// Presence is Unreachable where it could not be read; Trouble says why, and LacksRight whether
	// for want of a right.
	Presence        Presence
	Trouble         string
	LacksRight      bool
	UID             types.UID
	ResourceVersion string
	// Ours is true when this migration has made it.
	Ours bool
	// Held is true where it was made and has not been let begin: nothing of it has run.
	Held bool
	// State is Running, Succeeded, Failed or TimedOut, and Message says how it does, or has ended.
	State   api.HookState
	Message string
	// Refused is what was answered to its pod, where it has none; empty: it has, or may have one.
	Refused string
	Since   time.Time
}

// HookJobs are the Jobs of hooks, as far as they were looked at.
type HookJobs struct {
	List []HookJob
	// All is true where there are no others.
	All bool
}

// Find is the Job of a name. One that was not looked at is Unreachable.
func (j HookJobs) Find(name string) HookJob {
	at := slices.IndexFunc(j.List, func(job HookJob) bool { return job.Name == name })
	switch {
	case at >= 0:
		return j.List[at]
	case j.All:
		return HookJob{Name: name, Presence: Absent}
	default:
		return HookJob{Name: name, Trouble: "it was not looked at"}
	}
}

// HookSide is where the Job of a hook runs that is about a side.
func HookSide(hook api.Hook, about SideName) SideName {
	switch hook.Side {
	case api.GateSource:
		return SourceSide
	case api.GateDestination:
		return DestinationSide
	default:
		return about
	}
}
