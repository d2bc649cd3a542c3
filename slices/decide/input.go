package decide

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// Input is all that Decide knows: values only, nothing that points into a cache.
type Input struct {
	Now       time.Time
	Spec      Spec
	Revisions Revisions
	// Pods are all pods of the slice, Terminating ones and those outside of the range
	// included, at most one for each ordinal. Their order does not matter.
	Pods []Pod
	// StaleClaims are ordinals without a pod, a claim of which belongs to a pod that is
	// gone and goes with it: no pod is made until it has gone.
	StaleClaims []int32
	// Taken are ordinals above the range that nobody may stand in at: they have claims, which
	// are those of a former pod, or somebody else's.
	Taken []int32
	// Progress is what is known of the roll-out from before.
	Progress Progress
	// Failures are what is known of pods that have ended, at most one for each ordinal.
	Failures []Failure
}

// Spec is what is asked for, with defaults filled in and numbers resolved.
type Spec struct {
	// Start and Replicas: the slice owns Replicas ordinals from Start on, Reserved ones
	// not counted.
	Start, Replicas int32
	// Reserved are ranges of skipped ordinals, ascending, with gaps between them.
	Reserved []Range
	// Parallel is podManagementPolicy Parallel; otherwise OrderedReady.
	Parallel bool
	Strategy api.UpdateStrategyType
	// Unordered is true when the priority of the pods decides which one is updated first.
	Unordered bool
	// Partition is the absolute ordinal below which pods keep the current revision.
	Partition int32
	// MaxUnavailable is at least 1, or 0 together with a MaxSurge.
	MaxUnavailable, MaxSurge int32
	// Share is what a migration lets the slice take of the application's disruption budget:
	// it bounds MaxUnavailable; nil: nothing does.
	Share *int32
	// ScaleMaxUnavailable bounds how many pods may be unavailable while pods are
	// created; 0: it is not bounded.
	ScaleMaxUnavailable int32
	MinReady            time.Duration
	// Paused stops updates, and nothing else.
	Paused bool
	// Policy is how an update changes a pod.
	Policy api.PodUpdatePolicy
	// InPlaceGrace is how long a pod is not Ready before it is patched in place.
	InPlaceGrace time.Duration
	OnFailure    api.OnFailure
	// Unhealthy says when a pod is replaced that is not Ready, and was available at the current revision; empty is
	// IfHealthyBudget.
	Unhealthy api.UnhealthyPodEvictionPolicy
	// PrePull is true when images are pulled before a pod is deleted for an update.
	PrePull bool
	// Deadline is how long a roll-out may make no progress; 0: for ever.
	Deadline time.Duration
	// Tell says which pods are told why they are deleted.
	Tell api.TerminationReasonPolicy
	// TerminationGrace is how long a pod carries its termination reason before it is
	// deleted.
	TerminationGrace time.Duration
	// Migrating is true while a migration drives the slice: its scale-downs have the
	// reason Migration.
	Migrating bool
	// Split is true when another slice owns ordinals of the application for good.
	Split bool
	// Deleting is true when the StatefulSet is being deleted: nothing is made any more,
	// and what is deleted is the garbage collector's.
	Deleting bool
	// DeletingSince is when that began.
	DeletingSince time.Time
	// Orphaning is true when its pods stay nevertheless: they are told nothing.
	Orphaning bool
}

// Range is the ordinals from First to Last, both included.
type Range struct {
	First, Last int32
}

// Revisions are names of ControllerRevisions.
type Revisions struct {
	// Current is what pods below the partition have; Update is the template's.
	Current, Update string
	// SameTemplate is true when the two differ in nothing that can be taken back: only in what
	// claims request, and no claim can shrink.
	SameTemplate bool
	// ReadsReason is true when pods of one of the two can read why they are deleted.
	ReadsReason bool
}

// Phase is a pod's phase as far as it matters.
type Phase string

// The phases. A pod that was given up by the API server is Failed or Succeeded: it is
// deleted and made anew.
const (
	Pending   Phase = "Pending"
	Running   Phase = "Running"
	Failed    Phase = "Failed"
	Succeeded Phase = "Succeeded"
)

// Pod is what matters of a pod.
type Pod struct {
	Ordinal  int32
	UID      types.UID
	Revision string
	Phase    Phase
	// Ready since ReadySince; only a Running pod is.
	Ready       bool
	ReadySince  time.Time
	Terminating bool
	// NeverAvailable is true when the pod has certainly not been available since its creation. False: nobody knows.
	NeverAvailable bool
	// GoneBy is when the grace period of a Terminating pod ends.
	GoneBy time.Time
	// IdentityOK is true when its name, hostname and labels are its ordinal's;
	// ClaimsOK when those of its claims that exist have the owners that the retention policy
	// asks for.
	IdentityOK, ClaimsOK bool
	// ClaimsMissing is true while it waits for claims that do not exist.
	ClaimsMissing bool
	// StandIn is true when a claim of it was made for a pod that stands in for others.
	StandIn bool
	// Growth is how far its claims are on their way to what their templates ask for.
	Growth Growth
	// SameAs is the revision that stays of those that mean the same as its own; empty: its
	// own does.
	SameAs string
	// Change is how the pod can get from its revision to the target.
	Change Change
	// InPlace is the update in place that it is in; nil: none.
	InPlace *InPlace
	// NewImages is true when the update brings images that the pod does not have; Pull is the
	// pod that pulls them on its node, nil: there is none.
	NewImages bool
	Pull      *Pull
	// Priority orders an unordered update: a larger one first.
	Priority []int64
	// ReadsReason is true when somebody in the pod can read why it is deleted.
	ReadsReason bool
	// Reason is the termination reason that it carries, since ReasonSince; empty: none.
	Reason      api.TerminationReason
	ReasonSince time.Time
	// AskedToGo is true when a person asked for this pod to be deleted.
	AskedToGo bool
	// HeldForDelete and HeldForUpdate are true while a lifecycle hook holds it back.
	HeldForDelete, HeldForUpdate bool
}

// Change is how a pod can get from its revision to the update revision.
type Change struct {
	// Same is true when both revisions mean the same: only the label differs.
	Same bool
	// InPlace is true when it can keep running.
	InPlace bool
	// Blocker is the field that needs the pod to be made anew; for people.
	Blocker string
}

// Growth is how far the claims of a pod are on their way to what their templates ask for.
// Of several claims it is that of the one with the most to do.
type Growth struct {
	State GrowthState
	// Claim is the name of that claim; for people.
	Claim string
	// Since is when a claim that AwaitsFileSystem began to; Anew is true when its pod was made
	// after that, so that it was mounted anew, or will be.
	Since time.Time
	Anew  bool
}

// GrowthState is a step of a claim on its way.
type GrowthState string

// The steps. A claim that is Unbound cannot be asked for more before it is bound. One that
// AwaitsFileSystem is larger, and its file system is not: its kubelet makes it so while it is
// mounted, or, with some drivers, only when it is mounted anew.
const (
	Grown            GrowthState = ""
	ToGrow           GrowthState = "ToGrow"
	Growing          GrowthState = "Growing"
	Infeasible       GrowthState = "Infeasible"
	AwaitsFileSystem GrowthState = "AwaitsFileSystem"
	Unbound          GrowthState = "Unbound"
)

// InPlace is an update in place.
type InPlace struct {
	// Revision that the pod is on its way to.
	Revision string
	// Since is when its readiness gate was set to False.
	Since time.Time
	// Patched is true when the pod has been patched to that revision; Done when it runs what
	// its spec asks for.
	Patched, Done bool
	// Unseen is true when it is not known that its kubelet has seen what it was patched to.
	Unseen bool
	// Waits is why its resize does not get on, in the words of its kubelet; empty: nothing
	// keeps it. Serves is true when a resize is all that is left, and its gate is open
	// meanwhile. Infeasible: its node can never give it what it asks for.
	Waits              string
	Serves, Infeasible bool
}

// Pull is a pod that pulls images.
type Pull struct {
	// Since is when it was made. Ended is true when the images are there, or nobody can say
	// any more that they will be.
	Since time.Time
	Ended bool
}

// Verb says what to do with a pod.
type Verb string

// The verbs. Each is one write, or one for each claim and one.
const (
	// Create makes the claims that are missing, and the pod.
	Create Verb = "Create"
	// Delete deletes the pod.
	Delete Verb = "Delete"
	// Announce writes the termination reason on a pod that is to be deleted. An empty
	// reason takes back what was announced.
	Announce Verb = "Announce"
	// CreateClaims makes the claims that a pod waits for.
	CreateClaims Verb = "CreateClaims"
	// OwnClaims gives the claims of a pod the owners that they are to have.
	OwnClaims Verb = "OwnClaims"
	// Repair puts the labels of a pod's identity right.
	Repair Verb = "Repair"
	// Relabel gives a pod the label of a revision that means the same as its own.
	Relabel Verb = "Relabel"
	// BeginInPlace sets the readiness gate to False and notes the update, or another one
	// than before; PatchInPlace changes the pod and its revision label; FinishInPlace
	// sets the gate to True and forgets the update.
	BeginInPlace  Verb = "BeginInPlace"
	PatchInPlace  Verb = "PatchInPlace"
	FinishInPlace Verb = "FinishInPlace"
	// NoteAvailable removes the mark of a pod that had not been available before.
	NoteAvailable Verb = "NoteAvailable"
	// GrowClaims asks for the claims of a pod to grow before it is updated.
	GrowClaims Verb = "GrowClaims"
	// PrePull makes a pod that pulls the images of a revision on the node of the pod.
	PrePull Verb = "PrePull"
)

// Action is something to do with one pod.
type Action struct {
	Verb    Verb
	Ordinal int32
	// UID of the pod that was judged; empty for Create.
	UID types.UID
	// Revision that the pod gets or is on its way to.
	Revision string
	// Reason is why a pod is deleted; for Delete and Announce. A pod that has ended is
	// deleted without one: nobody is left to read it.
	Reason api.TerminationReason
}

// Hold is why an ordinal is left alone that is not as it shall be.
type Hold struct {
	Ordinal int32
	// Reason is stable; Message is for people.
	Reason, Message string
}

// Status counts the pods.
type Status struct {
	Replicas, Ready, Available, Current, Updated, UpdatedReady, UpdatedAvailable int32
	// CurrentRevision is the name that status.currentRevision becomes: the update
	// revision once every pod has it.
	CurrentRevision string
}

// Progress is what is known of a roll-out; empty while none is driven (OnDelete, or
// paused), and while it is for no pod.
type Progress struct {
	// Revision that is rolled out; Since is when it last got on; Updated is the number of
	// its pods and Ready that of its Ready pods that it got to by then; Available is the
	// number of those that were available.
	Revision                  string
	Since                     time.Time
	Updated, Ready, Available int32
	// Complete is true once every pod that is to have the revision has had it and was
	// available: what happens to a pod from then on is no failure of the roll-out, unless
	// it gets to others.
	Complete bool
	// Failed is true once the deadline has passed.
	Failed bool
	// Refused is what the API server had against taking a failed roll-out back; empty: nothing.
	Refused string
}

// Decision is what to do now: all actions may be carried out in this pass, those of one
// ordinal in this order; those that follow one that fails are left out.
type Decision struct {
	Actions []Action
	Held    []Hold
	Status  Status
	// Progress and Failures are to be remembered.
	Progress Progress
	Failures []Failure
	// Complete is true when all pods have the update revision, and as far as they were
	// rolled out were available with it.
	Complete bool
	// Readiness is whether the slice is as it was asked for.
	Readiness Readiness
	// RangeWarning is what to tell of a range that is moved by more than it keeps; empty: nothing.
	RangeWarning string
	// RollBack is true when a failed roll-out is to be taken back to the current
	// revision (onFailure: Rollback).
	RollBack bool
	// Finalizer is true while the StatefulSet is to have one: when it is deleted, pods are to be
	// told, and are not all yet.
	Finalizer bool
	// Wait is when to look again though nothing has changed; 0: only on a change.
	Wait time.Duration
}
