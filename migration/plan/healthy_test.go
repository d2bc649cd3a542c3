package plan

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/pdb"
	"github.com/sliceshift/sliceshift/volumes"
)

// epoch is now, and began when migrations under way began.
var (
	epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	began = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
)

// healthy is an application at the source, before its migration, and the empty destination that its
// user has made. Each replica has a claim of each template.
func healthy(start, replicas int32, budget *pdb.Form, templates ...string) Snapshot {
	s := Snapshot{
		Now: epoch, Migration: types.NamespacedName{Namespace: "shop", Name: "web"}, UID: "migration", Holder: "a",
		Spec:        Spec{Mode: api.ModeRun, Order: api.HighestFirst, Deadline: 10 * time.Minute},
		Source:      Side{Cluster: "east", ClusterID: "cluster-east", Set: Set{UID: "source-set", Start: start, Replicas: replicas}},
		Destination: Side{Cluster: "west", ClusterID: "cluster-west", Set: Set{UID: "prepared-set"}},
	}
	for _, side := range []*Side{&s.Source, &s.Destination} {
		side.Namespace, side.NamespaceFound, side.Reach, side.Service.Name = "shop", true, Seen, "web"
		set := &side.Set
		set.Presence, set.Name, set.ResourceVersion, set.Observed, set.RolledOut, set.Templates = Seen, "web", "1", true, true, templates
		if budget != nil {
			side.Budgets = []Budget{{Name: "web", UID: set.UID + "-budget", ResourceVersion: "1", Form: *budget, Observed: true}}
		}
	}
	for k := start; k < start+replicas; k++ {
		s.Source.Pods = append(s.Source.Pods, Pod{Ordinal: k, UID: types.UID(PodName("pod", k)), Ready: true, ReadySince: epoch.Add(-time.Hour), Owned: true, Node: string(SourceSide)})
		for _, template := range templates {
			s.Volumes = append(s.Volumes, atSource(k, template))
		}
	}
	return s
}

// atSource is a claim of an ordinal that is bound to its volume, and the place for it at the destination.
func atSource(ordinal int32, template string) OrdinalVolume {
	ref := volumes.Ref{Namespace: "shop", Name: ClaimName(template, "web", ordinal)}
	v := OrdinalVolume{Ordinal: ordinal, Template: template, Source: volumes.Holding{Ref: ref}, Destination: volumes.Holding{Ref: ref}}
	v.Source.Claim = volumes.Claim{Found: true, UID: types.UID("claim-" + ref.Name), ResourceVersion: "1", Phase: corev1.ClaimBound, Volume: "pv-" + ref.Name}
	ref.UID = v.Source.Claim.UID
	v.Source.Volume = volumes.Volume{
		Found: true, Name: "pv-" + ref.Name, UID: types.UID("pv-" + ref.Name), ResourceVersion: "1", ClaimRef: ref,
		Policy: corev1.PersistentVolumeReclaimDelete, Phase: corev1.VolumeBound, Handle: "disk-" + ref.Name,
	}
	return v
}
