package migration

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/pdb"
	"github.com/sliceshift/sliceshift/volumes"
)

// scenario describes the world that a test begins with.
type scenario struct {
	replicas, start int32
	templates       []string
	budget          *pdb.Form
	spec            Spec
	ordered         bool
}

// build returns the snapshot of a healthy application at the source.
func (c scenario) build() Snapshot {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	if c.spec.Mode == "" {
		c.spec.Mode = api.ModeRun
	}
	if c.spec.Order == "" {
		c.spec.Order = api.HighestFirst
	}
	if c.spec.Deadline == 0 {
		c.spec.Deadline = 10 * time.Minute
	}
	s := Snapshot{
		Now: now, UID: "migration", Holder: "a", Spec: c.spec,
		Source: Side{
			Cluster: "east", Namespace: "shop", Reach: Seen, NamespaceFound: true,
			Set: Set{
				Presence: Seen, Name: "web", UID: "source-set", ResourceVersion: "1", Start: c.start, Replicas: c.replicas,
				Observed: true, RolledOut: true, Ordered: c.ordered, Templates: c.templates,
			},
		},
		Destination: Side{
			Cluster: "west", Namespace: "shop", Reach: Seen, NamespaceFound: true,
			Set: Set{Presence: Absent, Name: "web"},
		},
	}
	if c.spec.SameCluster {
		s.Destination.Cluster, s.Destination.Namespace = "east", "team"
	}
	if c.budget != nil {
		s.Source.Budgets = []Budget{{Name: "web", UID: "pdb", ResourceVersion: "1", Form: *c.budget, Observed: true}}
	}
	for ordinal := c.start; ordinal < c.start+c.replicas; ordinal++ {
		s.Source.Pods = append(s.Source.Pods, Pod{Ordinal: ordinal, UID: types.UID(fmt.Sprintf("pod-%d", ordinal)), Ready: true, ReadySince: now.Add(-time.Hour), Owned: true})
		for _, template := range c.templates {
			s.Volumes = append(s.Volumes, boundVolume(s, ordinal, template))
		}
	}
	return s
}

func boundVolume(s Snapshot, ordinal int32, template string) OrdinalVolume {
	claim := fmt.Sprintf("%s-web-%d", template, ordinal)
	name := "pv-" + claim
	v := OrdinalVolume{Ordinal: ordinal, Template: template}
	v.Source.Ref = volumes.Ref{Namespace: s.Source.Namespace, Name: claim}
	v.Destination.Ref = volumes.Ref{Namespace: s.Destination.Namespace, Name: claim}
	v.Source.Claim = volumes.Claim{Found: true, UID: types.UID("claim-" + claim), ResourceVersion: "1", Phase: corev1.ClaimBound, Volume: name}
	v.Source.Volume = volumes.Volume{
		Found: true, Name: name, UID: types.UID(name), ResourceVersion: "1", Policy: corev1.PersistentVolumeReclaimDelete,
		ClaimRef: volumes.Ref{Namespace: s.Source.Namespace, Name: claim, UID: v.Source.Claim.UID}, Handle: "disk-" + claim,
	}
	if s.Spec.SameCluster {
		v.Destination.Volume = v.Source.Volume
	}
	return v
}
