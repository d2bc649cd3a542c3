package plan

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sliceshift/sliceshift/migration/berths"
	"github.com/sliceshift/sliceshift/migration/schedule"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// Snapshot is all that is decided by: what the user asks for, what was recorded, and
// what was seen of both sides. It holds values only.
type Snapshot struct {
	// Now is when it was taken.
	Now time.Time
	// Migration is its namespace and name, for messages.
	Migration types.NamespacedName
	// UID of the Migration; it is the owner in both fences.
	UID types.UID
	// Holder is the identity of this process. Engaged is true when this process has
	// got the fence and has had an answer to everything that it wrote since.
	// Otherwise it gets the next one: a write without an answer may still arrive, and only
	// a new epoch refuses it. A process that is engaged does not take the fence back from another.
	Holder  string
	Engaged bool
	// Deleting is true when the Migration itself is being deleted.
	Deleting bool
	Spec     Spec
	Record   Record
	// Source and Destination are the two sides.
	Source, Destination Side
	// Volumes are the claims of the ordinals that were looked at, in ascending order
	// of ordinal and template.
	Volumes []OrdinalVolume
	// Focused is true when Volumes covers only one ordinal. What concerns all of
	// them must not be concluded from such a snapshot.
	Focused bool
	// Early is the ordinal whose volumes are copied before it is its turn, where the snapshot is about that alone; nil:
	// it is about the migration.
	Early *int32
	// VolumesRead is true when the volumes of that one were read, too.
	VolumesRead bool
	// Template is a change of the source's pod template that the destination lacks.
	Template TemplateChange
	// Numbers is why the destination cannot be given the slice as it is: where it begins, what
	// its pods are, or that they are let in; nil: it can, or has been given it.
	Numbers *Finding
	// Arrival is whether the next ordinal would run on the side that takes it; nil: that was not asked.
	Arrival *Arrival
	// Refused is why the ordinal that is to arrive has no pod, in the words of its controller; empty: it has one, or nobody knows.
	Refused string
	// RollbackWritten is true once spec.mode was set to Rollback for Record.AutomaticRollback, and ModeWriter is who else has
	// written it since; empty: nobody, or it is not known who.
	RollbackWritten bool
	ModeWriter      string
	// Preflight is what was found that only the observer can judge: missing rights,
	// autoscalers, differences between the two StatefulSets.
	Preflight []Finding
	// Dependencies are the objects that pods need besides their volumes, where they are to be copied.
	Dependencies Dependencies
	// Queued is why it may not begin yet though nothing is found; nil: it may.
	Queued *Hold
	// MovedOn names another migration that has begun to move ordinals on from this one's destination, and has not taken
	// all of them back; empty: none is known. It is looked for where this one is to be recovered.
	MovedOn string
	// Writers are who else writes the source, where they are to be paused, or were.
	Writers Writers
	// Load is what the handoffs of other migrations use; nil: nothing of it is bounded.
	Load *berths.Load
	// Gates are the user's health gates, in their order, with what they have answered. Without
	// them nothing waits for their answers: so are dry runs.
	Gates []Health
	// HookJobs are the Jobs of hooks that were looked at.
	HookJobs HookJobs
}

// Spec is what the user asks for, with defaults filled in.
type Spec struct {
	Mode  api.Mode
	Order api.Order
	// Count is how many ordinals move; 0 means all.
	Count int32
	// MaxUnavailable is d as the user wrote it; nil: from the PodDisruptionBudget.
	MaxUnavailable *intstr.IntOrString
	// MinReady is how long a moved pod must be Ready.
	MinReady time.Duration
	// Volumes are how the volumes of claim templates are asked to move now. One that is not named moves by Rebind.
	Volumes []api.VolumeSpec
	// Prefetch is how many ordinals are copied before it is their turn.
	Prefetch int32
	// Deadline is how long one ordinal may take.
	Deadline time.Duration
	// Schedule is when a handoff may begin; nil: at any time.
	Schedule *schedule.Schedule
	// PauseWriters asks for the writers of the source to be paused for the move.
	PauseWriters bool
	// WritersPaused are those of which a person says that they are paused where nobody here can see it.
	WritersPaused []string
	// Recovery is the cluster that a person has declared to be off.
	Recovery types.UID
	// NothingMovedOn is a person's word that no ordinal was moved on from the destination since the migration was completed.
	NothingMovedOn bool
	// Export asks for ServiceExports on both sides; what counts is Snapshot.Services.
	Export bool
	// NameOrdinals asks for a Service and its ServiceExport for each ordinal, of which the same is true; DropNames
	// for their removal at the end.
	NameOrdinals, DropNames bool
	// CreateNamespace asks for the destination's namespace.
	CreateNamespace bool
	// SplitBudget is who has the disruption budget while the application stays split.
	SplitBudget api.SplitBudget
	// DeleteSource asks for the source's objects to be deleted at the end.
	DeleteSource bool
	// Dependencies says what is done about what pods need besides their volumes.
	Dependencies DependencySpec
	// Hooks are the user's, and HookAnswer how to go on after one that has failed; nil: nobody has said.
	Hooks      []api.Hook
	HookAnswer *api.HookAnswer
	// SameCluster is true when both sides are in one cluster: they share the volumes that are carried over.
	SameCluster bool
	// SameNamespace is true when both sides are in one namespace: they share one
	// PodDisruptionBudget.
	SameNamespace bool
}

// BeginsAbove says whether the destination is given a slice that begins above 0, of an
// application that begins with the ordinal lo.
func (s Spec) BeginsAbove(lo int32) bool { return s.Order != api.LowestFirst || lo > 0 }

// Record is what was written down because it cannot be observed again.
type Record struct {
	Baseline *api.Baseline
	Fence    *api.Fence
	Handoff  *api.Handoff
	// Ahead are the ordinals whose volumes are copied before it is their turn.
	Ahead []api.CopyAhead
	// LastAttempt is the highest number that an attempt to copy a volume has had, also one that is not recorded any more.
	LastAttempt int32
	// Hooks are the runs of hooks in the present direction that must not be forgotten.
	Hooks []api.HookRun
	// HookTurns is how often a migration with hooks has turned, or begun anew.
	HookTurns int32
	// Pace is how long handoffs took; nil: none has come to the destination yet.
	Pace *api.Pace
	// TurnedBack is the ordinal that was taken back by itself last; nil: none was since one has begun.
	TurnedBack *api.CopyTurnedBack
	// StartWithdrawn is the start that was taken back, because another writer has started the same ordinal; nil: none was since a
	// person has paused the migration.
	StartWithdrawn *api.StartWithdrawn
	// AutomaticRollback is why the migration was turned back by itself; nil: it was not since a person has paused it.
	AutomaticRollback *api.AutomaticRollback
	// Writers are those that were paused, or are about to be.
	Writers []api.PausedWriter
	// Stopped is the ordinal on its way that is down, and since when; nil: none is, or nobody knows.
	Stopped *api.StoppedOrdinal
	// Owed are the copies that the destination is to have again.
	Owed []api.OwedCopy
	// Accepted is true once the preflight has passed.
	Accepted bool
	// Completed is the reason of the condition Completed when it is True.
	Completed string
	// Given is how many ordinals the destination owned when that was last written; nil: it was
	// not written yet. Only of a destination that is lost is it asked.
	Given *int32
}

// Side returns one of the two.
func (s *Snapshot) Side(name SideName) *Side {
	if name == SourceSide {
		return &s.Source
	}
	return &s.Destination
}

// Clone returns a snapshot that shares no list with the first one.
func (s Snapshot) Clone() Snapshot {
	for _, side := range []*Side{&s.Source, &s.Destination} {
		side.Pods = slices.Clone(side.Pods)
		side.Budgets = slices.Clone(side.Budgets)
		side.Names = slices.Clone(side.Names)
	}
	s.Volumes = slices.Clone(s.Volumes)
	for i := range s.Volumes {
		if s.Volumes[i].Copy != nil {
			s.Volumes[i].Copy = new(*s.Volumes[i].Copy)
		}
	}
	s.Dependencies.List = slices.Clone(s.Dependencies.List)
	s.HookJobs.List = slices.Clone(s.HookJobs.List)
	s.Writers.List = slices.Clone(s.Writers.List)
	return s
}

// TemplateChange is a change of the source's pod template that the destination lacks, or how its claim templates differ.
type TemplateChange struct {
	// Fields are what the two templates differ in; empty: there is no such change.
	Fields string
	// Hash is of the source's template.
	Hash string
	// Claims says which claim templates either side has, where they are not the same; empty: they are.
	Claims string
}

// RecordedVolume is the volume that an ordinal on its way had for a claim template; its name is
// empty when it is not on its way, or nothing is known.
func RecordedVolume(handoff *api.Handoff, ordinal int32, template string) api.HandoffVolume {
	if handoff == nil || handoff.Ordinal != ordinal {
		return api.HandoffVolume{}
	}
	return handoff.Volume(template)
}
