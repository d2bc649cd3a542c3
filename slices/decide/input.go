package decide

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// Input is everything that Decide reads. It holds values only, with no pointer into a cache.
type Input struct {
	Now       time.Time
	Spec      Spec
	Revisions Revisions
	// Pods lists all pods of the slice, including Terminating pods and pods outside of the range, at most one for each
	// ordinal. Their order does not matter.
	Pods []Pod
	// StaleClaims lists ordinals that have no pod, but a claim that is owned by their former pod and deleted with it. No pod
	// is created until that claim is deleted.
	StaleClaims []int32
	// Taken lists ordinals above the range at which no surge pod may run, because claims of a former pod or of another owner
	// exist.
	Taken []int32
	// Progress is the progress of the roll-out from the previous pass.
	Progress Progress
	// Failures lists the pods that ended before, at most one for each ordinal.
	Failures []Failure
	// Refused lists the writes of the previous pass that the API server refused, for example because of a quota. A refused
	// eviction is listed until it is tried again.
	Refused []Refusal
	// Budgets lists the PodDisruptionBudgets that select a pod of the slice, and why none could be read.
	Budgets Budgets
	// Topology is the topology domain that the previous pass updated, and why nodes could not be read.
	Topology Topology
}

// Refusal is a write that the API server refused.
type Refusal struct {
	Verb    Verb
	Ordinal int32
	// UID of the pod that was observed. Empty for Create.
	UID types.UID
	// Message is the API server's error.
	Message string
	// At is the time of an eviction that was refused.
	At time.Time
}

// Spec is the desired state, with defaults filled in and percentages resolved.
type Spec struct {
	// Start and Replicas: the slice owns Replicas ordinals from Start on, not counting Reserved ordinals.
	Start, Replicas int32
	// Reserved lists ranges of skipped ordinals, ascending, with gaps between them.
	Reserved []Range
	// Parallel is podManagementPolicy Parallel; otherwise OrderedReady.
	Parallel bool
	Strategy api.UpdateStrategyType
	// Unordered is true when the priority of the pods defines the order of an update.
	Unordered bool
	// Partition is an absolute ordinal. Pods with a lower ordinal keep the current revision.
	Partition int32
	// MaxUnavailable is at least 1, or 0 together with a MaxSurge.
	MaxUnavailable, MaxSurge int32
	// Share is the slice's share of the application's disruption budget during a migration. It is an upper bound of
	// MaxUnavailable. nil means no bound.
	Share *int32
	// ScaleMaxUnavailable is the maximum number of unavailable pods while pods are created. 0 means no limit.
	ScaleMaxUnavailable int32
	MinReady            time.Duration
	// Paused stops updates only.
	Paused bool
	// Policy selects whether an update recreates a pod or patches it in place.
	Policy api.PodUpdatePolicy
	// InPlaceGrace is the time for which a pod is not Ready before it is patched in place.
	InPlaceGrace time.Duration
	OnFailure    api.OnFailure
	// Unhealthy selects when a pod is replaced that is not Ready and that was available at the current revision. Empty means
	// IfHealthyBudget.
	Unhealthy api.UnhealthyPodEvictionPolicy
	// Evicts is true when an update keeps the PodDisruptionBudgets of the pods (budget: PodDisruptionBudget).
	Evicts bool
	// TopologyKey is the key of the node label that defines the topology domains. Empty means that there are none.
	TopologyKey string
	// PrePull is true when images are pulled before a pod is deleted for an update.
	PrePull bool
	// Deadline is the time without progress after which a roll-out fails. 0 means no deadline.
	Deadline time.Duration
	// Tell selects the pods that get a termination reason before they are deleted.
	Tell api.TerminationReasonPolicy
	// TerminationGrace is the time between the write of a pod's termination reason and its deletion.
	TerminationGrace time.Duration
	// Migrating is true while a migration drives the slice. Its scale-downs have the reason Migration.
	Migrating bool
	// Split is true when another slice may own ordinals of the application.
	Split bool
	// Deleting is true when the StatefulSet is being deleted. No pods are created any more, and the garbage collector
	// deletes the existing ones.
	Deleting bool
	// DeletingSince is the deletion timestamp.
	DeletingSince time.Time
	// Orphaning is true when the pods remain after the deletion. They get no termination reason.
	Orphaning bool
}

// Range is the ordinals from First to Last, both included.
type Range struct {
	First, Last int32
}

// Revisions are names of ControllerRevisions.
type Revisions struct {
	// Current is the revision of pods below the partition. Update is the revision of the template.
	Current, Update string
	// SameTemplate is true when the two revisions differ only in storage requests of claims. That difference cannot be
	// rolled back, because claims cannot shrink.
	SameTemplate bool
	// Failed is true when the roll-out of Update has failed and is rolled back (onFailure: Rollback): pods get Current until
	// the template changes. The status records it (failedRevision).
	Failed bool
	// Blocked is why the template's revision, or an input of the target, cannot be had, or empty. No pod is updated then, and
	// Update is the former update revision.
	Blocked string
	// ReadsReason is true when pods of either revision can read their termination reason.
	ReadsReason bool
}

// Target returns the revision that pods get: Update, or Current after the roll-out of Update has failed.
func (r Revisions) Target() string {
	if r.Failed {
		return r.Current
	}
	return r.Update
}

// Phase is the phase of a pod, reduced to what Decide distinguishes.
type Phase string

// The phases. Failed and Succeeded include pods that the API server has given up. Such pods are deleted and recreated.
const (
	Pending   Phase = "Pending"
	Running   Phase = "Running"
	Failed    Phase = "Failed"
	Succeeded Phase = "Succeeded"
)

// Pod holds the properties of a pod that Decide reads.
type Pod struct {
	Ordinal  int32
	UID      types.UID
	Revision string
	Phase    Phase
	// Ready since ReadySince. Only a Running pod can be Ready.
	Ready       bool
	ReadySince  time.Time
	Terminating bool
	// NeverAvailable is true when the pod has certainly not been available before this pass. False means unknown.
	NeverAvailable bool
	// GoneBy is the end of the grace period of a Terminating pod. Finalizers are its finalizers.
	GoneBy     time.Time
	Finalizers []string
	// Node is the node of a pod that is Terminating or not Ready, empty if it has none. LostSince is the time since which the
	// node does not answer, or zero: the node is not Ready, or the pod is not, although its kubelet has reported it as ready.
	Node      string
	LostSince time.Time
	// UnreadySince is the time since which the pod is not Ready. Asked is the time at which its node was asked last, or zero.
	// Answers is true when the node has answered lately, or cannot be asked.
	UnreadySince, Asked time.Time
	Answers             bool
	// IdentityOK is true when the name, hostname and labels match the ordinal. ClaimsOK is true when all existing claims
	// have the owners that the retention policy requires.
	IdentityOK, ClaimsOK bool
	// ClaimsMissing is true while the pod waits for claims that do not exist.
	ClaimsMissing bool
	// StandIn is true when one of the pod's claims was created for a surge pod.
	StandIn bool
	// Growth is the state of the pod's claims relative to the storage requests of their templates.
	Growth Growth
	// SameAs is the revision that is kept of all revisions equivalent to the pod's own. Empty means the pod's own revision.
	SameAs string
	// Change describes how the pod can be updated to the target revision.
	Change Change
	// InPlace is the in-place update in progress, or nil.
	InPlace *InPlace
	// NewImages is true when the update has images that the pod does not use. Pull is the pod that pulls them on its node,
	// or nil.
	NewImages bool
	Pull      *Pull
	// Budgets are the names of the PodDisruptionBudgets that select the pod. Charged is true while its budget certainly
	// counts it as disrupted. OwnCharge is true if this process has charged the budget for it.
	Budgets            []string
	Charged, OwnCharge bool
	// Domain is the topology domain of the pod's node. It is empty without a TopologyKey.
	Domain Domain
	// Priority orders an unordered update. A larger priority comes first.
	Priority []int64
	// ReadsReason is true when a container of the pod can read the termination reason.
	ReadsReason bool
	// Reason is the pod's termination reason, written at ReasonSince. Empty means none.
	Reason      api.TerminationReason
	ReasonSince time.Time
	// AskedToGo is true when a user requested the deletion of this pod.
	AskedToGo bool
	// HeldForDelete and HeldForUpdate are true while a lifecycle hook delays that change.
	HeldForDelete, HeldForUpdate bool
}

// Change describes how a pod can be updated from its revision to the target revision.
type Change struct {
	// Same is true when both revisions are equivalent and only the label differs.
	Same bool
	// InPlace is true when the pod can keep running.
	InPlace bool
	// Blocker is the field whose change requires recreation. It is used in messages.
	Blocker string
}

// Growth is the state of a pod's claims relative to the storage requests of their templates. Of several claims, it describes
// the claim with the most work left.
type Growth struct {
	State GrowthState
	// Claim is the name of that claim. It is used in messages.
	Claim string
	// Since is the time at which the claim entered AwaitsFileSystem. Anew is true when its pod was created after that, so
	// that the volume was or will be mounted again.
	Since time.Time
	Anew  bool
	// InProgress is true when a claim that is ToGrow, or another claim of the pod, grows to an earlier size already.
	InProgress bool
}

// GrowthState is a step of a claim's growth.
type GrowthState string

// The steps. An Unbound claim must be bound before its request can be raised. A claim that AwaitsFileSystem has a larger
// volume, but not a larger file system. Its kubelet grows the file system while it is mounted. With some drivers, this
// happens only at the next mount.
const (
	Grown            GrowthState = ""
	ToGrow           GrowthState = "ToGrow"
	Growing          GrowthState = "Growing"
	Infeasible       GrowthState = "Infeasible"
	AwaitsFileSystem GrowthState = "AwaitsFileSystem"
	Unbound          GrowthState = "Unbound"
)

// InPlace is an in-place update in progress.
type InPlace struct {
	// Revision that the pod is being updated to.
	Revision string
	// Since is the time at which the pod's readiness gate was set to False.
	Since time.Time
	// Patched is true when the pod has been patched to that revision. Done is true when it runs according to its spec.
	Patched, Done bool
	// Unseen is true when it is unknown whether the kubelet has observed the patch.
	Unseen bool
	// Waits is the kubelet's reason why the resize is delayed, or empty. Serves is true when only the resize is left, and
	// the readiness gate is open meanwhile. Infeasible is true when the node can never provide the requested resources.
	Waits              string
	Serves, Infeasible bool
}

// Pull is a pod that pulls images.
type Pull struct {
	// Since is the creation time of the pod. Ended is true when the images were pulled, or when the pull can no longer be
	// observed.
	Since time.Time
	Ended bool
}

// Verb is an action on a pod.
type Verb string

// The verbs. Each is a single write, or a write for each claim and one more.
const (
	// Create creates the missing claims and the pod.
	Create Verb = "Create"
	// Delete deletes the pod. Evict deletes it within its PodDisruptionBudget, which the API server charges.
	Delete Verb = "Delete"
	Evict  Verb = "Evict"
	// ChargeBudget counts a pod as disrupted in the status of its PodDisruptionBudget, as an eviction does, before an update
	// in place. ReleaseBudget ends that when the pod serves again.
	ChargeBudget  Verb = "ChargeBudget"
	ReleaseBudget Verb = "ReleaseBudget"
	// Announce writes the termination reason on a pod that will be deleted. An empty reason removes it again.
	Announce Verb = "Announce"
	// CreateClaims creates the claims that a pod waits for.
	CreateClaims Verb = "CreateClaims"
	// OwnClaims sets the owners of a pod's claims as the retention policy requires.
	OwnClaims Verb = "OwnClaims"
	// Repair restores the labels of a pod's identity.
	Repair Verb = "Repair"
	// Relabel sets a pod's revision label to an equivalent revision.
	Relabel Verb = "Relabel"
	// BeginInPlace sets the readiness gate to False and records the update, replacing a former one. PatchInPlace patches the
	// pod and its revision label. FinishInPlace sets the gate to True and removes the record.
	BeginInPlace  Verb = "BeginInPlace"
	PatchInPlace  Verb = "PatchInPlace"
	FinishInPlace Verb = "FinishInPlace"
	// GrowClaims raises the storage requests of a pod's claims before the pod is updated.
	GrowClaims Verb = "GrowClaims"
	// PrePull creates a pod that pulls the images of a revision on the node of the pod.
	PrePull Verb = "PrePull"
)

// Action is an action on one pod.
type Action struct {
	Verb    Verb
	Ordinal int32
	// UID of the pod that was observed. Empty for Create.
	UID types.UID
	// Revision that the pod gets or is being updated to.
	Revision string
	// Reason is why a pod is deleted, for Delete and Announce. A pod that has ended is deleted without a reason, because no
	// process is left to read it.
	Reason api.TerminationReason
}

// Hold is the reason why no action is taken for an ordinal that is not in its desired state.
type Hold struct {
	Ordinal int32
	// Reason is a stable identifier. Message is readable text.
	Reason, Message string
}

// Status counts the pods.
type Status struct {
	Replicas, Ready, Available, Current, Updated, UpdatedReady, UpdatedAvailable int32
	// CurrentRevision is the new value of status.currentRevision. It becomes the update revision once every pod has that
	// revision.
	CurrentRevision string
}

// Progress is the progress of a roll-out. It is empty while there is no roll-out (OnDelete or paused) and while the roll-out
// applies to no pod.
type Progress struct {
	// Revision is being rolled out. Since is the time of the last progress, or the later time at which the roll-out became
	// late. Updated and Ready are the highest numbers of updated pods and of Ready updated pods so far. Available is the last
	// number of available updated pods.
	Revision                  string
	Since                     time.Time
	Updated, Ready, Available int32
	// Complete is true once every pod in scope has had the revision and was available. Later failures of a pod do not fail
	// the roll-out, unless it is extended to other pods.
	Complete bool
	// Late is true while a pod of Revision is not available, or cannot be created. The deadline counts only then: whatever
	// else holds the roll-out is not the fault of Revision.
	Late bool
	// Blocked is true while Revisions.Blocked delays the roll-out. The deadline counts then, too.
	Blocked bool
	// Failed is true once the deadline has passed. Message then names the late pod, or the reason of Blocked.
	Failed  bool
	Message string
}

// Decision holds the actions for this pass. The actions of one ordinal run in this order, and an error skips the rest of
// that ordinal.
type Decision struct {
	Actions []Action
	// Held lists the held ordinals. HeldMore counts further ordinals without a pod, which wait for the same reason as the
	// last one listed.
	Held     []Hold
	HeldMore int32
	Status   Status
	// Progress and Failures are the state that the next pass needs.
	Progress Progress
	Failures []Failure
	// Complete is true when all pods have the update revision, and all pods in scope of the roll-out were available with it.
	Complete bool
	// Readiness reports whether the slice is in its desired state.
	Readiness Readiness
	// RangeWarning is a warning about a range that moves by more ordinals than it keeps, or empty.
	RangeWarning string
	// FailedRevision is the update revision if its roll-out has failed and is rolled back (onFailure: Rollback), or empty.
	// The status must record it before pods get the current revision again.
	FailedRevision string
	// Refused lists the refused evictions that are not tried again yet.
	Refused []Refusal
	// Domain is the topology domain that is updated now.
	Domain Place
	// TopologyWarning is a warning about nodes that do not have the label TopologyKey, or empty.
	TopologyWarning string
	// Finalizer is true while the StatefulSet needs the finalizer: some pods have to get a termination reason before a
	// deletion completes.
	Finalizer bool
	// AskNodes lists the nodes of pods that are not Ready, which may be lost.
	AskNodes []string
	// Served holds the pods that are available, or may have been available before. The next pass needs it.
	Served map[types.UID]bool
	// Wait is the time after which to reconcile again without a change. 0 means only on a change.
	Wait time.Duration
}
