package inplace

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/shell"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/drift"
)

// Snapshot is the observed state. All of it is read from the API server before a write.
type Snapshot struct {
	Now     time.Time
	Mode    api.Mode
	Kubectl shell.Kubectl
	Set     Set
	// Wanted is the set with the templates that its author wants.
	Wanted Manifest
	// Ordinals are those of the set, ascending.
	Ordinals []Ordinal
	// LowestFirst is true if the lowest ordinal gets new volumes first.
	LowestFirst bool
	// Budget is the disruption budget: how many replicas may be unavailable at once.
	Budget int
	// Evictions holds the evictions that the PodDisruptionBudget allows now; nil without one.
	Evictions *Evictions
	// Overdue is why the ordinal in flight is to return because it is down for longer than it may be; empty if it is not.
	Overdue string
	// Starts is for how long the ordinal in flight has been starting on its volumes.
	Starts time.Duration
	// Margin is the percentage of a smaller volume that is to be free with the data in it.
	Margin int64
	// Deadline is how long a driver may take to change a volume before the migration stalls; 0 if that is not limited.
	Deadline time.Duration
	Record   Record
}

// Set holds the facts of a StatefulSet.
type Set struct {
	Found           bool
	Namespace, Name string
	UID             types.UID
	ResourceVersion string
	// Start and Replicas are its range of ordinals.
	Start, Replicas int32
	Terminating     bool
	// RolledOut is true if its controller has observed it, and no rollout is in progress.
	RolledOut bool
	// Owner is its controller, such as an operator; empty if it has none. Operator holds what is known about that.
	Owner    string
	Operator Operator
	// Updates is true if its templates change by an update of the set. Otherwise it is recreated.
	Updates bool
	// Locked is why its templates cannot change now, and Unlock the command after which they can; empty if they can.
	Locked, Unlock string
	// Keeps are the finalizers of others, which keep it when it is deleted.
	Keeps []string
	// DeletesClaims is true if its retention policy deletes claims together with the set.
	DeletesClaims bool
	Manifest      Manifest
	// Poked is the value of the annotation by which it was poked last.
	Poked Poke
}

// Operator is the owner of a set, as far as it decides about the storage.
type Operator struct {
	// Field is the field of its resource in which it reads the storage. It is empty if no way is known in which it accepts
	// claim templates that another writer has changed.
	Field string
	// Paused is true if its documented setting pauses it.
	Paused bool
	// Way is the command that pauses it, or its own way to change the storage.
	Way string
}

// Refusal returns why the kind or the owner of a set forbids the change of its claim templates; nil if they do not. title
// names the set.
func (s Set) Refusal(title string) *volumes.Reason {
	switch {
	case s.Locked != "":
		return volumes.Stalled(api.ReasonKindUnsupported, title+" keeps its claim templates: "+s.Locked, s.Unlock)
	case s.Owner == "" || s.Operator.Field != "" && s.Operator.Paused:
		return nil
	case s.Operator.Field != "":
		return volumes.Stalled(api.ReasonOwnedByOperator, title+" is controlled by "+s.Owner+", which is not paused, and writes its claim templates", s.Operator.Way)
	default:
		return volumes.Stalled(api.ReasonOwnedByOperator, title+" is controlled by "+s.Owner+", which writes its claim templates", s.Operator.Way)
	}
}

// Kept returns why the set cannot be recreated: other finalizers keep a set that is deleted, and its controller creates no
// pod for it any more. nil if it can.
func (s Set) Kept(title string) *volumes.Reason {
	if s.Updates || len(s.Keeps) == 0 {
		return nil
	}
	return volumes.Stalled(volumes.ReasonForeignFinalizer, fmt.Sprintf("%s has finalizers (%s) that would keep it when it is deleted to be recreated: no failed pod of it would be replaced meanwhile", title, strings.Join(s.Keeps, ", ")),
		"let the controllers of these finalizers remove them until the change is completed")
}

// Poke is a write on the set that makes its controller reconcile it. For is the claim whose end was waited for.
type Poke struct {
	For types.UID
	At  time.Time
}

// Manifest is a StatefulSet as it can be created. Text is its JSON, without status and server-set metadata.
type Manifest struct {
	Text      string
	Templates []Template
}

// Equals reports whether two manifests have the same claim templates.
func (m Manifest) Equals(other Manifest) bool { return slices.Equal(m.Templates, other.Templates) }

// Template holds the fields of a claim template that decide about its volume. Class is the effective class.
type Template struct {
	Name, Class string
	// Size is the request in bytes.
	Size       int64
	Block      bool
	Attributes string
	// Modes are the access modes, in alphabetical order and joined by +.
	Modes string
}

// Evictions holds what the PodDisruptionBudget of the pods allows now, by the rules of the eviction API.
type Evictions struct {
	// Allowed is how many pods may be evicted. Unhealthy is true if a pod that is not Ready may be evicted in any case, and
	// Unlock is the command that allows that.
	Allowed   int32
	Unhealthy bool
	Unlock    string
	// Never is why the API evicts none of the pods; nil if it may.
	Never *volumes.Reason
}

// Ordinal is a replica, with its claims.
type Ordinal struct {
	Ordinal int32
	Pod     Pod
	Slots   []Slot
}

// Pod holds the facts of the ordinal's pod.
type Pod struct {
	Found       bool
	UID         types.UID
	Terminating bool
	// Ready is its condition, and Available is true once it has been Ready for minReadySeconds.
	Ready, Available bool
	// Pending is its phase before its first container has started.
	Pending bool
	// Node is empty while the pod is not scheduled. A pod without a node has mounted nothing.
	Node string
	// Created is when it was created.
	Created time.Time
}

// Slot is the claim of an ordinal from one template.
type Slot struct {
	Template string
	// Ref names the claim.
	Ref   volumes.Ref
	Claim Claim
	// Old is the volume from which the new one is filled, and New that one. They are the recorded ones; before they are
	// recorded, Old is the claim's volume, and New that of the filler.
	Old, New Volume
	// Needs and Returns are the work by which the claim gets the wanted template and the former one. Why is the reason of
	// Needs.
	Needs, Returns drift.Need
	Why            string
	// Keeps is true if the method of the template keeps the volume: the claim cannot get a new one.
	Keeps bool
	// Asks is the request of the claim to its volume, and Change the part of it that the driver has not done yet.
	Asks   Request
	Change drift.Change
	// Used is the number of bytes that the data need, as the last warm pass has found; 0 if it is not known.
	Used int64
	// Seal is the proof that New equals Old since Old was taken from the ordinal; empty if there is none.
	Seal string
}

// Request is the part of a claim that may change while pods use it. Size is in bytes.
type Request struct {
	Size       int64
	Attributes string
}

// Claim holds the facts of a claim of the ordinal's name.
type Claim struct {
	Found           bool
	UID             types.UID
	ResourceVersion string
	// Volume is spec.volumeName. Bound is true if claim and volume name each other.
	Volume string
	Bound  bool
	// Held is true if it has our finalizer, and Ours if this migration created it.
	Held, Terminating, Ours bool
	// Kept is true if another finalizer keeps it while it is Terminating, such as that of a pod that names it.
	Kept bool
	// Stays is why it would stay after its deletion: a finalizer of another writer; nil if it would not, or is Terminating.
	Stays *volumes.Reason
	// Owned is true if it has an owner with which it would be deleted.
	Owned bool
	// Users are the pods that name it, except the ordinal's and those of the filler.
	Users []string
}

// Volume holds the facts of a PersistentVolume.
type Volume struct {
	Found           bool
	Name            string
	UID             types.UID
	ResourceVersion string
	Retain          bool
	// Secured is true if this migration has set it to Retain, and its author had another policy.
	Secured bool
	Ref     volumes.Ref
	// Available is true if the volume controller has seen that it is not bound.
	Available bool
	// Departing is why its claimRef must not change: its object was deleted, and exists only while it is bound. nil if it
	// was not deleted.
	Departing *volumes.Reason
	// Attached is a node to which it is attached; empty if there is none.
	Attached string
	// Size is its capacity in bytes. Block, Attributes and Modes are as in Template.
	Size       int64
	Block      bool
	Attributes string
	Modes      string
}

// fits reports whether the binder accepts the reserved volume for a claim of a template (kubernetes component-helpers,
// FindMatchingVolume). The class does not count, and a volume that was deleted is ignored.
func (v Volume) fits(t Template) bool {
	return v.Departing == nil && v.Size >= t.Size && v.Block == t.Block && v.Attributes == t.Attributes && v.allows(t.Modes)
}

// allows reports whether the volume has all of these access modes.
func (v Volume) allows(modes string) bool {
	has := strings.Split(v.Modes, "+")
	for mode := range strings.SplitSeq(modes, "+") {
		if !slices.Contains(has, mode) {
			return false
		}
	}
	return true
}

// reservedFor reports whether the volume is reserved for the next claim of a name.
func (v Volume) reservedFor(ref volumes.Ref) bool { return v.Ref.Names(ref) && v.Ref.UID == "" }

// Record is the part of the position that cannot be observed again.
type Record struct {
	// Former is the set before its first recreation.
	Former Manifest
	// Replace is the recreation in progress.
	Replace *Replace
	// Reached is the mode whose templates the set has had, or was recreated with, and Written are these. Only another writer
	// can change them after that, or the author of the migration.
	Reached api.Mode
	Written []Template
	Handoff *Handoff
	// Back is why the last ordinal returned to its old volumes, and BackIn the mode at that time. They are empty if none
	// did, or if its user has set another mode since.
	Back   string
	BackIn api.Mode
}

// Replace is a recreation of the set.
type Replace struct {
	// UID is that of the set that is deleted, and Next the set that is created.
	UID  types.UID
	Next Manifest
}

// Handoff is the ordinal whose volumes are being replaced. Without slots its pod is restarted, so that its node grows a file
// system.
type Handoff struct {
	Ordinal int32
	// Return is true if its new volumes have the former templates.
	Return bool
	Slots  []Handed
	// Sealed is true if all new volumes equal the old ones, and the ordinal goes on with them.
	Sealed bool
	// Turned is true if the ordinal returns to its old volumes, and Why is the reason.
	Turned bool
	Why    string
}

// Handed is a claim of that ordinal at the beginning of the handoff.
type Handed struct {
	Template string
	Claim    types.UID
	Old      string
	// New is the volume that replaces Old, and Seal its proof. They are recorded together.
	New, Seal string
}

func (r Record) clone() Record {
	if r.Replace != nil {
		r.Replace = new(*r.Replace)
	}
	if r.Handoff != nil {
		h := *r.Handoff
		h.Slots = slices.Clone(h.Slots)
		r.Handoff = &h
	}
	return r
}
