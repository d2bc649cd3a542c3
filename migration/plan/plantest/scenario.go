// Package plantest provides the snapshots with which tests of a migration begin.
package plantest

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/pdb"
	"github.com/sliceshift/sliceshift/volumes"
)

// Scenario describes the initial state of a test.
type Scenario struct {
	// Name is the name of the Migration and of both StatefulSets; the default is web.
	Name            string
	Replicas, Start int32
	Templates       []string
	Budget          *pdb.Form
	Spec            plan.Spec
	Ordered         bool
	// Retained gives the volumes reclaim policy Retain from the beginning.
	Retained bool
	// Prepared is true if the user has created the empty destination in advance, with its PodDisruptionBudget.
	Prepared bool
	// Service is true if the slice has a governing Service.
	Service bool
	// Forgets is true if the destination's API server drops spec.ordinals; it requires Prepared.
	Forgets bool
	// Unattached is true if the volumes are of a kind without attachments.
	Unattached bool
	// Slices is true if both StatefulSets are of this project's kind.
	Slices bool
	// Copies is the number of ConfigMaps that the pods need. They are copied, and deleted on the way back.
	Copies int
	// Method is the method by which all volumes move, with the user's consent to it; empty means the default of
	// the API.
	Method api.VolumeMethod
	// Prefetch is the number of ordinals that are copied ahead of their turns.
	Prefetch int32
	// Limit is the longest time for which an ordinal may be copied while it is down; 0 means no limit.
	Limit time.Duration
	// ProvesLater is true if copies are proven after their ordinals have started.
	ProvesLater bool
	// WaitsForPod is true if the new volumes of copies are provisioned when a pod mounts them
	// (WaitForFirstConsumer).
	WaitsForPod bool
	// Cold are the claim templates that are copied only while the ordinal is down. Late are those that are not
	// copied ahead of their ordinals' turns.
	Cold, Late []string
	// Taken is true if the destination has other disks under the names of the volumes.
	Taken bool
	// OwnNames is true if the user has created Services for the pods of the source.
	OwnNames bool
}

// Build returns the snapshot of a healthy application at the source.
func (c Scenario) Build() plan.Snapshot {
	if c.Spec.Mode == "" {
		c.Spec.Mode = api.ModeRun
	}
	if c.Spec.Order == "" {
		c.Spec.Order = api.HighestFirst
	}
	if c.Spec.Deadline == 0 {
		c.Spec.Deadline = 10 * time.Minute
	}
	c.Spec.SameCluster = c.Spec.SameCluster || c.Spec.SameNamespace
	c.Name = cmp.Or(c.Name, "web")
	s := plan.Snapshot{
		Now: Epoch, Migration: types.NamespacedName{Namespace: "shop", Name: c.Name}, UID: "migration", Holder: "a", Spec: c.Spec,
		Source: plan.Side{
			Cluster: "east", ClusterID: "cluster-east", Namespace: "shop", Reach: plan.Seen, NamespaceFound: true,
			Set: plan.Set{
				Presence: plan.Seen, Name: c.Name, UID: "source-set", ResourceVersion: "1", Start: c.Start, Replicas: c.Replicas,
				Observed: true, RolledOut: true, Ordered: c.Ordered, Templates: c.Templates,
			},
			Service: plan.Dependent{Needed: c.Service, Found: c.Service, Name: c.Name},
		},
	}
	s.Destination, s.Spec.Prefetch = c.destination(s.Source), c.Prefetch
	for _, template := range c.Templates {
		s.Spec.Volumes = append(s.Spec.Volumes, api.VolumeSpec{ClaimTemplate: template, Method: c.Method})
	}
	if c.Copies > 0 {
		s.Spec.Dependencies.Copy, s.Spec.Dependencies.Delete, s.Dependencies.Read = true, true, true
	}
	for i := range c.Copies {
		s.Dependencies.List = append(s.Dependencies.List, plan.Dependency{Kind: "ConfigMap", Name: fmt.Sprintf("config-%d", i), From: "container web", Origin: "1"})
	}
	if c.Slices {
		s.Source.Set.Resource, s.Destination.Set.Resource, s.Source.Set.Rolls = plan.SliceResource, plan.SliceResource, plan.Rolls{Own: true, Heeded: true}
	}
	if c.Forgets {
		s.Numbers = &plan.Finding{Reason: api.ReasonKindUnsupported, Object: "StatefulSet " + s.Destination.Set.Name, Message: "it would begin with ordinal 0, whatever it is given"}
	}
	if c.Budget != nil {
		s.Source.Budgets = []plan.Budget{{Name: c.Name, UID: "pdb", ResourceVersion: "1", Form: *c.Budget, Observed: true}}
		switch {
		case c.Spec.SameNamespace:
			s.Destination.Budgets = []plan.Budget{s.Source.Budgets[0]}
		case c.Prepared:
			s.Destination.Budgets = []plan.Budget{{Name: c.Name, UID: "prepared-pdb", ResourceVersion: "1", Form: *c.Budget, Observed: true}}
		}
	}
	for ordinal := c.Start; ordinal < c.Start+c.Replicas; ordinal++ {
		s.Source.Pods = append(s.Source.Pods, plan.Pod{Ordinal: ordinal, UID: types.UID(fmt.Sprintf("pod-%d", ordinal)), Ready: true, ReadySince: Epoch.Add(-time.Hour), Owned: true, Node: string(plan.SourceSide)})
		if c.Spec.NameOrdinals {
			s.Source.Names, s.Destination.Names = append(s.Source.Names, c.name(ordinal)), append(s.Destination.Names, plan.Name{Ordinal: ordinal})
		}
		for _, template := range c.Templates {
			s.Volumes = append(s.Volumes, c.boundVolume(s, ordinal, template))
		}
	}
	return s
}

func (c Scenario) name(ordinal int32) plan.Name {
	n := plan.Name{Ordinal: ordinal}
	if c.OwnNames {
		n.Service = plan.PodService{Found: true, Selects: true, UID: types.UID(fmt.Sprintf("service-%d", ordinal)), ResourceVersion: "1"}
	}
	return n
}

func (c Scenario) destination(source plan.Side) plan.Side {
	side := plan.Side{
		Cluster: "west", ClusterID: "cluster-west", Namespace: "shop", Reach: plan.Seen, NamespaceFound: true,
		Set:     plan.Set{Presence: plan.Absent, Name: c.Name},
		Service: plan.Dependent{Needed: c.Service, Name: c.Name},
	}
	if c.Spec.SameCluster {
		side.Cluster, side.ClusterID = source.Cluster, source.ClusterID
	}
	switch {
	case c.Spec.SameNamespace:
		side.Set.Name, side.Service.Found = c.Name+"-next", c.Service
	case c.Spec.SameCluster:
		side.Namespace = "team"
	}
	if c.Prepared {
		side.Set = plan.Set{
			Presence: plan.Seen, Name: side.Set.Name, UID: "prepared-set", ResourceVersion: "1", Observed: true, RolledOut: true,
			Ordered: c.Ordered, Templates: c.Templates,
		}
	}
	return side
}

func (c Scenario) boundVolume(s plan.Snapshot, ordinal int32, template string) plan.OrdinalVolume {
	claim := plan.ClaimName(template, c.Name, ordinal)
	name := "pv-" + claim
	policy := corev1.PersistentVolumeReclaimDelete
	if c.Retained {
		policy = corev1.PersistentVolumeReclaimRetain
	}
	v := plan.OrdinalVolume{Ordinal: ordinal, Template: template, Method: c.Method}
	v.Word = volumes.Word{FillsFromPeers: true, FilledShown: true, ReturnsToKept: c.Method == api.MethodEmpty}
	if c.Method == api.MethodCopy {
		v.Copy = &volumes.Copying{Asked: volumes.CopyAsked{Image: "mover", Prefetch: c.Prefetch, Limit: c.Limit}, WaitsForPod: c.WaitsForPod}
		if c.ProvesLater {
			v.Copy.Asked.Verify = api.CopyVerifyLater
		}
		if slices.Contains(c.Cold, template) {
			v.Copy.Asked.Warm = api.CopyWarmNone
		}
		if slices.Contains(c.Late, template) {
			v.Copy.Asked.Prefetch = 0
		}
	}
	v.Source.Ref = volumes.Ref{Namespace: s.Source.Namespace, Name: claim}
	v.Destination.Ref = volumes.Ref{Namespace: s.Destination.Namespace, Name: plan.ClaimName(template, s.Destination.Set.Name, ordinal)}
	v.Source.Claim = volumes.Claim{Found: true, UID: types.UID("claim-" + claim), ResourceVersion: "1", Phase: corev1.ClaimBound, Volume: name}
	v.Source.Volume = volumes.Volume{
		Found: true, Name: name, UID: types.UID(name), ResourceVersion: "1", Policy: policy, Phase: corev1.VolumeBound,
		ClaimRef: volumes.Ref{Namespace: s.Source.Namespace, Name: claim, UID: v.Source.Claim.UID}, Handle: "disk-" + claim,
	}
	if c.Method == api.MethodSnapshot {
		able := volumes.SnapshotSide{Asked: true, Served: true, Class: "snapshots"}
		v.Copy = &volumes.Copying{Snapshot: volumes.Snapshotting{Giver: able, Taker: able}}
		v.Source.Volume.Handle = "csi.example/" + claim
	}
	if s.Spec.SameCluster && !v.Separate() {
		v.Destination.Volume = v.Source.Volume
	}
	if c.Taken {
		v.Source.Name, v.Destination.Name = name, volumes.OtherName(name, volumes.Disk(v.Source.Volume.Handle))
	}
	return v
}

// Epoch is the initial time of tests.
var Epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
