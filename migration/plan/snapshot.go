package plan

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sliceshift/sliceshift/migration/berths"
	"github.com/sliceshift/sliceshift/migration/schedule"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/pdb"
)

// Snapshot is all that Plan knows: what the user asks for, what was recorded, and
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
	// VolumesRead is true when the volumes of that one were read, too.
	VolumesRead bool
	// Template is a change of the source's pod template that the destination lacks.
	Template TemplateChange
	// Numbers is why the destination cannot be given the slice as it is: where it begins, what
	// its pods are, or that they are let in; nil: it can, or has been given it.
	Numbers *Finding
	// Preflight is what was found that only the observer can judge: missing rights,
	// autoscalers, differences between the two StatefulSets.
	Preflight []Finding
	// Dependencies are the objects that pods need besides their volumes, where they are to be copied.
	Dependencies Dependencies
	// Queued is why it may not begin yet though nothing is found; nil: it may.
	Queued *Hold
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
	// Deadline is how long one ordinal may take.
	Deadline time.Duration
	// Schedule is when a handoff may begin; nil: at any time.
	Schedule *schedule.Schedule
	// PauseWriters asks for the writers of the source to be paused for the move.
	PauseWriters bool
	// Recovery is the cluster that a person has declared to be off.
	Recovery types.UID
	// Export asks for ServiceExports on both sides.
	Export bool
	// NameOrdinals asks for a Service and its ServiceExport for each ordinal; DropNames
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

// Record is what was written down because it cannot be observed again.
type Record struct {
	Baseline *api.Baseline
	Fence    *api.Fence
	Handoff  *api.Handoff
	// Hooks are the runs of hooks in the present direction that must not be forgotten.
	Hooks []api.HookRun
	// HookTurns is how often a migration with hooks has turned, or begun anew.
	HookTurns int32
	// Pace is how long handoffs took; nil: none has come to the destination yet.
	Pace *api.Pace
	// Writers are those that were paused, or are about to be.
	Writers []api.PausedWriter
	// Accepted is true once the preflight has passed.
	Accepted bool
	// Completed is the reason of the condition Completed when it is True.
	Completed string
	// Given is how many ordinals the destination owned when that was last written; nil: it was
	// not written yet. Only of a destination that is lost is it asked.
	Given *int32
}

// Presence says how a thing was seen.
type Presence string

// Presences. The zero value is Unreachable's: what was not looked at is not absent.
const (
	Unreachable Presence = ""
	Seen        Presence = "Seen"
	Absent      Presence = "Absent"
)

// Side is one side as it was seen. When Reach is Unreachable nothing else counts.
type Side struct {
	// Cluster and Namespace name the side in messages.
	Cluster, Namespace string
	// ClusterID tells the cluster from every other one.
	ClusterID types.UID
	Reach     Presence
	// Lost is true for a destination that was declared lost for good: it was not looked at, and
	// is taken for a side that has nothing.
	Lost bool
	// ReachError says why the side could not be read.
	ReachError string
	// NamespaceFound is false when the namespace does not exist.
	NamespaceFound bool
	Set            Set
	// Pods are all pods named <set>-<ordinal>, ascending, Terminating ones included.
	Pods []Pod
	// Budgets are the PodDisruptionBudgets that select the slice's pods, OtherBudgets
	// the names of those that do not.
	Budgets      []Budget
	OtherBudgets []string
	// Service is the governing Service; Needed is false when the set names none.
	Service Dependent
	// Export is the ServiceExport of the governing Service.
	Export Export
	// Names are the names of the ordinals that were looked at, ascending.
	Names []Name
}

// Set is what matters of a StatefulSet.
type Set struct {
	Presence        Presence
	Name            string
	UID             types.UID
	ResourceVersion string
	Start, Replicas int32
	// Observed is true when the controller has seen this generation.
	Observed bool
	// RolledOut is true when every pod has the update revision.
	RolledOut bool
	// Templates are the names of the volumeClaimTemplates, ascending.
	Templates []string
	// MinReady is spec.minReadySeconds.
	MinReady time.Duration
	// Ordered is true for podManagementPolicy OrderedReady.
	Ordered bool
	// Fence is the value of the fence annotation.
	Fence string
	// ScalesBy is who wrote replicas or ordinals last, when it was not a migration.
	ScalesBy string
	// Ours is true when this migration created it.
	Ours        bool
	Terminating bool
	// Resource is how kubectl calls its kind.
	Resource string
	// DeletesClaims is true for persistentVolumeClaimRetentionPolicy.whenScaled: Delete.
	DeletesClaims bool
	// OwnsClaims are the claims that it owns, ascending, as far as claims were read.
	OwnsClaims []string
	// Rolls is how its roll-outs go.
	Rolls Rolls
	// Reserves is true when a slice of our own kind skips ordinals, which it then owns
	// beyond its end; ReservesBy is who wrote that last.
	Reserves   bool
	ReservesBy string
}

// Rolls is how the roll-outs of a StatefulSet go, as far as a migration can bound them.
type Rolls struct {
	// Own is true for our own kind: its controller keeps to a share of the disruption
	// budget, and as long as a migration drives the set it evicts what it replaces.
	Own bool
	// AllAtOnce is true when it replaces all pods together; Asked when somebody has asked
	// for a pod to go, which is done as a roll-out does it.
	AllAtOnce, Asked bool
	// Shared is true when the set has been given a share: how many of its pods may be
	// unavailable for an available one to be updated. Heeded is true when its controller
	// has confirmed that, or that there is none.
	Shared bool
	Share  int32
	Heeded bool
}

// resource is how kubectl calls the set's kind.
func (s Set) resource() string { return cmp.Or(s.Resource, NativeResource) }

// rolloutStatus is the command that shows a roll-out: kubectl knows those of its own kinds.
func (s Set) rolloutStatus(namespace string) string {
	switch s.resource() {
	case NativeResource:
		return fmt.Sprintf("kubectl rollout status -n %s sts/%s", namespace, s.Name)
	case SliceResource:
		return fmt.Sprintf("kubectl migrate rollout status -n %s %s", namespace, s.Name)
	default:
		return fmt.Sprintf("kubectl get %s -n %s %s --watch", s.resource(), namespace, s.Name)
	}
}

// End is the first ordinal above the slice.
func (s Set) End() int32 { return s.Start + s.Replicas }

// Has says whether the slice owns an ordinal.
func (s Set) Has(ordinal int32) bool { return s.Start <= ordinal && ordinal < s.End() }

// Pod is what matters of a pod of an ordinal.
type Pod struct {
	Ordinal int32
	UID     types.UID
	Ready   bool
	// ReadySince is when it became Ready.
	ReadySince  time.Time
	Terminating bool
	// Owned is true when the StatefulSet controls it.
	Owned bool
	// Node is where it runs; empty: nowhere yet.
	Node string
	// Trouble is what keeps it from becoming Ready, when it says so.
	Trouble string
}

// Available says whether the pod has been Ready for so long and stays.
func (p *Pod) Available(now time.Time, minReady time.Duration) bool {
	return p.Ready && !p.Terminating && p.Owned && !now.Before(p.ReadySince.Add(minReady))
}

// Budget is what matters of a PodDisruptionBudget.
type Budget struct {
	Name            string
	UID             types.UID
	ResourceVersion string
	Form            pdb.Form
	// Unhealthy is spec.unhealthyPodEvictionPolicy; empty: IfHealthyBudget.
	Unhealthy string
	// Observed is true when the disruption controller has seen this generation.
	Observed bool
	// Covers names a pod that it selects and that is of neither slice; empty: there is
	// none.
	Covers string
	// LeavesOut names pods of the slice that it does not select, although it selects others;
	// empty: it selects all of them.
	LeavesOut string
	// Evictions is how many evictions the API server would grant now: what the
	// disruption controller has computed from the pods as it knew them.
	Evictions int32
	// Disrupted are the pods whose eviction was granted and not yet seen.
	Disrupted []string
	// EditedBy is who changed the budget after the migration had taken it over.
	EditedBy string
	// Fence is the fence under which the migration wrote it; empty as long as it has
	// not taken the budget over.
	Fence string
	// Ours is true when this migration created it.
	Ours bool
	// Author is the form in which its author wrote it, as a migration has noted it before it
	// wrote its own; nil: no migration has.
	Author *pdb.Form
	// RevertedBy is who has written it since the migration began to write it, and has not
	// left the migration's mark on it.
	RevertedBy string
}

// AuthorForm is the form in which the budget was written by its author.
func (b Budget) AuthorForm() pdb.Form {
	if b.Author != nil {
		return *b.Author
	}
	return b.Form
}

// Pod returns the pod of an ordinal.
func (s Side) Pod(ordinal int32) (Pod, bool) {
	if at, found := s.at(ordinal); found {
		return s.Pods[at], true
	}
	return Pod{}, false
}

// outside is the first pod of an ordinal that the slice does not own.
func (s Side) outside() (Pod, bool) {
	if len(s.Pods) > 0 && !s.Set.Has(s.Pods[0].Ordinal) {
		return s.Pods[0], true
	}
	if at, _ := s.at(s.Set.End()); at < len(s.Pods) {
		return s.Pods[at], true
	}
	return Pod{}, false
}

// at is where the pod of an ordinal is among the pods, or would be.
func (s Side) at(ordinal int32) (int, bool) {
	return slices.BinarySearchFunc(s.Pods, ordinal, func(pod Pod, want int32) int { return int(pod.Ordinal) - int(want) })
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

// SetPod stores or replaces a pod, keeping the order.
func (s *Side) SetPod(pod Pod) {
	at, found := s.at(pod.Ordinal)
	if found {
		s.Pods[at] = pod
		return
	}
	s.Pods = slices.Insert(s.Pods, at, pod)
}

// RemovePod forgets a pod.
func (s *Side) RemovePod(ordinal int32) {
	if at, found := s.at(ordinal); found {
		s.Pods = slices.Delete(s.Pods, at, at+1)
	}
}

// ClaimName is the name that the StatefulSet controller gives a claim
// (kubernetes stateful_set_utils.go, getPersistentVolumeClaimName).
func ClaimName(template, set string, ordinal int32) string {
	return fmt.Sprintf("%s-%s-%d", template, set, ordinal)
}

// PodName is the name that the StatefulSet controller gives a pod.
func PodName(set string, ordinal int32) string { return fmt.Sprintf("%s-%d", set, ordinal) }
