package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sliceshift/sliceshift/migration/internal/pdbtest"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// TestAccept: a migration begins when nothing refuses it and it is to run. Until then nothing is
// written (I9), and what was found is told.
func TestAccept(t *testing.T) {
	refuse := func(s *Snapshot) { s.Source.Set.Terminating = true }
	queue := func(s *Snapshot) { s.Queued = &Hold{Reason: api.ReasonQueued, Message: "first of 2 in line"} }
	warn := func(s *Snapshot) { s.Preflight = []Finding{{Reason: "Forbidden", Warning: true}} }
	pause := func(s *Snapshot) { s.Spec.Mode = api.ModePause }
	const leaves = api.ReasonSourceBeingDeleted
	for name, tc := range map[string]struct {
		changes []func(*Snapshot)
		// reason is why it holds; empty when it begins.
		reason  string
		stalled bool
		found   []string
	}{
		"it may begin":       {},
		"it is warned of":    {changes: []func(*Snapshot){warn}, found: []string{"warning: Forbidden"}},
		"it is refused":      {changes: []func(*Snapshot){refuse}, reason: leaves, stalled: true, found: []string{leaves}},
		"it is queued":       {changes: []func(*Snapshot){queue}, reason: api.ReasonQueued},
		"warned in line":     {changes: []func(*Snapshot){queue, warn}, reason: api.ReasonQueued, found: []string{"warning: Forbidden"}},
		"it pauses in line":  {changes: []func(*Snapshot){pause, queue}, reason: api.ReasonPaused},
		"it pauses":          {changes: []func(*Snapshot){pause}, reason: api.ReasonPaused},
		"warned in a pause":  {changes: []func(*Snapshot){pause, warn}, reason: api.ReasonPaused, found: []string{"warning: Forbidden"}},
		"refused in a pause": {changes: []func(*Snapshot){pause, refuse}, reason: leaves, stalled: true, found: []string{leaves}},
	} {
		s := unmoved()
		for _, change := range tc.changes {
			change(&s)
		}
		got := newPlanner(s).accept()
		if diff := cmp.Diff(tc.found, reasonsOf(got.Findings)); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
		hold := got.Hold
		if hold == nil {
			hold = &Hold{}
		}
		if hold.Reason != tc.reason || hold.Stalled != tc.stalled || (got.Record != nil) != (tc.reason == "") {
			t.Errorf("%s: %+v", name, got)
		}
	}
	s := unmoved()
	s.Record.Baseline = &api.Baseline{}
	if got := newPlanner(s).accept(); got != nil {
		t.Errorf("it has begun: %+v", got)
	}
}

// TestBaseline: the record begins with the whole application, and names the destination's StatefulSet
// when that owns a part of it already. A handoff of an earlier record is not taken up.
func TestBaseline(t *testing.T) {
	plain := api.Baseline{
		Replicas: 3, Budget: 1, SourceUID: "source-set", SourceCluster: "cluster-east", DestinationCluster: "cluster-west",
		StartTime: metav1.NewTime(epoch), DisruptionBudget: &api.DisruptionBudget{Name: "web", MaxUnavailable: pdbtest.MaxUnavailable(1).MaxUnavailable},
	}
	for name, tc := range map[string]struct {
		change func(*Snapshot)
		want   func(*api.Baseline)
	}{
		"all of it at the source": {func(*Snapshot) {}, func(*api.Baseline) {}},
		"from another ordinal":    {func(s *Snapshot) { *s = healthy(5, 3, pdbtest.MaxUnavailable(1)) }, func(b *api.Baseline) { b.Start = 5 }},
		"without a budget":        {func(s *Snapshot) { s.Source.Budgets, s.Destination.Budgets = nil, nil }, func(b *api.Baseline) { b.DisruptionBudget = nil }},
		"with what its author wrote": {func(s *Snapshot) {
			s.Source.Budgets[0].Author, s.Destination.Budgets[0].Form = pdbtest.MinAvailable(1), *pdbtest.MinAvailable(1)
		}, func(b *api.Baseline) {
			b.Budget, b.DisruptionBudget = 2, &api.DisruptionBudget{Name: "web", MinAvailable: pdbtest.MinAvailable(1).MinAvailable}
		}},
		"the destination has one of it": {func(s *Snapshot) { handOn(s, 2) }, func(b *api.Baseline) {
			b.DestinationReplicas, b.DestinationUID = 1, "prepared-set"
		}},
	} {
		s := unmoved()
		tc.change(&s)
		s.Record = Record{Handoff: &api.Handoff{Ordinal: 1}, Fence: &api.Fence{Epoch: 4}}
		want := plain
		tc.want(&want)
		got := newPlanner(s).accept()
		if diff := cmp.Diff(&Decision{Record: &Record{Baseline: &want, Fence: &api.Fence{Epoch: 4}, Accepted: true}}, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

// handOn gives an ordinal at the source's upper end to the destination, as a migration leaves it.
func handOn(s *Snapshot, ordinal int32) {
	set, taker := &s.Source.Set, &s.Destination.Set
	set.Replicas--
	*taker = Set{
		Presence: Seen, Name: taker.Name, UID: taker.UID, ResourceVersion: taker.ResourceVersion, Start: ordinal, Replicas: taker.Replicas + 1,
		Observed: true, RolledOut: true, Templates: taker.Templates, Fence: taker.Fence,
	}
	at, _ := s.Source.at(ordinal)
	pod := s.Source.Pods[at]
	s.Source.RemovePod(ordinal)
	s.Destination.SetPod(pod)
	for i := range s.Volumes {
		if v := &s.Volumes[i]; v.Ordinal == ordinal {
			carryOver(v, s.UID)
		}
	}
}

// carryOver parks the source's volume of an ordinal, and binds the destination's to its claim there.
func carryOver(v *OrdinalVolume, by types.UID) {
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
