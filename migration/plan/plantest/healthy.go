package plantest

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/pdb"
	"github.com/sliceshift/sliceshift/pdb/pdbtest"
	"github.com/sliceshift/sliceshift/volumes"
)

// Healthy returns an application at the source before its migration, and the empty destination that its user
// has created. Each replica has a claim of each template.
func Healthy(start, replicas int32, budget *pdb.Form, templates ...string) plan.Snapshot {
	s := plan.Snapshot{
		Now: Epoch, Migration: types.NamespacedName{Namespace: "shop", Name: "web"}, UID: "migration", Holder: "a",
		Spec:        plan.Spec{Mode: api.ModeRun, Order: api.HighestFirst, Deadline: 10 * time.Minute},
		Source:      plan.Side{Cluster: "east", ClusterID: "cluster-east", Set: plan.Set{UID: "source-set", Start: start, Replicas: replicas}},
		Destination: plan.Side{Cluster: "west", ClusterID: "cluster-west", Set: plan.Set{UID: "prepared-set"}},
	}
	for _, side := range []*plan.Side{&s.Source, &s.Destination} {
		side.Namespace, side.NamespaceFound, side.Reach, side.Service.Name = "shop", true, plan.Seen, "web"
		set := &side.Set
		set.Presence, set.Name, set.ResourceVersion, set.Observed, set.RolledOut, set.Templates = plan.Seen, "web", "1", true, true, templates
		if budget != nil {
			side.Budgets = []plan.Budget{{Name: "web", UID: set.UID + "-budget", ResourceVersion: "1", Form: *budget, Observed: true}}
		}
	}
	for k := start; k < start+replicas; k++ {
		s.Source.Pods = append(s.Source.Pods, plan.Pod{Ordinal: k, UID: types.UID(plan.PodName("pod", k)), Ready: true, ReadySince: Epoch.Add(-time.Hour), Owned: true, Node: string(plan.SourceSide)})
		for _, template := range templates {
			s.Volumes = append(s.Volumes, AtSource(k, template))
		}
	}
	return s
}

// AtSource returns a claim of an ordinal that is bound to its volume, and the place for it at the destination.
func AtSource(ordinal int32, template string) plan.OrdinalVolume {
	ref := volumes.Ref{Namespace: "shop", Name: plan.ClaimName(template, "web", ordinal)}
	v := plan.OrdinalVolume{Ordinal: ordinal, Template: template, Source: volumes.Holding{Ref: ref}, Destination: volumes.Holding{Ref: ref}}
	v.Source.Claim = volumes.Claim{Found: true, UID: types.UID("claim-" + ref.Name), ResourceVersion: "1", Phase: corev1.ClaimBound, Volume: "pv-" + ref.Name}
	ref.UID = v.Source.Claim.UID
	v.Source.Volume = volumes.Volume{
		Found: true, Name: "pv-" + ref.Name, UID: types.UID("pv-" + ref.Name), ResourceVersion: "1", ClaimRef: ref,
		Policy: corev1.PersistentVolumeReclaimDelete, Phase: corev1.VolumeBound, Handle: "disk-" + ref.Name,
	}
	return v
}

// Unmoved returns an application of three replicas at the source before its migration. Each replica has a
// claim, one may be unavailable, and the user has created the empty destination.
func Unmoved() plan.Snapshot {
	return Healthy(0, 3, pdbtest.MaxUnavailable(1), "data")
}

// ReasonsOf returns the reasons of findings, in their order.
func ReasonsOf(findings []plan.Finding) []string {
	var reasons []string
	for _, finding := range findings {
		reason := finding.Reason
		if finding.Warning {
			reason = "warning: " + reason
		}
		reasons = append(reasons, reason)
	}
	return reasons
}

// HandOn moves the source's highest ordinal to the destination, as a migration leaves it.
func HandOn(s *plan.Snapshot, ordinal int32) {
	set, taker := &s.Source.Set, &s.Destination.Set
	set.Replicas--
	*taker = plan.Set{
		Presence: plan.Seen, Name: taker.Name, UID: taker.UID, ResourceVersion: taker.ResourceVersion, Start: ordinal, Replicas: taker.Replicas + 1,
		Observed: true, RolledOut: true, Templates: taker.Templates, Fence: taker.Fence,
	}
	pod, _ := s.Source.Pod(ordinal)
	s.Source.RemovePod(ordinal)
	s.Destination.SetPod(pod)
	for i := range s.Volumes {
		if v := &s.Volumes[i]; v.Ordinal == ordinal {
			CarryOver(v, s.UID)
		}
	}
}

// CarryOver parks the source's volume of an ordinal, and binds the destination's volume to its claim there.
func CarryOver(v *plan.OrdinalVolume, by types.UID) {
	from, to := &v.Source, &v.Destination
	to.Claim, to.Volume = from.Claim, from.Volume
	to.Claim.Ours, to.Volume.Ours = true, true
	to.Volume.ClaimRef = volumes.Ref{Namespace: to.Ref.Namespace, Name: to.Ref.Name, UID: to.Claim.UID}
	for _, volume := range []*volumes.Volume{&from.Volume, &to.Volume} {
		volume.Note, volume.Policy = volumes.Note{Policy: volume.Policy, By: by}, "Retain"
	}
	from.Volume.ClaimRef = volumes.Parked(from.Ref)
	from.Claim.Phase = "Lost"
}

// OfRange returns a slice of a number of ordinals that begins at start.
func OfRange(start, replicas int32) plan.Set {
	return plan.Set{Presence: plan.Seen, Name: "web", Start: start, Replicas: replicas, Observed: true, RolledOut: true}
}

// SlicesOf returns two observed slices by their starts and replicas.
func SlicesOf(source, replicas, destination, others int32) plan.Snapshot {
	return plan.Snapshot{
		Source:      plan.Side{Set: plan.Set{Presence: plan.Seen, UID: "s", Start: source, Replicas: replicas}},
		Destination: plan.Side{Set: plan.Set{Presence: plan.Seen, UID: "d", Start: destination, Replicas: others}},
	}
}
