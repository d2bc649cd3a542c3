package plan

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// How kubectl calls the kinds of StatefulSet; the second is the short name of ours.
const (
	NativeResource = "sts"
	SliceResource  = "slice"
)

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
	// Grace is terminationGracePeriodSeconds of its pod template.
	Grace time.Duration
	// Ordered is true for podManagementPolicy OrderedReady.
	Ordered bool
	// Fence is the value of the fence annotation.
	Fence string
	// ScalesBy is who wrote replicas or ordinals last, when it was not a migration.
	ScalesBy string
	// Ours is true when this migration created it, and Owner is the UID of the migration that did; empty: none did.
	Ours        bool
	Owner       types.UID
	Terminating bool
	// LeftOut is true when a person has said of it that an ordinal beside its slice is left out on purpose.
	LeftOut bool
	// Resource is how kubectl calls its kind.
	Resource string
	// DeletesClaims is true for persistentVolumeClaimRetentionPolicy.whenScaled: Delete.
	DeletesClaims bool
	// OwnsClaims are the claims that it owns, ascending, as far as claims were read.
	OwnsClaims []string
	// YoungClaim names a claim of one of its ordinals that was made when it was, or since; empty: there is none, as far as
	// claims were read. Of one that was made again they show that an ordinal is on a new disk.
	YoungClaim string
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
	// Stays is why its roll-out cannot end by itself; empty: it can.
	Stays Stays
	// Unmarked is true when it lacks the marks by which its controller hears that a migration drives it.
	Unmarked bool
	// Shared is true when the set has been given a share: how many of its pods may be
	// unavailable for an available one to be updated. Heeded is true when its controller
	// has confirmed that, or that there is none.
	Shared bool
	Share  int32
	Heeded bool
}

// Stays is why pods keep a former revision until somebody does something about it; empty: a roll-out gets to all of them.
type Stays string

// Why they do.
const (
	StaysPaused    Stays = "paused"
	StaysOnDelete  Stays = "OnDelete"
	StaysPartition Stays = "partition"
)

// ResourceName is how kubectl calls the set's kind.
func (s Set) ResourceName() string { return cmp.Or(s.Resource, NativeResource) }

// End is the first ordinal above the slice.
func (s Set) End() int32 { return s.Start + s.Replicas }

// Has says whether the slice owns an ordinal.
func (s Set) Has(ordinal int32) bool { return s.Start <= ordinal && ordinal < s.End() }

// RollsOut says whether pods of the slice have yet to get its update revision, or are asked
// to go.
func (s Set) RollsOut() bool { return s.Replicas > 0 && (!s.RolledOut || s.Rolls.Asked) }
