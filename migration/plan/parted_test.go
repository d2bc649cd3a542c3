package plan

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/pdb"
	"github.com/sliceshift/sliceshift/volumes"
)

// parted is a planner of the migration "m", in its epoch 2: the application has ordinals 1 to 4 and a
// disruption budget of 2. Two ordinals were to move, and have: the source has 1 and 2, and the
// destination 3 and 4, on the disks that were carried over.
func parted(change func(*Snapshot)) *planners {
	most := intstr.FromInt32(2)
	s := Snapshot{
		Now: epoch, Migration: types.NamespacedName{Namespace: "shop", Name: "move"}, UID: "m", Holder: "a", Engaged: true,
		Spec: Spec{Mode: api.ModeRun, Order: api.HighestFirst, Count: 2, Deadline: time.Hour},
		Source: Side{
			Cluster: "east", ClusterID: "e", Namespace: "shop", NamespaceFound: true, Reach: Seen, Service: Dependent{Needed: true, Found: true, Name: "web"},
			Set: Set{Presence: Seen, Name: "web", UID: "s", ResourceVersion: "@1", Observed: true, RolledOut: true, Fence: "m.2", Templates: []string{"data"}},
		},
		Destination: Side{
			Cluster: "west", ClusterID: "w", Namespace: "shop", NamespaceFound: true, Reach: Seen, Service: Dependent{Needed: true, Found: true, Name: "web"},
			Set: Set{
				Presence: Seen, Name: "web", UID: "d", ResourceVersion: "@2", Observed: true, RolledOut: true, Fence: "m.2", Templates: []string{"data"}, Ours: true,
			},
		},
		Record: Record{Accepted: true, Fence: &api.Fence{Epoch: 2, Holder: "a", Direction: api.Forward}, Baseline: &api.Baseline{
			Start: 1, Replicas: 4, Budget: 2, DisruptionBudget: &api.DisruptionBudget{Name: "web", MaxUnavailable: &most},
			SourceUID: "s", DestinationUID: "d", SourceCluster: "e", DestinationCluster: "w",
		}},
	}
	divide(&s, 3)
	if change != nil {
		change(&s)
	}
	return newPlanner(s)
}

// divide gives the ordinals below the first one of the destination to the source and the others to the
// destination, each with its available pods, its share of the budget and the volumes of its ordinals.
func divide(s *Snapshot, first int32) {
	s.Source.Set.Start, s.Source.Set.Replicas = 1, first-1
	s.Destination.Set.Start, s.Destination.Set.Replicas = first, 5-first
	s.Source.Pods, s.Destination.Pods, s.Volumes = nil, nil, nil
	for k := int32(1); k < 5; k++ {
		pod := Pod{Ordinal: k, Ready: true, ReadySince: epoch.Add(-time.Hour), Owned: true}
		if k < first {
			s.Source.Pods, s.Volumes = append(s.Source.Pods, pod), append(s.Volumes, stayed(k))
		} else {
			s.Destination.Pods, s.Volumes = append(s.Destination.Pods, pod), append(s.Volumes, carriedOver(k))
		}
	}
	share := pdb.Split(2, 0, pdb.Share{Source: first - 1, Destination: 5 - first})
	s.Source.Budgets, s.Destination.Budgets = sharedOut("sb", share.Source), sharedOut("db", share.Destination)
	s.Destination.Budgets[0].Ours = true
}

// sharedOut is a budget that the migration has written in its present epoch.
func sharedOut(uid types.UID, allows int32) []Budget {
	return []Budget{{Name: "web", UID: uid, ResourceVersion: "@3", Form: pdb.Unavailable(allows), Observed: true, Fence: "m.2"}}
}

// authorsOwn makes a budget the one that its author wrote.
func authorsOwn(b *Budget) { b.Form, b.Fence = pdb.Unavailable(2), "" }

// boundAt is a side's claim of an ordinal, bound to the volume of its disk; it is of the side whose letter
// its UIDs begin with, s or d.
func boundAt(side string, k int32) volumes.Holding {
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

// parkedAt is what is left of an ordinal on a side that has given it: a claim that has lost its volume, and
// that volume, parked.
func parkedAt(side string, k int32) volumes.Holding {
	h := toRetain(boundAt(side, k))
	h.Claim.Phase, h.Volume.ClaimRef = corev1.ClaimLost, volumes.Parked(h.Ref)
	return h
}

// toRetain is a claim whose volume the migration has set to Retain.
func toRetain(h volumes.Holding) volumes.Holding {
	h.Volume.Policy, h.Volume.Fence = corev1.PersistentVolumeReclaimRetain, "m.2"
	h.Volume.Note = volumes.Note{Policy: corev1.PersistentVolumeReclaimDelete, By: "m"}
	return h
}

// nothingOf is a side that has nothing of an ordinal.
func nothingOf(k int32) volumes.Holding {
	return volumes.Holding{Ref: volumes.Ref{Namespace: "shop", Name: fmt.Sprintf("data-web-%d", k)}}
}

// stayed is the volume of an ordinal that has never left the source.
func stayed(k int32) OrdinalVolume {
	return OrdinalVolume{Ordinal: k, Template: "data", Source: boundAt("s", k), Destination: nothingOf(k)}
}

// carriedOver is the volume of an ordinal that has moved to the destination.
func carriedOver(k int32) OrdinalVolume {
	return OrdinalVolume{Ordinal: k, Template: "data", Source: parkedAt("s", k), Destination: toRetain(boundAt("d", k))}
}

// returned is the volume of an ordinal that has moved to the destination and back.
func returned(k int32) OrdinalVolume {
	return OrdinalVolume{Ordinal: k, Template: "data", Source: toRetain(boundAt("s", k)), Destination: parkedAt("d", k)}
}

// allMoved lets the destination have all ordinals.
func allMoved(s *Snapshot) { s.Spec.Count = 0; divide(s, 1) }

// allBack lets the source have all ordinals again, in a rollback; 3 and 4 have been at the destination.
func allBack(s *Snapshot) {
	divide(s, 5)
	s.Volumes = []OrdinalVolume{stayed(1), stayed(2), returned(3), returned(4)}
	s.Spec.Mode, s.Record.Fence.Direction = api.ModeRollback, api.Back
}

// inTurn makes one change of several, one after the other; nil changes nothing.
func inTurn(changes ...func(*Snapshot)) func(*Snapshot) {
	return func(s *Snapshot) {
		for _, change := range changes {
			if change != nil {
				change(s)
			}
		}
	}
}
