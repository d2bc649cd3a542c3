package plantest

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/pdb"
	"github.com/sliceshift/sliceshift/volumes"
)

// Parted returns a state of the migration "m" in its epoch 2. The application has ordinals 1 to 4 and a
// disruption budget of 2. The two requested ordinals have moved: the source has 1 and 2, and the destination
// has 3 and 4 on the disks that were carried over.
func Parted(change func(*plan.Snapshot)) plan.Snapshot {
	most := intstr.FromInt32(2)
	s := plan.Snapshot{
		Now: Epoch, Migration: types.NamespacedName{Namespace: "shop", Name: "move"}, UID: "m", Holder: "a", Engaged: true,
		Spec: plan.Spec{Mode: api.ModeRun, Order: api.HighestFirst, Count: 2, Deadline: time.Hour},
		Source: plan.Side{
			Cluster: "east", ClusterID: "e", Namespace: "shop", NamespaceFound: true, Reach: plan.Seen, Service: plan.Dependent{Needed: true, Found: true, Name: "web"},
			Set: plan.Set{Presence: plan.Seen, Name: "web", UID: "s", ResourceVersion: "@1", Observed: true, RolledOut: true, Fence: "m.2", Templates: []string{"data"}},
		},
		Destination: plan.Side{
			Cluster: "west", ClusterID: "w", Namespace: "shop", NamespaceFound: true, Reach: plan.Seen, Service: plan.Dependent{Needed: true, Found: true, Name: "web"},
			Set: plan.Set{
				Presence: plan.Seen, Name: "web", UID: "d", ResourceVersion: "@2", Observed: true, RolledOut: true, Fence: "m.2", Templates: []string{"data"}, Ours: true,
			},
		},
		Record: plan.Record{Accepted: true, Fence: &api.Fence{Epoch: 2, Holder: "a", Direction: api.Forward}, Baseline: &api.Baseline{
			Start: 1, Replicas: 4, Budget: 2, DisruptionBudget: &api.DisruptionBudget{Name: "web", MaxUnavailable: &most},
			SourceUID: "s", DestinationUID: "d", SourceCluster: "e", DestinationCluster: "w",
		}},
	}
	Divide(&s, 3)
	if change != nil {
		change(&s)
	}
	return s
}

// Divide assigns the ordinals below first to the source and the others to the destination. Each side has its
// available pods, its share of the budget and the volumes of its ordinals.
func Divide(s *plan.Snapshot, first int32) {
	s.Source.Set.Start, s.Source.Set.Replicas = 1, first-1
	s.Destination.Set.Start, s.Destination.Set.Replicas = first, 5-first
	s.Source.Pods, s.Destination.Pods, s.Volumes = nil, nil, nil
	for k := int32(1); k < 5; k++ {
		pod := plan.Pod{Ordinal: k, Ready: true, ReadySince: Epoch.Add(-time.Hour), Owned: true}
		if k < first {
			s.Source.Pods, s.Volumes = append(s.Source.Pods, pod), append(s.Volumes, Stayed(k))
		} else {
			s.Destination.Pods, s.Volumes = append(s.Destination.Pods, pod), append(s.Volumes, CarriedOver(k))
		}
	}
	share := pdb.Split(2, 0, pdb.Share{Source: first - 1, Destination: 5 - first})
	s.Source.Budgets, s.Destination.Budgets = SharedOut("sb", share.Source), SharedOut("db", share.Destination)
	s.Destination.Budgets[0].Ours = true
}

// SharedOut returns a budget that the migration has written in its current epoch.
func SharedOut(uid types.UID, allows int32) []plan.Budget {
	return []plan.Budget{{Name: "web", UID: uid, ResourceVersion: "@3", Form: pdb.Unavailable(allows), Observed: true, Fence: "m.2"}}
}

// AuthorsOwn restores a budget to the form that its author wrote.
func AuthorsOwn(b *plan.Budget) { b.Form, b.Fence = pdb.Unavailable(2), "" }

// BoundAt returns a side's claim of an ordinal, bound to the volume of its disk. side is the first letter of
// its UIDs, s or d.
func BoundAt(side string, k int32) volumes.Holding {
	ref := volumes.Ref{Namespace: "shop", Name: fmt.Sprintf("data-web-%d", k)}
	uid, name := types.UID(fmt.Sprintf("%sc-%d", side, k)), fmt.Sprintf("pv-%d", k)
	return volumes.Holding{
		Ref:   ref,
		Claim: volumes.Claim{Found: true, UID: uid, ResourceVersion: "@5", Phase: corev1.ClaimBound, Volume: name, Ours: side == "d"},
		Volume: volumes.Volume{
			Found: true, Name: name, UID: types.UID(fmt.Sprintf("%sv-%d", side, k)), ResourceVersion: "@6", Phase: corev1.VolumeBound,
			Policy: corev1.PersistentVolumeReclaimDelete, ClaimRef: volumes.Ref{Namespace: "shop", Name: ref.Name, UID: uid},
			Handle: fmt.Sprintf("disk-%d", k), Ours: side == "d",
		},
	}
}

// ParkedAt returns the claim and volume that remain on a side that an ordinal has left: a claim that has lost
// its volume, and that volume, parked.
func ParkedAt(side string, k int32) volumes.Holding {
	h := ToRetain(BoundAt(side, k))
	h.Claim.Phase, h.Volume.ClaimRef = corev1.ClaimLost, volumes.Parked(h.Ref)
	return h
}

// ToRetain returns a claim whose volume the migration has set to Retain.
func ToRetain(h volumes.Holding) volumes.Holding {
	h.Volume.Policy, h.Volume.Fence = corev1.PersistentVolumeReclaimRetain, "m.2"
	h.Volume.Note = volumes.Note{Policy: corev1.PersistentVolumeReclaimDelete, By: "m"}
	return h
}

// NothingOf returns a side without a claim or volume of an ordinal.
func NothingOf(k int32) volumes.Holding {
	return volumes.Holding{Ref: volumes.Ref{Namespace: "shop", Name: fmt.Sprintf("data-web-%d", k)}}
}

// Stayed returns the volume of an ordinal that has never left the source.
func Stayed(k int32) plan.OrdinalVolume {
	return plan.OrdinalVolume{Ordinal: k, Template: "data", Source: BoundAt("s", k), Destination: NothingOf(k)}
}

// CarriedOver returns the volume of an ordinal that has moved to the destination.
func CarriedOver(k int32) plan.OrdinalVolume {
	return plan.OrdinalVolume{Ordinal: k, Template: "data", Source: ParkedAt("s", k), Destination: ToRetain(BoundAt("d", k))}
}

// Returned returns the volume of an ordinal that has moved to the destination and back.
func Returned(k int32) plan.OrdinalVolume {
	return plan.OrdinalVolume{Ordinal: k, Template: "data", Source: ToRetain(BoundAt("s", k)), Destination: ParkedAt("d", k)}
}

// AllMoved assigns all ordinals to the destination.
func AllMoved(s *plan.Snapshot) { s.Spec.Count = 0; Divide(s, 1) }

// AllBack assigns all ordinals to the source again, in a rollback; 3 and 4 have been at the destination.
func AllBack(s *plan.Snapshot) {
	Divide(s, 5)
	s.Volumes = []plan.OrdinalVolume{Stayed(1), Stayed(2), Returned(3), Returned(4)}
	s.Spec.Mode, s.Record.Fence.Direction = api.ModeRollback, api.Back
}

// InTurn combines several changes into one, in their order; nil changes nothing.
func InTurn(changes ...func(*plan.Snapshot)) func(*plan.Snapshot) {
	return func(s *plan.Snapshot) {
		for _, change := range changes {
			if change != nil {
				change(s)
			}
		}
	}
}
