package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sliceshift/sliceshift/migration/internal/pdbtest"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// unmoved is an application of three at the source, before its migration: each replica has a claim,
// one may be unavailable, and the user has made the empty destination.
func unmoved() Snapshot {
	return healthy(0, 3, pdbtest.MaxUnavailable(1), "data")
}

// reasonsOf are the reasons of findings, in their order.
func reasonsOf(findings []Finding) []string {
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

// preflightCase changes what a part of the preflight looks at, and says what it finds then.
type preflightCase struct {
	change func(*Snapshot)
	want   []string
}

func wantFindings(t *testing.T, cases map[string]preflightCase, look func(Snapshot) []Finding) {
	t.Helper()
	for name, tc := range cases {
		s := unmoved()
		tc.change(&s)
		if diff := cmp.Diff(tc.want, reasonsOf(look(s))); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

// TestPreflight: what refuses comes before what warns, nothing is judged of a side that was not read,
// and each part is asked.
func TestPreflight(t *testing.T) {
	observed := func(s *Snapshot) {
		s.Preflight = []Finding{{Reason: "Forbidden", Warning: true}, {Reason: "NoAccess"}}
		s.Source.Set.Terminating = true
	}
	wantFindings(t, map[string]preflightCase{
		"nothing is wrong":     {func(*Snapshot) {}, nil},
		"warnings come last":   {observed, []string{"NoAccess", api.ReasonSourceBeingDeleted, "warning: Forbidden"}},
		"no source was read":   {func(s *Snapshot) { observed(s); s.Source.Reach = Unreachable }, []string{"NoAccess"}},
		"no destination":       {func(s *Snapshot) { observed(s); s.Destination.Reach = Unreachable }, []string{"NoAccess"}},
		"neither was read":     {func(s *Snapshot) { observed(s); s.Source.Reach, s.Destination.Reach = Unreachable, Unreachable }, []string{"NoAccess"}},
		"no such numbers":      {func(s *Snapshot) { observed(s); s.Source.Set.Replicas = -1 }, []string{"NoAccess", api.ReasonOrdinalsUnbounded}},
		"no source":            {func(s *Snapshot) { observed(s); s.Source.Set.Presence = Absent }, []string{"NoAccess", api.ReasonSourceMissing}},
		"of the source":        {func(s *Snapshot) { s.Source.Set.RolledOut = false }, []string{api.ReasonRolloutInProgress}},
		"of the budget":        {func(s *Snapshot) { s.Source.Budgets[0].Covers = "job" }, []string{api.ReasonBudgetCoversOthers}},
		"of the destination":   {func(s *Snapshot) { s.Destination.Set.Terminating = true }, []string{api.ReasonDestinationDeleted}},
		"of both side by side": {func(s *Snapshot) { s.Destination.Set.Start, s.Destination.Set.Replicas = 4, 1 }, []string{api.ReasonDestinationNotEmpty}},
		"of a volume":          {func(s *Snapshot) { s.Volumes[2].Source.Claim = volumes.Claim{} }, []string{volumes.ReasonClaimMissing}},
		"of a name": {func(s *Snapshot) {
			s.Destination.Names = []Name{{Ordinal: 1, Service: PodService{Found: true}}}
		}, []string{api.ReasonServiceTaken}},
	}, Preflight)
}

// TestSourceFindings: the source must be there to stay, at rest, and have what is to move.
func TestSourceFindings(t *testing.T) {
	wantFindings(t, map[string]preflightCase{
		"nothing is wrong":       {func(*Snapshot) {}, nil},
		"it is being deleted":    {func(s *Snapshot) { s.Source.Set.Terminating = true }, []string{api.ReasonSourceBeingDeleted}},
		"it has no replicas":     {func(s *Snapshot) { s.Source.Set.Replicas = 0 }, []string{api.ReasonNothingToMove}},
		"it has one":             {func(s *Snapshot) { s.Source.Set.Replicas = 1 }, nil},
		"all of it is to move":   {func(s *Snapshot) { s.Spec.Count = 3 }, nil},
		"more are to move":       {func(s *Snapshot) { s.Spec.Count = 4 }, []string{api.ReasonCountTooLarge}},
		"it is this migration's": {func(s *Snapshot) { s.Source.Set.Fence = "migration.1" }, nil},
		"it is another one's":    {func(s *Snapshot) { s.Source.Set.Fence = "another.1" }, []string{api.ReasonHeldByAnother}},
		"it deletes claims":      {func(s *Snapshot) { s.Source.Set.DeletesClaims = true }, []string{api.ReasonClaimsDeletedOnScale}},
		"nobody looks after it":  {func(s *Snapshot) { s.Source.Set.Observed = false }, []string{api.ReasonRolloutInProgress}},
		"nor after its roll-out": {func(s *Snapshot) { s.Source.Set.Observed, s.Source.Set.RolledOut = false, false }, []string{api.ReasonRolloutInProgress}},
		"it is rolled out":       {func(s *Snapshot) { s.Source.Set.RolledOut = false }, []string{api.ReasonRolloutInProgress}},
		"one pod is not Ready":   {func(s *Snapshot) { s.Source.Pods[1].Ready = false }, []string{api.ReasonSourceNotHealthy}},
	}, sourceFindings)
}

// TestDestinationFindings: the destination must have room: its namespace, a StatefulSet that nobody
// else moves, and no pod of an ordinal that the source has (I1).
func TestDestinationFindings(t *testing.T) {
	pods := func(ordinals ...int32) func(*Snapshot) {
		return func(s *Snapshot) {
			for _, ordinal := range ordinals {
				s.Destination.SetPod(Pod{Ordinal: ordinal})
			}
		}
	}
	lacks := func(makes bool) func(*Snapshot) {
		return func(s *Snapshot) { s.Destination.NamespaceFound, s.Spec.CreateNamespace = false, makes }
	}
	wantFindings(t, map[string]preflightCase{
		"nothing is wrong":          {func(*Snapshot) {}, nil},
		"no namespace":              {lacks(false), []string{api.ReasonNamespaceMissing}},
		"a namespace is to be made": {lacks(true), nil},
		"and it is there":           {func(s *Snapshot) { s.Spec.CreateNamespace = true }, nil},
		"it is not there": {func(s *Snapshot) {
			s.Destination.Set = Set{Presence: Absent, Name: "web", Terminating: true, Fence: "another.1"}
		}, nil},
		"it is the source": {func(s *Snapshot) {
			s.Destination.Set.UID, s.Destination.Set.Terminating = "source-set", true
		}, []string{api.ReasonSameStatefulSet}},
		"it is being deleted":         {func(s *Snapshot) { s.Destination.Set.Terminating = true }, []string{api.ReasonDestinationDeleted}},
		"it is this migration's":      {func(s *Snapshot) { s.Destination.Set.Fence = "migration.1" }, nil},
		"it is another one's":         {func(s *Snapshot) { s.Destination.Set.Fence = "another.1" }, []string{api.ReasonHeldByAnother}},
		"pods of the source's":        {pods(1, 2), []string{api.ReasonDestinationPodFound}},
		"a pod of nobody's":           {pods(3), nil},
		"a pod of an ordinal it owns": {func(s *Snapshot) { pods(2)(s); s.Destination.Set.Start, s.Destination.Set.Replicas = 2, 1 }, nil},
	}, destinationFindings)
}

// TestVolumeFindings: the volumes of the ordinals that are to move are looked at, and no others.
func TestVolumeFindings(t *testing.T) {
	lacks := func(at int, count int32, order api.Order) func(*Snapshot) {
		return func(s *Snapshot) {
			s.Volumes[at].Source.Claim = volumes.Claim{}
			s.Spec.Count, s.Spec.Order = count, order
		}
	}
	wantFindings(t, map[string]preflightCase{
		"nothing is wrong":       {func(*Snapshot) {}, nil},
		"of one among all":       {lacks(0, 0, api.HighestFirst), []string{volumes.ReasonClaimMissing}},
		"of the only one":        {lacks(2, 1, api.HighestFirst), []string{volumes.ReasonClaimMissing}},
		"of one that stays":      {lacks(0, 1, api.HighestFirst), nil},
		"of the first":           {lacks(0, 1, api.LowestFirst), []string{volumes.ReasonClaimMissing}},
		"of one that stays last": {lacks(2, 1, api.LowestFirst), nil},
	}, volumeFindings)
	for order, want := range map[api.Order][]int32{api.HighestFirst: {4, 5}, api.LowestFirst: {2, 3}} {
		s := Snapshot{Spec: Spec{Order: order}, Source: Side{Set: Set{Start: 2, Replicas: 4}}}
		var got []int32
		for ordinal := range int32(9) {
			if toMove(s, ordinal, 2) {
				got = append(got, ordinal)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("two of 2 to 5, %s: -want +got\n%s", order, diff)
		}
	}
}

// TestUnavailable: a replica counts as unavailable when its pod is missing, is not available for long
// enough, or may be evicted at any moment (I5). A pod outside of the slice counts for nothing.
func TestUnavailable(t *testing.T) {
	three, five := int32(3), int32(5)
	pod := func(ordinal int32) Pod {
		return Pod{Ordinal: ordinal, Ready: true, ReadySince: epoch.Add(-time.Minute), Owned: true}
	}
	young, unready := pod(4), pod(3)
	young.ReadySince, unready.Ready = epoch.Add(-time.Second), false
	for name, tc := range map[string]struct {
		pods      []Pod
		disrupted []string
		leaveOut  *int32
		want      []string
	}{
		"all are there":           {pods: []Pod{pod(2), pod(3), pod(4), pod(5)}},
		"none is there":           {want: []string{"web-2", "web-3", "web-4", "web-5"}},
		"one is missing":          {pods: []Pod{pod(2), pod(4), pod(5)}, want: []string{"web-3"}},
		"the last one is missing": {pods: []Pod{pod(2), pod(3), pod(4)}, want: []string{"web-5"}},
		"others are there, too":   {pods: []Pod{pod(0), pod(1), pod(2), pod(3), pod(4), pod(6)}, want: []string{"web-5"}},
		"one is not Ready":        {pods: []Pod{pod(2), unready, pod(4), pod(5)}, want: []string{"web-3"}},
		"one is young":            {pods: []Pod{pod(2), pod(3), young, pod(5)}, want: []string{"web-4"}},
		"one may be evicted":      {pods: []Pod{pod(2), pod(3), pod(4), pod(5)}, disrupted: []string{"db-3", "web-4"}, want: []string{"web-4"}},
		"one is left out":         {pods: []Pod{pod(2), unready, young, pod(5)}, leaveOut: &three, want: []string{"web-4"}},
		"a good one is left out":  {pods: []Pod{pod(2), unready, pod(4), pod(5)}, leaveOut: &five, want: []string{"web-3"}},
	} {
		side := Side{Set: Set{Name: "web", Start: 2, Replicas: 4, MinReady: 10 * time.Second}, Pods: tc.pods, Budgets: []Budget{{}, {Disrupted: tc.disrupted}}}
		if diff := cmp.Diff(tc.want, podNames(side, downOf(Snapshot{Now: epoch}, side), tc.leaveOut)); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
	p := &View{Snapshot: Snapshot{Source: Side{Set: Set{Name: "web", Replicas: 1}}, Destination: Side{Set: Set{Name: "web", Start: 1, Replicas: 3}}}}
	if diff := cmp.Diff([]string{"web-0", "web-1", "web-2"}, p.allUnavailable(&three)); diff != "" {
		t.Errorf("of both slices: -want +got\n%s", diff)
	}
}

// TestFindingHolds: a finding in mid-move holds until somebody mends it (I6).
func TestFindingHolds(t *testing.T) {
	want := &Hold{Reason: "Found", Message: "it was found", Remedy: "mend it", Stalled: true}
	if diff := cmp.Diff(want, Finding{Reason: "Found", Object: "web", Message: "it was found", Remedy: "mend it"}.Hold()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	s := unmoved()
	s.Source.Set.DeletesClaims = true
	if finding := s.Source.deletesClaims(); finding == nil || finding.Object != s.Source.object() || finding.Remedy == "" {
		t.Errorf("claims that are deleted: %+v", finding)
	}
	s.Source.Budgets = []Budget{{Name: "a"}, {Name: "b"}}
	hold := severalBudgets(s.Source).Hold
	if hold.Reason != api.ReasonSeveralBudgets || !hold.Stalled || !strings.Contains(hold.Message, ": a, b;") || !strings.HasSuffix(hold.Remedy, " b") {
		t.Errorf("several budgets: %+v", hold)
	}
}

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
