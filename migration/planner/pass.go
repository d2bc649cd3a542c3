// A State decides the steps of a process in one pass over a migration. It decides whether its last write has
// been observed, what is read next, and whether the reads cover the planner's decision. It also interprets the
// answer to a write, and chooses when to requeue. Together with the fence, it preserves I1 and
// I2 when a process crashes, stalls or loses its lead.
//
// A State is the memory of the process, and a Step its next action. Each Step that is carried out leads to another
// one, until Do is Rest:
//
//	Begin -> Read -> Next -> Read ...
//	                      -> Confirm -> Answered -> Write
//	                      -> Write, SaveRecord, Report -> Answered -> Report, Rest
//
// This package reads no clock and contacts no cluster: the caller passes the time, the reads and the answers.

package planner

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/sliceshift/sliceshift/migration/plan"
)

// rounds bounds how often a pass reads more: the state may change while it reads.
const rounds = 5

// State is the memory of a process for one migration between passes. A new process begins with only its Holder,
// which makes a crash harmless.
type State struct {
	// Holder identifies the process and must be unique.
	Holder string
	// Engaged is true once this process has acquired the fence of the migration, as long as every write since has
	// got an answer.
	Engaged bool
	// Refusals counts the consecutive writes whose object was changed or missing.
	Refusals int
	// Awaited lists the writes of this process that the caches do not show yet.
	Awaited []Awaited
	// LastLiveRead is when both StatefulSets were last read from their API servers.
	LastLiveRead time.Time
	// UnreportedSince is since when a wait is not in the status; zero: the status is current.
	UnreportedSince time.Time
	// SavedVersion is the resourceVersion of the last write of the Migration.
	SavedVersion string
	// Down is true if an ordinal was down in the last read of a migration in place.
	Down bool
}

// Awaited is a write that the caches must show before the next decision.
type Awaited struct {
	// Object names the written object, and Version is its new resourceVersion.
	Object, Version string
	Time            time.Time
}

// Begin starts a pass. observed returns the resourceVersion that the caches show for a written object; empty: they
// show none. The Step is Rest while a write is awaited, so that no decision uses the state before that write.
// Otherwise it is Read. record is the recorded state.
func (s *State) Begin(now time.Time, record plan.Record, observed func(object string) string) Step {
	s.Awaited = awaitedWithout(s.Awaited, func(a Awaited) bool { return Shown(a.Version, observed(a.Object)) })
	for _, a := range s.Awaited {
		if now.Sub(a.Time) <= awaitAtMost {
			return Step{RequeueAfter: RequeueUnobserved}
		}
	}
	reads := Near(record)
	reads.Recent = s.Down && record.Storage != nil
	return Step{Do: Read, Reads: reads, near: record.Handoff != nil && record.Storage == nil, overdue: now.Sub(s.LastLiveRead) >= RequeueAtLatest}
}

// BeginEarly starts a pass for one ordinal's volumes that are copied before its turn. It is used while the
// migration itself waits.
func (s *State) BeginEarly(ordinal int32) Step {
	return Step{Do: Read, Reads: Reads{Live: true, Ordinal: &ordinal, Pods: true, Volumes: true}}
}

// Shown reports whether the observed version is the written one, or a newer one.
func Shown(written, observed string) bool {
	order, err := resourceversion.CompareResourceVersion(observed, written)
	return observed != "" && (err != nil || order >= 0)
}

// await records a write that the caches must show.
func (s *State) await(object, version string, now time.Time) {
	s.Awaited = append(awaitedWithout(s.Awaited, func(a Awaited) bool { return a.Object == object }), Awaited{Object: object, Version: version, Time: now})
}

// awaitedWithout returns a new list, because a State may be copied.
func awaitedWithout(from []Awaited, leave func(Awaited) bool) []Awaited {
	return slices.DeleteFunc(slices.Clone(from), leave)
}

// need returns what must be read live for a decision. Everything must be, if the caches do not show this process's
// writes, or if its last two writes met a changed object. A single such write is normal: a controller has updated
// the status in between.
func (s *State) need(snapshot plan.Snapshot, decision plan.Decision) Reads {
	if snapshot.Storage != nil {
		return storagePlanner{viewOf(snapshot)}.reads(decision)
	}
	if s.Refusals > 1 || len(s.Awaited) > 0 {
		return For(snapshot, decision)
	}
	return Lean(snapshot, decision)
}

// Next plans on the results of the Step's Reads. It returns the decision only if they cover everything that must
// be read live for it. Otherwise it requests more reads, and rests if the state has changed too often in the
// meantime.
func (s *State) Next(step Step, snapshot plan.Snapshot) Step {
	if step.Reads.Live && step.Reads.Spared.Sets == NoSide && snapshot.Source.Reach == plan.Seen && snapshot.Destination.Reach == plan.Seen {
		s.LastLiveRead = snapshot.Now
	}
	snapshot = s.Sign(snapshot)
	snapshot.Behind = step.Focus.Behind
	s.Down = snapshot.Storage != nil && storagePlanner{viewOf(snapshot)}.down()
	decision := Plan(snapshot)
	if step.near && NeedsAll(snapshot, decision) {
		return step.again(Reads{})
	}
	need := s.need(snapshot, decision)
	if step.overdue && !need.Live && (step.near || !step.Reads.Live) {
		// A watch whose credentials have expired reports no more events, and no error.
		need = Reads{Live: true}
	}
	if step.Reads.Covers(need) {
		return step.onward(stepOf(snapshot, decision))
	}
	return step.again(need)
}

// Sign sets the process that observes a snapshot, and whether it is engaged.
func (s *State) Sign(snapshot plan.Snapshot) plan.Snapshot {
	snapshot.Holder, snapshot.Engaged = s.Holder, s.Engaged
	return snapshot
}

// Outdated reports whether a Migration that was read is older than the last written one, which a stale cache can
// cause. Nothing is older if this process has written none yet: an empty version cannot be compared.
func (s *State) Outdated(version string) bool {
	order, err := resourceversion.CompareResourceVersion(s.SavedVersion, version)
	return err == nil && order > 0
}
