// Package pass decides what a process may do in one pass over a migration: whether its last write
// has been observed, what is read next, whether the reads cover what the planner decided on them,
// what an answer to a write means, and when to look again. With the fence of package planner it is
// what keeps I1 and I2 when a process crashes, stalls or loses its lead.
//
// A State is what the process remembers, and a Step what it does next. Each Step that is carried
// out leads to another one, until Do is Rest:
//
//	Begin -> Read -> Next -> Read ...
//	                      -> Confirm -> Answered -> Write
//	                      -> Write, SaveRecord, Report -> Answered -> Report, Rest
//
// Nothing here reads a clock or talks to a cluster: the caller says what time it is, what was read
// and what was answered.
package pass

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/migration/scope"
)

// rounds bounds how often a pass looks closer: the world may change while it looks.
const rounds = 5

// State is what a process remembers of one migration from pass to pass. A new process begins with
// nothing but its Holder: that is what makes a crash harmless.
type State struct {
	// Holder identifies the process; it must differ from every other one's.
	Holder string
	// Engaged is true once this process has taken the fence of the migration, and as long as it
	// has had an answer to all that it wrote since.
	Engaged bool
	// Refusals counts the writes in a row that met a changed object, or none.
	Refusals int
	// Awaited are the writes of this process that the caches have not shown yet.
	Awaited []Awaited
	// LastLiveRead is when both StatefulSets were last read from their API servers.
	LastLiveRead time.Time
	// UnreportedSince is since when a wait has not been written into the status; zero: it has.
	UnreportedSince time.Time
	// SavedVersion is the resourceVersion of the Migration as it was last written.
	SavedVersion string
}

// Awaited is a write that the caches are to show before anything is decided.
type Awaited struct {
	// Object names the object that was written, and Version is the resourceVersion that it got.
	Object, Version string
	Time            time.Time
}

// Begin opens a pass at a time. observed is the resourceVersion that the caches show of an object
// that was written; empty: they show none. The Step is Rest while a write is awaited, so that
// nothing is decided on the world as it was before, and else Read. record is what was written down.
func (s *State) Begin(now time.Time, record plan.Record, observed func(object string) string) Step {
	s.Awaited = without(s.Awaited, func(a Awaited) bool { return Shown(a.Version, observed(a.Object)) })
	for _, a := range s.Awaited {
		if now.Sub(a.Time) <= awaitAtMost {
			return Step{RequeueAfter: RequeueUnobserved}
		}
	}
	return Step{Do: Read, Reads: scope.Near(record), near: record.Handoff != nil, overdue: now.Sub(s.LastLiveRead) >= RequeueAtLatest}
}

// BeginEarly opens a pass about the volumes of one ordinal that are copied before it is its turn. It is for a migration
// that waits itself.
func (s *State) BeginEarly(ordinal int32) Step {
	return Step{Do: Read, Reads: scope.Reads{Live: true, Ordinal: &ordinal, Pods: true, Volumes: true}}
}

// Shown says whether a version that is observed is the one that was written, or a newer one.
func Shown(written, observed string) bool {
	order, err := resourceversion.CompareResourceVersion(observed, written)
	return observed != "" && (err != nil || order >= 0)
}

// await notes a write that the caches are to show.
func (s *State) await(object, version string, now time.Time) {
	s.Awaited = append(without(s.Awaited, func(a Awaited) bool { return a.Object == object }), Awaited{Object: object, Version: version, Time: now})
}

// without is a list of its own: a State may be copied.
func without(from []Awaited, leave func(Awaited) bool) []Awaited {
	return slices.DeleteFunc(slices.Clone(from), leave)
}

// need is what must be read live for a decision: all of it, where the caches do not show what this
// process has written, or its last two writes met something else than they had shown. One such write
// is what a controller's status makes that comes between.
func (s *State) need(snapshot plan.Snapshot, decision plan.Decision) scope.Reads {
	if s.Refusals > 1 || len(s.Awaited) > 0 {
		return scope.For(snapshot, decision)
	}
	return scope.Lean(snapshot, decision)
}

// Next plans on what the Step's Reads have shown. It hands out a decision only when they cover
// all that must be read live for it; until then it asks for more, and rests when the world has
// changed too often meanwhile.
func (s *State) Next(step Step, snapshot plan.Snapshot) Step {
	if step.Reads.Live && step.Reads.Spared.Sets == scope.NoSide && snapshot.Source.Reach == plan.Seen && snapshot.Destination.Reach == plan.Seen {
		s.LastLiveRead = snapshot.Now
	}
	snapshot = s.Sign(snapshot)
	decision := planner.Plan(snapshot)
	if step.near && scope.NeedsAll(snapshot, decision) {
		return step.again(scope.Reads{})
	}
	need := s.need(snapshot, decision)
	if step.overdue && !need.Live && (step.near || !step.Reads.Live) {
		// A watch whose credentials have expired tells of nothing any more, and says so to nobody.
		need = scope.Reads{Live: true}
	}
	if step.Reads.Covers(need) {
		return stepOf(snapshot, decision)
	}
	return step.again(need)
}

// Sign says in a snapshot which process looks at it, and whether it is engaged.
func (s *State) Sign(snapshot plan.Snapshot) plan.Snapshot {
	snapshot.Holder, snapshot.Engaged = s.Holder, s.Engaged
	return snapshot
}

// Outdated says whether a Migration that was read is older than the one that was written last: a
// cache may still show that.
func (s *State) Outdated(version string) bool {
	if s.SavedVersion == "" {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(s.SavedVersion, version)
	return err == nil && order > 0
}
