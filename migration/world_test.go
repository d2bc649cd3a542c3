package migration

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

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
	// retained gives the volumes reclaim policy Retain from the beginning.
	retained bool
	// prepared is true when the user has made the empty destination beforehand, with
	// its PodDisruptionBudget.
	prepared bool
	// service is true when the slice has a governing Service.
	service bool
	// forgets is true when the destination's API server drops spec.ordinals; with prepared.
	forgets bool
	// lives are the migrations that may begin when this one has ended.
	lives []life
	// unattached is true when the volumes are of a kind that has no attachments.
	unattached bool
	// slices is true when both StatefulSets are of our own kind.
	slices bool
	// ownNames is true when the user has made Services for the pods of the source.
	ownNames bool
}

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func maxUnavailable(n int32) *pdb.Form {
	value := intstr.FromInt32(n)
	return &pdb.Form{MaxUnavailable: &value}
}

func minAvailable(n int32) *pdb.Form {
	value := intstr.FromInt32(n)
	return &pdb.Form{MinAvailable: &value}
}

func maxUnavailablePercent(n int) *pdb.Form {
	value := intstr.FromString(fmt.Sprintf("%d%%", n))
	return &pdb.Form{MaxUnavailable: &value}
}

func minAvailablePercent(n int) *pdb.Form {
	value := intstr.FromString(fmt.Sprintf("%d%%", n))
	return &pdb.Form{MinAvailable: &value}
}

// build returns the snapshot of a healthy application at the source.
func (c scenario) build() Snapshot {
	if c.spec.Mode == "" {
		c.spec.Mode = api.ModeRun
	}
	if c.spec.Order == "" {
		c.spec.Order = api.HighestFirst
	}
	if c.spec.Deadline == 0 {
		c.spec.Deadline = 10 * time.Minute
	}
	c.spec.SameCluster = c.spec.SameCluster || c.spec.SameNamespace
	s := Snapshot{
		Now: epoch, Migration: types.NamespacedName{Namespace: "shop", Name: "web"}, UID: "migration", Holder: "a", Spec: c.spec,
		Source: Side{
			Cluster: "east", ClusterID: "cluster-east", Namespace: "shop", Reach: Seen, NamespaceFound: true,
			Set: Set{
				Presence: Seen, Name: "web", UID: "source-set", ResourceVersion: "1", Start: c.start, Replicas: c.replicas,
				Observed: true, RolledOut: true, Ordered: c.ordered, Templates: c.templates,
			},
			Service: Dependent{Needed: c.service, Found: c.service, Name: "web"},
		},
	}
	s.Destination = c.destination(s.Source)
	if c.slices {
		s.Source.Set.Resource, s.Destination.Set.Resource, s.Source.Set.Rolls = sliceResource, sliceResource, Rolls{Own: true, Heeded: true}
	}
	if c.forgets {
		finding := unnumbered(place{cluster: s.Destination.Cluster, namespace: s.Destination.Namespace, set: s.Destination.Set.Name})
		s.Numbers = &finding
	}
	if c.budget != nil {
		s.Source.Budgets = []Budget{{Name: "web", UID: "pdb", ResourceVersion: "1", Form: *c.budget, Observed: true}}
		switch {
		case c.spec.SameNamespace:
			s.Destination.Budgets = []Budget{s.Source.Budgets[0]}
		case c.prepared:
			s.Destination.Budgets = []Budget{{Name: "web", UID: "prepared-pdb", ResourceVersion: "1", Form: *c.budget, Observed: true}}
		}
	}
	for ordinal := c.start; ordinal < c.start+c.replicas; ordinal++ {
		s.Source.Pods = append(s.Source.Pods, Pod{Ordinal: ordinal, UID: types.UID(fmt.Sprintf("pod-%d", ordinal)), Ready: true, ReadySince: epoch.Add(-time.Hour), Owned: true, Node: string(SourceSide)})
		if c.spec.NameOrdinals {
			s.Source.Names, s.Destination.Names = append(s.Source.Names, c.name(ordinal)), append(s.Destination.Names, Name{Ordinal: ordinal})
		}
		for _, template := range c.templates {
			s.Volumes = append(s.Volumes, c.boundVolume(s, ordinal, template))
		}
	}
	return s
}

func (c scenario) name(ordinal int32) Name {
	n := Name{Ordinal: ordinal}
	if c.ownNames {
		n.Service = PodService{Found: true, Selects: true, UID: types.UID(fmt.Sprintf("service-%d", ordinal)), ResourceVersion: "1"}
	}
	return n
}

func (c scenario) destination(source Side) Side {
	side := Side{
		Cluster: "west", ClusterID: "cluster-west", Namespace: "shop", Reach: Seen, NamespaceFound: true,
		Set:     Set{Presence: Absent, Name: "web"},
		Service: Dependent{Needed: c.service, Name: "web"},
	}
	if c.spec.SameCluster {
		side.Cluster, side.ClusterID = source.Cluster, source.ClusterID
	}
	switch {
	case c.spec.SameNamespace:
		side.Set.Name, side.Service.Found = "web-next", c.service
	case c.spec.SameCluster:
		side.Namespace = "team"
	}
	if c.prepared {
		side.Set = Set{
			Presence: Seen, Name: side.Set.Name, UID: "prepared-set", ResourceVersion: "1", Observed: true, RolledOut: true,
			Ordered: c.ordered, Templates: c.templates,
		}
	}
	return side
}

func (c scenario) boundVolume(s Snapshot, ordinal int32, template string) OrdinalVolume {
	claim := fmt.Sprintf("%s-web-%d", template, ordinal)
	name := "pv-" + claim
	policy := corev1.PersistentVolumeReclaimDelete
	if c.retained {
		policy = corev1.PersistentVolumeReclaimRetain
	}
	v := OrdinalVolume{Ordinal: ordinal, Template: template}
	v.Source.Ref = volumes.Ref{Namespace: s.Source.Namespace, Name: claim}
	v.Destination.Ref = volumes.Ref{Namespace: s.Destination.Namespace, Name: fmt.Sprintf("%s-%s-%d", template, s.Destination.Set.Name, ordinal)}
	v.Source.Claim = volumes.Claim{Found: true, UID: types.UID("claim-" + claim), ResourceVersion: "1", Phase: corev1.ClaimBound, Volume: name}
	v.Source.Volume = volumes.Volume{
		Found: true, Name: name, UID: types.UID(name), ResourceVersion: "1", Policy: policy, Phase: corev1.VolumeBound,
		ClaimRef: volumes.Ref{Namespace: s.Source.Namespace, Name: claim, UID: v.Source.Claim.UID}, Handle: "disk-" + claim,
	}
	if s.Spec.SameCluster {
		v.Destination.Volume = v.Source.Volume
	}
	return v
}

// unparsable is no number and no percentage.
func unparsable() *intstr.IntOrString {
	value := intstr.FromString("many")
	return &value
}

// TestNewWorld: the model begins with controllers that know what is there, and nobody asks for an
// eviction in it.
func TestNewWorld(t *testing.T) {
	s := scenario{replicas: 3, start: 2, budget: maxUnavailable(1), slices: true}.build()
	s.Source.Budgets[0].Evictions = 2
	s.Source.Set.Rolls = Rolls{Own: true, Shared: true, Share: 1}
	w := newWorld(s)
	one := share{of: true, most: 1}
	if got, want := w.acted[SourceSide], (acted{start: 2, replicas: 3, keeps: one, told: one}); got != want {
		t.Errorf("the source acts on %+v", got)
	}
	if got := w.acted[DestinationSide]; got != (acted{}) {
		t.Errorf("the destination acts on %+v", got)
	}
	if !w.state.Source.Set.Rolls.Heeded || w.state.Destination.Set.Rolls.Heeded {
		t.Errorf("heeded at the source: %t, at the destination: %t", w.state.Source.Set.Rolls.Heeded, w.state.Destination.Set.Rolls.Heeded)
	}
	if got := w.state.Source.Budgets[0].Evictions; got != 0 {
		t.Errorf("%d evictions", got)
	}
	if s.Source.Set.Rolls.Heeded || s.Source.Budgets[0].Evictions != 2 {
		t.Errorf("what it was given has changed: %+v", s.Source)
	}
}

// TestSnapshotIsItsOwn: what happens in the model does not change what was seen of it before.
func TestSnapshotIsItsOwn(t *testing.T) {
	w := newWorld(scenario{replicas: 2, templates: []string{"data"}, budget: maxUnavailable(1), spec: Spec{NameOrdinals: true}}.build())
	seen, before := w.snapshot(), w.snapshot()
	w.state.Source.Pods[0].Ready, w.state.Source.Budgets[0].Name, w.state.Source.Names[0].Ordinal, w.state.Volumes[0].Template = false, "x", 9, "x"
	w.state.Destination.Names[0].Ordinal = 9
	if diff := cmp.Diff(before, seen); diff != "" {
		t.Errorf("-before +now\n%s", diff)
	}
	version, uid := w.version(), w.uid()
	if version == w.version() || uid == w.uid() {
		t.Error("two objects or versions are the same")
	}
}
