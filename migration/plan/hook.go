package plan

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// HookTurn is one due run of a hook, and the parameters of its Job.
type HookTurn struct {
	Hook api.Hook
	Run  api.HookRun
	// Side is the side on which the Job runs. About is the side that the ordinals leave, for a hook before the
	// stop, or arrive at, for one after the start.
	Side, About SideName
	Direction   api.Direction
}

// Ordinal returns the ordinal of the run; NoOrdinal for a run for the whole migration.
func (t HookTurn) Ordinal() int32 {
	if t.Run.Ordinal == nil {
		return NoOrdinal
	}
	return *t.Run.Ordinal
}

// HookJob is the observed Job of a hook.
type HookJob struct {
	Name string
	// Presence is Unreachable if the Job could not be read. Trouble says why, and LacksRight is true when a
	// permission was missing.
	Presence        Presence
	Trouble         string
	LacksRight      bool
	UID             types.UID
	ResourceVersion string
	// Ours is true when this migration created it.
	Ours bool
	// Held is true while it is created but not yet resumed: none of it has run.
	Held bool
	// State is Running, Succeeded, Failed or TimedOut. Message describes its progress or its end.
	State   api.HookState
	Message string
	// Refused is the error of the pod's creation, if the Job has no pod; empty: it has a pod, or may have one.
	Refused string
	Since   time.Time
}

// HookJobs are the Jobs of hooks, as far as they were read.
type HookJobs struct {
	List []HookJob
	// All is true when List is complete.
	All bool
}

// Find returns the Job with a name. A Job that was not read is Unreachable.
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

// HookSide returns the side on which the Job of a hook about a side runs.
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
