package planner

import (
	"slices"
	"strings"
	"testing"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/volumes"
)

// TestDestinationFindings: the destination must have its namespace, a StatefulSet that no other migration moves, and
// no pod of an ordinal of the source (I1).
func TestDestinationFindings(t *testing.T) {
	pods := func(ordinals ...int32) func(*plan.Snapshot) {
		return func(s *plan.Snapshot) {
			for _, ordinal := range ordinals {
				s.Destination.SetPod(plan.Pod{Ordinal: ordinal})
			}
		}
	}
	lacks := func(makes bool) func(*plan.Snapshot) {
		return func(s *plan.Snapshot) { s.Destination.NamespaceFound, s.Spec.CreateNamespace = false, makes }
	}
	wantFindings(t, map[string]preflightCase{
		"nothing is wrong":          {func(*plan.Snapshot) {}, nil},
		"no namespace":              {lacks(false), []string{api.ReasonNamespaceMissing}},
		"a namespace is to be made": {lacks(true), nil},
		"and it is there":           {func(s *plan.Snapshot) { s.Spec.CreateNamespace = true }, nil},
		"it is not there": {func(s *plan.Snapshot) {
			s.Destination.Set = plan.Set{Presence: plan.Absent, Name: "web", Terminating: true, Fence: "another.1"}
		}, nil},
		"it is the source": {func(s *plan.Snapshot) {
			s.Destination.Set.UID, s.Destination.Set.Terminating = "source-set", true
		}, []string{api.ReasonSameStatefulSet}},
		"it is being deleted":         {func(s *plan.Snapshot) { s.Destination.Set.Terminating = true }, []string{api.ReasonDestinationDeleted}},
		"it is this migration's":      {func(s *plan.Snapshot) { s.Destination.Set.Fence = "migration.1" }, nil},
		"it is another one's":         {func(s *plan.Snapshot) { s.Destination.Set.Fence = "another.1" }, []string{api.ReasonHeldByAnother}},
		"pods of the source's":        {pods(1, 2), []string{api.ReasonDestinationPodFound}},
		"a pod of nobody's":           {pods(3), nil},
		"a pod of an ordinal it owns": {func(s *plan.Snapshot) { pods(2)(s); s.Destination.Set.Start, s.Destination.Set.Replicas = 2, 1 }, nil},
	}, Destination)
}

// TestSplitIsRefused: a destination that already owns ordinals must be a healthy part of the application, on its
// disks. Otherwise it is refused, because it may run the only pod of an ordinal (I1, I3).
func TestSplitIsRefused(t *testing.T) {
	set := func(change func(*plan.Set)) func(*plan.Snapshot) {
		return func(s *plan.Snapshot) { change(&s.Destination.Set) }
	}
	astray := func(s *plan.Snapshot) { s.Volumes[3].Destination.Claim.Volume = "pv-empty" }
	const destination, claim = " StatefulSet shop/web in cluster west", " claim shop/data-web-4 of ordinal 4"
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		want   []string
	}{
		"one part of it":            {nil, nil},
		"one ordinal of it":         {func(s *plan.Snapshot) { plantest.Divide(s, 4) }, nil},
		"it was not seen":           {plantest.InTurn(astray, set(func(d *plan.Set) { d.Presence = plan.Absent })), nil},
		"it has no ordinal":         {plantest.InTurn(astray, set(func(d *plan.Set) { d.Replicas = 0 })), nil},
		"it is the source":          {plantest.InTurn(astray, set(func(d *plan.Set) { d.UID = "s" })), nil},
		"not side by side":          {set(func(d *plan.Set) { d.Start = 7 }), []string{api.ReasonDestinationNotEmpty + destination}},
		"one, and not side by side": {set(func(d *plan.Set) { d.Start, d.Replicas = 7, 1 }), []string{api.ReasonDestinationNotEmpty + destination}},
		"from the other end":        {func(s *plan.Snapshot) { s.Spec.Order = api.LowestFirst }, []string{api.ReasonSplitNotAdjacent + destination}},
		"in a roll-out":             {set(func(d *plan.Set) { d.RolledOut = false }), []string{api.ReasonRolloutInProgress + destination}},
		"not on a disk":             {astray, []string{volumes.ReasonAnotherDisk + claim}},
		"in a roll-out, not on one": {
			plantest.InTurn(astray, set(func(d *plan.Set) { d.RolledOut = false })), []string{api.ReasonRolloutInProgress + destination, volumes.ReasonAnotherDisk + claim},
		},
		"in one cluster, one volume": {func(s *plan.Snapshot) { s.Spec.SameCluster = true; s.Volumes[2].Source.Volume.Handle = "" }, nil},
	} {
		var got []string
		for _, finding := range Split(plantest.Parted(tc.change)) {
			got = append(got, finding.Reason+" "+finding.Object)
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestOrderFindings: ordinals continue from the end at which the destination started, and the finding names the next
// one.
func TestOrderFindings(t *testing.T) {
	for name, tc := range map[string]struct {
		s     plan.Snapshot
		order api.Order
		next  string
	}{
		"the destination above, from above": {plantest.SlicesOf(1, 4, 5, 2), api.HighestFirst, ""},
		"the destination above, from below": {plantest.SlicesOf(1, 4, 5, 2), api.LowestFirst, "the next one that it can take is 4,"},
		"the destination below, from below": {plantest.SlicesOf(3, 4, 1, 2), api.LowestFirst, ""},
		"the destination below, from above": {plantest.SlicesOf(3, 4, 1, 2), api.HighestFirst, "the next one that it can take is 3,"},
	} {
		tc.s.Spec.Order = tc.order
		got := orderFindings(tc.s)
		switch {
		case tc.next == "":
			if len(got) > 0 {
				t.Errorf("%s: %+v", name, got)
			}
		case len(got) != 1 || got[0].Reason != api.ReasonSplitNotAdjacent || !strings.Contains(got[0].Message, tc.next):
			t.Errorf("%s: %+v, want to be told %q", name, got, tc.next)
		}
	}
}
