package plan

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/berths"
	"github.com/sliceshift/sliceshift/migration/schedule"
	"github.com/sliceshift/sliceshift/volumes"
)

// Snapshot is the complete input of a decision: the user's spec, the record, and the observed state of both sides.
// It holds only values.
type Snapshot struct {
	// Now is when it was taken.
	Now time.Time
	// Migration is the namespace and name, for messages.
	Migration types.NamespacedName
	// UID is the UID of the Migration; it is the owner in both fences.
	UID types.UID
	// Holder is the identity of this process. Engaged is true when this process has acquired the fence, and every
	// write since has got a response. Otherwise the process must acquire the next epoch: a write without a
	// response may still arrive, and only a new epoch refuses it. An engaged process does not take the fence back
	// from another process.
	Holder  string
	Engaged bool
	// Deleting is true when the Migration itself is being deleted.
	Deleting bool
	Spec     Spec
	Record   Record
	// Source and Destination are the two sides.
	Source, Destination Side
	// Volumes lists the claims of the ordinals that were read, ascending by ordinal and template.
	Volumes []OrdinalVolume
	// Focused is true when Volumes covers only one ordinal. Nothing about all ordinals may be concluded from such
	// a snapshot.
	Focused bool
	// Behind is an ordinal in flight that stalls, and beyond which none is stopped; nil: none does.
	Behind *int32
	// Early is the ordinal whose volumes are copied before its turn, if the snapshot is only about that ordinal;
	// nil: the snapshot is about the migration.
	Early *int32
	// VolumesRead is true when the volumes of that ordinal were read, too.
	VolumesRead bool
	// Template is a change of the source's pod template that the destination lacks.
	Template TemplateChange
	// Numbers is the reason that the destination cannot own the slice: its start, its pods, or their admission;
	// nil: it can, or already owns it.
	Numbers *Finding
	// Arrival is the result of the dry run of the next ordinal on the side that takes it; nil: there was no dry
	// run.
	Arrival *Arrival
	// Refused is the controller's message that the arriving ordinal's pod cannot be created; empty: the pod
	// exists, or nothing is known.
	Refused string
	// RollbackWritten is true once spec.mode was set to Rollback for Record.AutomaticRollback. ModeWriter is
	// another field manager that has since written the mode; empty: none, or it is not known.
	RollbackWritten bool
	ModeWriter      string
	// Preflight lists the findings that only the observer can make: missing permissions, autoscalers, differences
	// between the two StatefulSets.
	Preflight []Finding
	// Dependencies are the objects other than volumes that pods need, if they are copied.
	Dependencies Dependencies
	// Queued is the reason that the migration must wait for its turn although the preflight found nothing; nil: it
	// may begin.
	Queued *Hold
	// MovedOn names another migration that has moved ordinals on from this one's destination and has not moved all
	// of them back; empty: none is known. It is determined when this migration is recovered.
	MovedOn string
	// Writers are the other controllers of the source, if they are paused or will be.
	Writers Writers
	// Load is the load of the handoffs of other migrations; nil: no limit applies.
	Load *berths.Load
	// Gates lists the user's health gates, in their order, with their answers. Nothing waits for a gate that is
	// not listed, as in a dry run.
	Gates []Health
	// HookJobs are the Jobs of hooks that were read.
	HookJobs HookJobs
	// Storage is what only a migration in place needs; nil for a move between two StatefulSets.
	Storage *Storage
}

// Spec holds the user's settings, with defaults filled in.
type Spec struct {
	Mode  api.Mode
	Order api.Order
	// Count is how many ordinals move; 0 means all.
	Count int32
	// MaxUnavailable is maxUnavailable as the user wrote it; nil: from the PodDisruptionBudget.
	MaxUnavailable *intstr.IntOrString
	// MaxInFlight is handoff.maxInFlight as the user wrote it; nil: one ordinal moves at a time.
	MaxInFlight *intstr.IntOrString
	// OrdinalGate names a health gate that asks between two ordinals; empty: none does.
	OrdinalGate string
	// MinReady is how long a moved pod must be Ready.
	MinReady time.Duration
	// Volumes lists the current method for each claim template. A template that is not listed moves by Rebind.
	Volumes []api.VolumeSpec
	// Prefetch is how many ordinals are copied before their turn.
	Prefetch int32
	// Deadline is how long the handoff of one ordinal may take.
	Deadline time.Duration
	// Schedule is when a handoff may begin; nil: at any time.
	Schedule *schedule.Schedule
	// PauseWriters requests that the writers of the source are paused for the move.
	PauseWriters bool
	// WritersPaused lists the writers that a user has declared to be paused in a way that cannot be observed.
	WritersPaused []string
	// Recovery is the UID of the cluster that a user has declared to be off.
	Recovery types.UID
	// NothingMovedOn is a user's confirmation that no ordinal was moved on from the destination since the
	// migration completed.
	NothingMovedOn bool
	// Export requests ServiceExports on both sides; Snapshot.Services is authoritative.
	Export bool
	// NameOrdinals requests a Service and a ServiceExport for each ordinal; Snapshot.Services is authoritative.
	// DropNames requests their deletion at the end.
	NameOrdinals, DropNames bool
	// CreateNamespace requests that the destination's namespace is created.
	CreateNamespace bool
	// SplitBudget is the side that owns the disruption budget while the application stays split.
	SplitBudget api.SplitBudget
	// DeleteSource requests that the source's objects are deleted at the end.
	DeleteSource bool
	// Dependencies holds the settings for the objects other than volumes that pods need.
	Dependencies DependencySpec
	// Hooks are the user's hooks. HookAnswer is the user's answer to a failed hook; nil: there is none.
	Hooks      []api.Hook
	HookAnswer *api.HookAnswer
	// SameCluster is true when both sides are in one cluster, so that they share the volumes that are rebound.
	SameCluster bool
	// SameNamespace is true when both sides are in one namespace, so that they share one PodDisruptionBudget.
	SameNamespace bool
}

// BeginsAbove reports whether the destination's slice begins above 0, for an application that begins with the
// ordinal lo.
func (s Spec) BeginsAbove(lo int32) bool { return s.Order != api.LowestFirst || lo > 0 }

// Record holds the state that cannot be observed again.
type Record struct {
	Baseline *api.Baseline
	Fence    *api.Fence
	// Handoff is the handoff in flight that a decision is about; nil: there is none, or the decision is about the
	// next one. Further lists the other handoffs in flight.
	Handoff *api.Handoff
	Further []api.Handoff
	// Storage is the record of a migration in place; nil before its first write.
	Storage *api.StorageStatus
	// Ahead lists the ordinals whose volumes are copied before their turn.
	Ahead []api.CopyAhead
	// Proofs lists the ordinals that run on copies that are not proven yet.
	Proofs []api.CopyAhead
	// LastAttempt is the highest number of any attempt to copy a volume, including attempts that are no longer
	// recorded.
	LastAttempt int32
	// Hooks lists the runs of hooks in the current direction that must be remembered.
	Hooks []api.HookRun
	// HookTurns counts how often a migration with hooks has changed direction, or restarted.
	HookTurns int32
	// Pace is the duration of past handoffs; nil: no ordinal has arrived at the destination yet.
	Pace *api.Pace
	// Outage is how long the next ordinal is expected to be down; nil: no outage was measured.
	Outage *volumes.Outage
	// TurnedBack is the ordinal that was last rolled back automatically; nil: none since a handoff began.
	TurnedBack *api.CopyTurnedBack
	// StartWithdrawn is the start that was undone because another writer has started the same ordinal; nil: none
	// since a user last paused the migration.
	StartWithdrawn *api.StartWithdrawn
	// AutomaticRollback is the reason of the automatic rollback; nil: there was none since a user last paused the
	// migration.
	AutomaticRollback *api.AutomaticRollback
	// Writers lists the writers that were paused, or are about to be.
	Writers []api.PausedWriter
	// Stopped is the ordinal in flight that is down, and since when; nil: none is, or it is not known.
	Stopped *api.StoppedOrdinal
	// Owed lists the copies that the destination must get again.
	Owed []api.OwedCopy
	// Accepted is true once the preflight has passed.
	Accepted bool
	// Completed is the reason of the condition Completed when it is True.
	Completed string
	// Given is how many ordinals the destination owned when that was last recorded; nil: it was not recorded yet.
	// It is used only for a lost destination.
	Given *int32
}

// Side returns the side with a name.
func (s *Snapshot) Side(name SideName) *Side {
	if name == SourceSide {
		return &s.Source
	}
	return &s.Destination
}

// Clone returns a snapshot that shares no list with the original.
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

// TemplateChange is a change of the source's pod template that the destination lacks, or a difference of the claim
// templates.
type TemplateChange struct {
	// Fields lists the fields in which the two templates differ; empty: there is no such change.
	Fields string
	// Hash is the hash of the source's template.
	Hash string
	// Claims describes the claim templates of both sides if they differ; empty: they are equal.
	Claims string
}

// RecordedVolume returns the volume that an ordinal in flight had for a claim template. Its name is empty when the
// ordinal is not in flight, or nothing is recorded.
func RecordedVolume(handoff *api.Handoff, ordinal int32, template string) api.HandoffVolume {
	if handoff == nil || handoff.Ordinal != ordinal {
		return api.HandoffVolume{}
	}
	return handoff.Volume(template)
}
