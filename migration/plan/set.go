package plan

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Names of the StatefulSet kinds for kubectl; the second is the short name of our kind.
const (
	NativeResource = "sts"
	SliceResource  = "slice"
)

// Set holds the fields of a StatefulSet that a plan needs.
type Set struct {
	Presence        Presence
	Name            string
	UID             types.UID
	ResourceVersion string
	Start, Replicas int32
	// Observed is true when the controller has observed this generation.
	Observed bool
	// RolledOut is true when every pod has the update revision.
	RolledOut bool
	// Templates are the names of the volumeClaimTemplates, ascending.
	Templates []string
	// MinReady is spec.minReadySeconds.
	MinReady time.Duration
	// Grace is terminationGracePeriodSeconds of its pod template.
	Grace time.Duration
	// Ordered is true for podManagementPolicy OrderedReady.
	Ordered bool
	// Fence is the value of the fence annotation.
	Fence string
	// ScalesBy is the field manager that last wrote replicas or ordinals, if it is not a migration.
	ScalesBy string
	// Ours is true when this migration created it. Owner is the UID of the migration that created it; empty: none
	// did.
	Ours        bool
	Owner       types.UID
	Terminating bool
	// LeftOut is true when a user has confirmed on it that an ordinal next to its slice is left out on purpose.
	LeftOut bool
	// Resource is the resource name of its kind for kubectl.
	Resource string
	// DeletesClaims is true for persistentVolumeClaimRetentionPolicy.whenScaled: Delete.
	DeletesClaims bool
	// OwnsClaims lists the claims that it owns, ascending, as far as claims were read.
	OwnsClaims []string
	// YoungClaim names a claim of one of its ordinals that does not clearly predate the set: it was created later,
	// or less than a minute before. Empty: none, as far as claims were read. On a set that was recreated, such a
	// claim shows that an ordinal uses a new disk.
	YoungClaim string
	// Rolls describes its rollouts.
	Rolls Rolls
	// Reserves is true when a slice of our own kind skips ordinals, so that it owns some beyond its end.
	// ReservesBy is the field manager that last wrote that.
	Reserves   bool
	ReservesBy string
}

// Rolls describes the rollouts of a StatefulSet, as far as a migration can limit them.
type Rolls struct {
	// Own is true for our own kind. Its controller keeps to a share of the disruption budget, and evicts the pods
	// that it replaces while a migration drives the set.
	Own bool
	// AllAtOnce is true when it replaces all pods together. Asked is true when a user has requested the deletion
	// of a pod, which the controller performs like a rollout.
	AllAtOnce, Asked bool
	// Stays is the reason that its rollout cannot complete without an action; empty: it can.
	Stays Stays
	// Unmarked is true when it lacks the marks that tell its controller that a migration drives it.
	Unmarked bool
	// Shared is true when the set has a share: the number of its pods that may be unavailable for an available one
	// to be updated. Heeded is true when its controller has confirmed the share, or its absence.
	Shared bool
	Share  int32
	Heeded bool
}

// Stays is the reason that pods keep a former revision until a user acts; empty: a rollout reaches all of them.
type Stays string

// Reasons that pods keep a former revision.
const (
	StaysPaused    Stays = "paused"
	StaysOnDelete  Stays = "OnDelete"
	StaysPartition Stays = "partition"
	StaysFailed    Stays = "failed"
)

// SetState holds the fields of a StatefulSet that migrations write.
type SetState struct {
	Start, Replicas int32
	// Fence is the fence; empty if the set is released. Unmarked is as in Rolls. Split is true when a released set
	// leaves the application split between the sides.
	Fence           string
	Unmarked, Split bool
	// HandOver is true when the fields of a released set that runs ordinals are given to the field managers that they had
	// at the source. The migration keeps the fields of an empty one, so that an apply of its former manifest does not start
	// the ordinals twice.
	HandOver bool
	// Shared and Share are as in Rolls.
	Shared bool
	Share  int32
}

// State returns these fields of the set.
func (s Set) State() SetState {
	return SetState{Start: s.Start, Replicas: s.Replicas, Fence: s.Fence, Unmarked: s.Rolls.Unmarked, Shared: s.Rolls.Shared, Share: s.Rolls.Share}
}

// In returns the set in another state. Everything that migrations do not write stays, and so does its resourceVersion.
func (s Set) In(state SetState) Set {
	s.Start, s.Replicas, s.Fence = state.Start, state.Replicas, state.Fence
	s.Rolls.Unmarked, s.Rolls.Shared, s.Rolls.Share = state.Unmarked, state.Shared, state.Share
	return s
}

// ResourceName returns the resource name of the set's kind for kubectl.
func (s Set) ResourceName() string { return cmp.Or(s.Resource, NativeResource) }

// End returns the first ordinal above the slice.
func (s Set) End() int32 { return s.Start + s.Replicas }

// Has reports whether the slice owns an ordinal.
func (s Set) Has(ordinal int32) bool { return s.Start <= ordinal && ordinal < s.End() }

// RollsOut reports whether pods of the slice do not have its update revision yet, or their deletion was requested.
func (s Set) RollsOut() bool { return s.Replicas > 0 && (!s.RolledOut || s.Rolls.Asked) }
