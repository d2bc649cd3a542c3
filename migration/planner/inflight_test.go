package planner

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/pdb"
	"github.com/sliceshift/sliceshift/pdb/pdbtest"
)

// atOnce asks for so many ordinals in flight.
func atOnce(value intstr.IntOrString) func(*plan.Snapshot) {
	return func(s *plan.Snapshot) { s.Spec.MaxInFlight = &value }
}

// TestMostInFlight: a percentage is rounded down to at least 1, no number exceeds the budget of the accepted migration,
// and some moves take one ordinal at a time whatever is asked for.
func TestMostInFlight(t *testing.T) {
	copied := func(s *plan.Snapshot) {
		s.Record.Baseline.Volumes = []api.VolumeSpec{{ClaimTemplate: "data", Method: api.MethodCopy}}
	}
	for name, tc := range map[string]struct {
		asked       intstr.IntOrString
		change      func(*plan.Snapshot)
		most, wants int32
		why         string
	}{
		"one":                  {intstr.FromInt32(1), nil, 1, 1, ""},
		"three":                {intstr.FromInt32(3), nil, 3, 3, ""},
		"a third of ten":       {intstr.FromString("39%"), nil, 3, 3, ""},
		"less than one":        {intstr.FromString("5%"), nil, 1, 1, ""},
		"more than the budget": {intstr.FromInt32(6), nil, 4, 6, ""},
		"more than any":        {intstr.FromInt32(99), nil, 4, api.MostInFlight, ""},
		"not a number":         {intstr.FromString("many"), nil, 1, 1, ""},
		"a copy":               {intstr.FromInt32(3), copied, 3, 3, ""},
		"a copy with a limit": {intstr.FromInt32(3), func(s *plan.Snapshot) {
			s.Spec.Volumes = []api.VolumeSpec{{ClaimTemplate: "data", Method: api.MethodCopy, Copy: api.CopySpec{DowntimeLimit: &metav1.Duration{Duration: time.Minute}}}}
		}, 1, 3, "copy.downtimeLimit of claim template data"},
		"another method": {intstr.FromInt32(3), func(s *plan.Snapshot) {
			s.Record.Baseline.Volumes = []api.VolumeSpec{{ClaimTemplate: "data", Method: "Teleport"}}
		}, 1, 3, "method Teleport"},
		"in place": {intstr.FromInt32(3), func(s *plan.Snapshot) { s.Storage = &plan.Storage{} }, 1, 3, "in place"},
		"left behind": {intstr.FromInt32(3), func(s *plan.Snapshot) {
			s.Record.Baseline.Volumes = []api.VolumeSpec{{ClaimTemplate: "data", Method: api.MethodEmpty}}
		}, 1, 3, "is filled by the other replicas"},
		"a gate": {intstr.FromInt32(3), func(s *plan.Snapshot) { s.Spec.OrdinalGate = "quorum" }, 1, 3, "gate quorum"},
		"a hook": {intstr.FromInt32(3), func(s *plan.Snapshot) {
			s.Spec.Hooks = []api.Hook{{Name: "drain", Point: api.HookBeforeOrdinal}}
		}, 1, 3, "hook drain"},
		"a hook of the end": {intstr.FromInt32(3), func(s *plan.Snapshot) {
			s.Spec.Hooks = []api.Hook{{Name: "tell", Point: api.HookAfterMigration}}
		}, 3, 3, ""},
		"without claims": {intstr.FromInt32(3), func(s *plan.Snapshot) { s.Source.Set.Templates = nil }, 1, 3, "without claims"},
		"a lost side":    {intstr.FromInt32(3), func(s *plan.Snapshot) { s.Destination.Lost = true }, 1, 3, ""},
	} {
		s := plantest.Healthy(0, 10, pdbtest.MaxUnavailable(4), "data")
		s.Record.Baseline = &api.Baseline{Replicas: 10, Budget: 4}
		atOnce(tc.asked)(&s)
		if tc.change != nil {
			tc.change(&s)
		}
		most, asked, why := MostInFlight(s)
		if most != tc.most || asked != tc.wants || !strings.Contains(why, tc.why) || tc.why == "" && why != "" {
			t.Errorf("%s: %d of %d, because %q", name, most, asked, why)
		}
	}
}

// TestInFlightFindings: before the first write, a number is refused that the budget or the move does not allow (I4).
func TestInFlightFindings(t *testing.T) {
	for name, tc := range map[string]struct {
		asked  int32
		change func(*plan.Snapshot)
		want   string
	}{
		"one":                  {1, nil, ""},
		"as many as the d":     {2, nil, ""},
		"more":                 {3, nil, api.ReasonInFlightExceeds},
		"more than was asked":  {2, func(s *plan.Snapshot) { s.Spec.MaxUnavailable = new(intstr.FromInt32(1)) }, api.ReasonInFlightExceeds},
		"by snapshots":         {2, func(s *plan.Snapshot) { s.Spec.Volumes[0].Method = api.MethodSnapshot }, ""},
		"none may be down":     {2, func(s *plan.Snapshot) { s.Spec.MaxUnavailable = new(intstr.FromInt32(0)) }, api.ReasonBudgetZero},
		"one by snapshots":     {1, func(s *plan.Snapshot) { s.Spec.Volumes[0].Method = api.MethodSnapshot }, ""},
		"without replicas yet": {2, func(s *plan.Snapshot) { s.Source.Set.Replicas = 0 }, ""},
	} {
		s := plantest.Scenario{Replicas: 4, Templates: []string{"data"}, Budget: pdbtest.MaxUnavailable(2)}.Build()
		atOnce(intstr.FromInt32(tc.asked))(&s)
		if tc.change != nil {
			tc.change(&s)
		}
		found := ""
		for _, f := range Preflight(s) {
			if !f.Warning && (f.Check == plan.CheckInFlight || f.Check == plan.CheckBudget) {
				found = f.Reason
			}
		}
		if found != tc.want {
			t.Errorf("%s: found %q, want %q", name, found, tc.want)
		}
	}
}

// TestBlockIsNoLargerThanTheRest: a block has as many ordinals as are left and as the budget allows, and none begins under
// a budget of 0.
func TestBlockIsNoLargerThanTheRest(t *testing.T) {
	at := plantest.OfRange
	for name, tc := range map[string]struct {
		s      plan.Snapshot
		budget int32
		want   int
	}{
		"three of six":        {sixAtOnce(api.HighestFirst, at(0, 6), at(6, 0), -1), 3, 3},
		"the last two":        {sixAtOnce(api.HighestFirst, at(0, 2), at(2, 4), -1), 3, 2},
		"a smaller budget":    {sixAtOnce(api.HighestFirst, at(0, 6), at(6, 0), -1), 2, 2},
		"none may be down":    {sixAtOnce(api.HighestFirst, at(0, 6), at(6, 0), -1), 0, 0},
		"lowest first, three": {sixAtOnce(api.LowestFirst, at(0, 6), at(0, 0), -1), 3, 3},
	} {
		for k := range int32(6) { // the pods are where their slices are
			if pod, found := tc.s.Source.Pod(k); found && !tc.s.Source.Set.Has(k) {
				tc.s.Source.RemovePod(k)
				tc.s.Destination.SetPod(pod)
			}
		}
		tc.s.Record.Baseline.Budget, tc.s.Record.Baseline.Volumes = tc.budget, []api.VolumeSpec{api.AskedOf(tc.s.Spec.Volumes, "data")}
		tc.s.Record.Baseline.DisruptionBudget = &api.DisruptionBudget{Name: "web", MaxUnavailable: new(intstr.FromInt32(tc.budget))}
		k, _ := viewOf(tc.s).next()
		p, begun := handoffOf(viewOf(tc.s)), 0
		if p.gates.gate(k) == nil {
			begun = len(p.recordAll(k).Record.InFlight())
		}
		if begun != tc.want {
			t.Errorf("%s: %d begin, want %d (%+v)", name, begun, tc.want, p.gates.gate(k))
		}
	}
}

// sixAtOnce is a move of 6 ordinals in an order, with these ordinals in flight and 3 at once.
func sixAtOnce(order api.Order, source, destination plan.Set, focus int32, ordinals ...int32) plan.Snapshot {
	s := plantest.Scenario{Replicas: 6, Templates: []string{"data"}, Budget: pdbtest.MaxUnavailable(3), Prepared: true, Spec: plan.Spec{Order: order, MaxInFlight: new(intstr.FromInt32(3))}}.Build()
	s.Record.Baseline = &api.Baseline{Replicas: 6, Budget: 3, SourceCluster: s.Source.ClusterID, DestinationCluster: s.Destination.ClusterID}
	s.Record.Fence = &api.Fence{Epoch: 1, Direction: api.Forward}
	s.Source.Set.Start, s.Source.Set.Replicas = source.Start, source.Replicas
	s.Destination.Set.Start, s.Destination.Set.Replicas = destination.Start, destination.Replicas
	for _, k := range ordinals {
		s.Record.Further = append(s.Record.Further, api.Handoff{Ordinal: k, StartTime: metav1.NewMicroTime(s.Now)})
	}
	if focus >= 0 {
		s.Record = plan.Focus{Ordinal: &focus}.Of(s.Record)
	}
	return s
}

// TestNextBesideOthers: the next ordinal is the giver's first one that is not in flight, and begins only within the
// block of the first one in flight that has not arrived (I6).
func TestNextBesideOthers(t *testing.T) {
	at := plantest.OfRange
	for name, tc := range map[string]struct {
		s          plan.Snapshot
		next       int32
		more, room bool
	}{
		"none is in flight":          {sixAtOnce(api.HighestFirst, at(0, 6), at(6, 0), -1), 5, true, true},
		"the first one runs":         {sixAtOnce(api.HighestFirst, at(0, 6), at(6, 0), -1, 5), 4, true, true},
		"two are down":               {sixAtOnce(api.HighestFirst, at(0, 4), at(6, 0), -1, 5, 4), 3, true, true},
		"three are in flight":        {sixAtOnce(api.HighestFirst, at(0, 4), at(6, 0), -1, 5, 4, 3), 2, true, false},
		"the first one is late":      {sixAtOnce(api.HighestFirst, at(0, 4), at(4, 2), -1, 5), 3, true, true},
		"two have passed it":         {sixAtOnce(api.HighestFirst, at(0, 3), at(3, 3), -1, 5), 2, true, false},
		"the last ones":              {sixAtOnce(api.HighestFirst, at(0, 1), at(3, 3), -1, 2, 1, 0), -1, false, false},
		"lowest first":               {sixAtOnce(api.LowestFirst, at(2, 4), at(0, 0), -1, 0, 1), 2, true, true},
		"lowest first, one is late":  {sixAtOnce(api.LowestFirst, at(3, 3), at(0, 3), -1, 0), 3, true, false},
		"the one in focus is itself": {sixAtOnce(api.HighestFirst, at(0, 5), at(6, 0), 4, 5, 4, 3), 4, true, true},
	} {
		v := viewOf(tc.s)
		k, more := v.next()
		if k != tc.next || more != tc.more || more && v.room(k) != tc.room {
			t.Errorf("%s: %d, more %t, room %t", name, k, more, v.room(k))
		}
	}
}

// TestNextBackBesideOthers: on the way back, the next ordinal is at the destination's end, and those that are in flight
// are skipped.
func TestNextBackBesideOthers(t *testing.T) {
	s := sixAtOnce(api.HighestFirst, plantest.OfRange(0, 2), plantest.OfRange(3, 3), -1, 3, 2)
	s.Spec.Mode = api.ModeRollback
	if k, more := viewOf(s).next(); k != 4 || !more {
		t.Errorf("next is %d, more %t", k, more)
	}
	s.Record.Baseline.DestinationReplicas = 2
	if k, more := viewOf(s).next(); more {
		t.Errorf("ordinal %d of the destination's own is next", k)
	}
}

// TestBudgetOfWhatATurnLeft: after a turn, pods that the former giver has yet to delete still count there (I4). The budget
// of the rest alone would allow the eviction of one more.
func TestBudgetOfWhatATurnLeft(t *testing.T) {
	s := sixAtOnce(api.HighestFirst, plantest.OfRange(0, 4), plantest.OfRange(5, 1), 5, 5, 4)
	s.Spec.Mode = api.ModeRollback
	p := budgetPlanner{viewOf(s)}
	if got := p.form(plan.SourceSide, 0, 2); got.MinAvailable == nil || got.MinAvailable.IntVal < 5 {
		t.Errorf("pod 4 is still there: %+v", got)
	}
	s.Source.RemovePod(4)
	if got := (budgetPlanner{viewOf(s)}).form(plan.SourceSide, 0, 2); got.MaxUnavailable == nil {
		t.Errorf("it is deleted: %+v", got)
	}
	s.Source.Set.Observed, s.Record.Further[0].Attempts = false, 2
	if got := (budgetPlanner{viewOf(s)}).form(plan.SourceSide, 0, 2); got.MinAvailable == nil {
		t.Errorf("a controller that has not observed its stop may create it again: %+v", got)
	}
}

// TestOrderOfTheBlock: only the ordinal next to the taker is stopped and started, in both orders and directions: the
// slices stay two ranges (I9). The wait names the ordinal that is waited for.
func TestOrderOfTheBlock(t *testing.T) {
	at := plantest.OfRange
	secured := func(s plan.Snapshot) plan.Snapshot {
		securedFor(5)(&s)
		return s
	}
	for name, tc := range map[string]struct {
		s      plan.Snapshot
		back   bool
		step   func(handoffPlanner, int32) *plan.Decision
		k      int32
		awaits string
	}{
		"the first one stops":                   {sixAtOnce(api.HighestFirst, at(0, 6), at(6, 0), 5, 5, 4), false, handoffPlanner.inTurn, 5, ""},
		"the second one waits":                  {sixAtOnce(api.HighestFirst, at(0, 6), at(6, 0), 4, 5, 4), false, handoffPlanner.inTurn, 4, "until ordinal 5 is stopped"},
		"the second one stops":                  {secured(sixAtOnce(api.HighestFirst, at(0, 5), at(6, 0), 4, 5, 4)), false, handoffPlanner.inTurn, 4, ""},
		"another writer stopped the first one":  {sixAtOnce(api.HighestFirst, at(0, 5), at(6, 0), 4, 5, 4), false, handoffPlanner.inTurn, 4, "for ordinal 5, which stalls"},
		"the first one has arrived":             {sixAtOnce(api.HighestFirst, at(0, 5), at(5, 1), 4, 5, 4), false, handoffPlanner.inTurn, 4, ""},
		"the second one waits, lowest first":    {sixAtOnce(api.LowestFirst, at(0, 6), at(0, 0), 1, 0, 1), false, handoffPlanner.inTurn, 1, "until ordinal 0 is stopped"},
		"back, the lowest one stops":            {sixAtOnce(api.HighestFirst, at(0, 3), at(3, 3), 3, 4, 3), true, handoffPlanner.inTurn, 3, ""},
		"back, the next one waits":              {sixAtOnce(api.HighestFirst, at(0, 3), at(3, 3), 4, 4, 3), true, handoffPlanner.inTurn, 4, "until ordinal 3 is stopped"},
		"the first one starts":                  {sixAtOnce(api.HighestFirst, at(0, 4), at(6, 0), 5, 5, 4), false, handoffPlanner.adjoins, 5, ""},
		"the second one waits for its start":    {sixAtOnce(api.HighestFirst, at(0, 4), at(6, 0), 4, 5, 4), false, handoffPlanner.adjoins, 4, "until ordinal 5 is started"},
		"the second one starts":                 {sixAtOnce(api.HighestFirst, at(0, 4), at(5, 1), 4, 5, 4), false, handoffPlanner.adjoins, 4, ""},
		"the second one, lowest first":          {sixAtOnce(api.LowestFirst, at(2, 4), at(0, 0), 1, 0, 1), false, handoffPlanner.adjoins, 1, "until ordinal 0 is started"},
		"back, the lowest one starts first":     {sixAtOnce(api.HighestFirst, at(0, 3), at(5, 1), 3, 4, 3), true, handoffPlanner.adjoins, 3, ""},
		"back, the higher one waits":            {sixAtOnce(api.HighestFirst, at(0, 3), at(5, 1), 4, 4, 3), true, handoffPlanner.adjoins, 4, "until ordinal 3 is started"},
		"another one is not stopped, it starts": {sixAtOnce(api.HighestFirst, at(0, 5), at(6, 0), 5, 5, 4), false, handoffPlanner.adjoins, 5, ""},
	} {
		if tc.back {
			tc.s.Spec.Mode = api.ModeRollback
		}
		message := ""
		if decision := tc.step(handoffOf(viewOf(tc.s)), tc.k); decision != nil {
			message = decision.Hold.Message
		}
		if !strings.Contains(message, tc.awaits) || tc.awaits == "" && message != "" {
			t.Errorf("%s: %q", name, message)
		}
	}
}

// TestStartsInOrder: an OrderedReady StatefulSet gets the next ordinal when the former one is available.
func TestStartsInOrder(t *testing.T) {
	s := sixAtOnce(api.HighestFirst, plantest.OfRange(0, 4), plantest.OfRange(5, 1), 4, 5, 4)
	s.Destination.Set.Ordered = true
	decision := handoffOf(viewOf(s)).adjoins(4)
	if decision == nil || !strings.Contains(decision.Hold.Message, "until ordinal 5 is available") {
		t.Errorf("it starts beside one that is not available: %+v", decision)
	}
	s.Record.Further = nil
	if decision := handoffOf(viewOf(s)).adjoins(4); decision != nil {
		t.Errorf("it waits for none: %+v", decision)
	}
}

// TestStraysBesideOthers: an ordinal that neither slice owns must be in flight (I9).
func TestStraysBesideOthers(t *testing.T) {
	s := sixAtOnce(api.HighestFirst, plantest.OfRange(0, 3), plantest.OfRange(6, 0), 5, 5, 4, 3)
	if v := viewOf(s); v.layout.broken != "" || v.strays() != "" {
		t.Errorf("broken: %q, strays: %q", v.layout.broken, v.strays())
	}
	s.Record.Further[1].Ordinal = 2
	if v := viewOf(s); !strings.Contains(v.strays(), "ordinal 3") {
		t.Errorf("ordinal 3 was stopped by another writer: %q %q", v.layout.broken, v.strays())
	}
	s.Record.Further = s.Record.Further[:1]
	if v := viewOf(s); v.layout.broken == "" {
		t.Error("more ordinals are down than are in flight")
	}
}

// TestFociOfAPass: a pass decides on those nearer to the taker first, and then whether one more begins. After one that
// stalls, those that still run are left alone (I6).
func TestFociOfAPass(t *testing.T) {
	at := plantest.OfRange
	texts := func(s plan.Snapshot, stalled bool) (all []string) {
		for _, f := range Foci(s, plan.Decision{Hold: &plan.Hold{Stalled: stalled}}) {
			if f.Begins {
				all = append(all, "begins")
				continue
			}
			text := string(rune('0' + *f.Ordinal))
			if f.Behind != nil {
				text += " behind " + string(rune('0'+*f.Behind))
			}
			all = append(all, text)
		}
		return all
	}
	two := sixAtOnce(api.HighestFirst, at(0, 5), at(6, 0), 5, 4, 5)
	if diff := cmp.Diff([]string{"4", "begins"}, texts(two, false)); diff != "" {
		t.Errorf("two of three: %s", diff)
	}
	if diff := cmp.Diff([]string{"4 behind 5"}, texts(two, true)); diff != "" {
		t.Errorf("a stall: %s", diff)
	}
	three := sixAtOnce(api.HighestFirst, at(0, 4), at(6, 0), 5, 3, 5, 4)
	if diff := cmp.Diff([]string{"4", "3"}, texts(three, false)); diff != "" {
		t.Errorf("three: %s", diff)
	}
	if diff := cmp.Diff([]string{"4", "3 behind 5"}, texts(three, true)); diff != "" {
		t.Errorf("three, a stall: %s", diff)
	}
	three.Spec.Mode = api.ModePause
	if diff := cmp.Diff([]string{"4", "3"}, texts(three, false)); diff != "" {
		t.Errorf("three, a pause: %s", diff)
	}
	back := sixAtOnce(api.HighestFirst, at(0, 3), at(3, 3), 4, 5, 4, 3)
	back.Spec.Mode = api.ModeRollback
	if diff := cmp.Diff([]string{"3", "5 behind 4"}, texts(back, true)); diff != "" {
		t.Errorf("back, a stall: %s", diff)
	}
	one := sixAtOnce(api.HighestFirst, at(0, 5), at(6, 0), 5, 5)
	one.Spec.MaxInFlight = nil
	if diff := cmp.Diff([]string(nil), texts(one, false)); diff != "" {
		t.Errorf("one: %s", diff)
	}
}

// TestBehindAStall: beyond an ordinal that stalls, none is stopped, and its handoff does not end. Copies that have begun
// are looked after as behind any gate: their movers must not keep the disk of a pod that moves to another node.
func TestBehindAStall(t *testing.T) {
	decide := func(behind bool, copied int32) string {
		s := sixAtOnce(api.HighestFirst, plantest.OfRange(0, 5), plantest.OfRange(6, 0), 4, 5, 4)
		unbudgeted(&s)
		s.Record.Baseline.Volumes = []api.VolumeSpec{api.AskedOf(s.Spec.Volumes, "data")}
		s.Record.Handoff.Volumes = []api.HandoffVolume{{ClaimTemplate: "data", Copy: api.CopyAttempt{Number: copied}}}
		if behind {
			s.Behind = &s.Record.Further[0].Ordinal
		}
		p := handoffOf(viewOf(s))
		p.hold = p.gates.gate(4)
		for name, step := range map[string]func(int32) *plan.Decision{"mayStop": p.mayStop, "letThrough": p.letThrough} {
			if d := step(4); d != nil && d.Hold != nil && d.Record == nil && d.Hold.Reason == api.ReasonNeighborFirst && (name == "mayStop") == (copied == 0) {
				return name
			}
		}
		return ""
	}
	for want, got := range map[string]string{"mayStop": decide(true, 0), "letThrough": decide(true, 1)} {
		if got != want {
			t.Errorf("held by %q, want %q", got, want)
		}
	}
	if got := decide(false, 0) + decide(false, 1); got != "" {
		t.Errorf("none stalls: %q", got)
	}
}

// TestGateCountsThoseInFlight: an ordinal is stopped only if it, those in flight, and other unavailable replicas are
// within the budget (I5).
func TestGateCountsThoseInFlight(t *testing.T) {
	s := sixAtOnce(api.HighestFirst, plantest.OfRange(0, 5), plantest.OfRange(6, 0), 4, 5, 4)
	gate := func() *plan.Hold { return gatePlanner{viewOf(s)}.tooManyDown(4) }
	if hold := gate(); hold != nil {
		t.Errorf("two of three: %s", hold.Message)
	}
	unready(0)(&s)
	if hold := gate(); hold != nil {
		t.Errorf("two, and one that is not Ready: %s", hold.Message)
	}
	unready(1)(&s)
	if hold := gate(); hold == nil {
		t.Error("four replicas would be down, of three")
	}
	s.Source.Set.Ordered = true
	s.Source.Pods[1].Ready = true
	if hold := gate(); hold == nil {
		t.Error("an OrderedReady slice stops none beside one that is not Ready")
	}
}

// TestCopiedOrdinalsCount: while volumes are copied, an ordinal in flight that runs takes nothing from the budget, and
// counts like any other pod. One that has left the giver counts as unavailable (I4, I5).
func TestCopiedOrdinalsCount(t *testing.T) {
	s := sixAtOnce(api.HighestFirst, plantest.OfRange(0, 5), plantest.OfRange(6, 0), 3, 5, 4, 3)
	if v := viewOf(s); v.inFlight() != 2 {
		t.Errorf("by Rebind, %d count", v.inFlight())
	}
	s.Record.Baseline.Volumes = []api.VolumeSpec{{ClaimTemplate: "data", Method: api.MethodCopy}}
	if v := viewOf(s); v.inFlight() != 1 || v.counted()[0].Ordinal != 5 {
		t.Errorf("by Copy, %+v count", v.counted())
	}
	unready(4)(&s)
	down := viewOf(s).allUnavailable(nil)
	if !slices.ContainsFunc(down, func(name string) bool { return strings.HasSuffix(name, "-4") }) {
		t.Errorf("ordinal 4 is copied and not Ready, and unavailable are %v", down)
	}
}

// TestOneOrdinalWritesTheBudgets: of several ordinals that run and are copied, only the next one to stop gives budget back.
// Another one would take from it what it has reserved for its stop (I6).
func TestOneOrdinalWritesTheBudgets(t *testing.T) {
	s := sixAtOnce(api.HighestFirst, plantest.OfRange(0, 6), plantest.OfRange(6, 0), 5, 5, 4)
	s.Record.Baseline.Volumes = []api.VolumeSpec{{ClaimTemplate: "data", Method: api.MethodCopy}}
	s.Record.Baseline.DisruptionBudget = &api.DisruptionBudget{Name: "web", MaxUnavailable: new(intstr.FromInt32(3))}
	b := &s.Source.Budgets[0]
	b.Form, b.Fence, b.Observed = pdb.Available(4), Fence(s.UID, 1), true // 5 has reserved its stop
	on := func(k int32) budgetPlanner {
		s.Record = plan.Focus{Ordinal: &k}.Of(s.Record)
		return budgetPlanner{viewOf(s)}
	}
	if decision := on(4).whileRunning(4); decision != nil {
		t.Errorf("ordinal 4 waits for ordinal 5, and writes %+v", decision)
	}
	if decision := on(5).whileRunning(5); decision == nil || decision.Effect == nil || decision.Effect.Verb != plan.SetBudget {
		t.Errorf("ordinal 5 does not stop yet, and keeps what is reserved: %+v", decision)
	}
}

// TestNeighborHasNoDeadline: an ordinal that waits for its neighbor does not stall: the neighbor's own step does (I6).
func TestNeighborHasNoDeadline(t *testing.T) {
	s := sixAtOnce(api.HighestFirst, plantest.OfRange(0, 4), plantest.OfRange(6, 0), 4, 5, 4)
	s.Record.Handoff.Step, s.Record.Handoff.StepTime = api.StepScaleUp, metav1.NewMicroTime(s.Now.Add(-time.Hour))
	s.Spec.Deadline = time.Minute
	if decision := handoffOf(viewOf(s)).adjoins(4); decision == nil || decision.Hold.Stalled || decision.Step != api.StepScaleUp {
		t.Errorf("%+v", decision)
	}
}

// TestEarlyBesideABlock: copies ahead of their turns are those of the ordinals beyond the block, whichever of its ordinals
// is in focus.
func TestEarlyBesideABlock(t *testing.T) {
	at := plantest.OfRange
	for name, tc := range map[string]struct {
		s    plan.Snapshot
		want []int32
	}{
		"highest first":           {sixAtOnce(api.HighestFirst, at(0, 5), at(6, 0), 5, 5, 4), []int32{3, 2}},
		"the other one in focus":  {sixAtOnce(api.HighestFirst, at(0, 5), at(6, 0), 4, 5, 4), []int32{3, 2}},
		"whether one more begins": {sixAtOnce(api.HighestFirst, at(0, 5), at(6, 0), -1, 5, 4), []int32{3, 2}},
		"lowest first":            {sixAtOnce(api.LowestFirst, at(1, 5), at(0, 0), 0, 1, 0), []int32{2, 3}},
		"the last ones":           {sixAtOnce(api.HighestFirst, at(0, 2), at(3, 3), 1, 2, 1), []int32{0}},
	} {
		tc.s.Spec.Prefetch = 2
		if diff := cmp.Diff(tc.want, EarlyOrdinals(tc.s)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestBlockTakesOverEarlyCopies: when a block begins, the copies that were made ahead of the turns of its ordinals are
// those of their handoffs, and of nothing else.
func TestBlockTakesOverEarlyCopies(t *testing.T) {
	s := sixAtOnce(api.HighestFirst, plantest.OfRange(0, 6), plantest.OfRange(6, 0), -1)
	s.Spec.Volumes = []api.VolumeSpec{{ClaimTemplate: "data", Method: api.MethodCopy}}
	s.Record.Baseline.Volumes = s.Spec.Volumes
	for _, k := range []int32{5, 4, 3} {
		s.Record.Ahead = append(s.Record.Ahead, api.CopyAhead{Ordinal: k, Volumes: []api.HandoffVolume{{ClaimTemplate: "data", Name: fmt.Sprintf("pv-data-web-%d", k), Copy: api.CopyAttempt{Number: k}}}})
	}
	decision := handoffOf(viewOf(s)).recordAll(5)
	for _, h := range decision.Record.InFlight() {
		if h.Volume("data").Copy.Number != h.Ordinal {
			t.Errorf("ordinal %d continues %+v", h.Ordinal, h.Volumes)
		}
	}
	if len(decision.Record.InFlight()) != 3 || len(decision.Record.Ahead) > 0 {
		t.Errorf("in flight are %+v, and ahead %+v", decision.Record.InFlight(), decision.Record.Ahead)
	}
}

// TestReservesForAll: both budgets together allow what those in flight leave of d, and the pod of one that was just
// stopped still counts (I4).
func TestReservesForAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.Int32Range(2, 5).Draw(t, "d")
		beside := rapid.Int32Range(1, d-1).Draw(t, "beside")
		s := plantest.Scenario{Replicas: 8, Budget: pdbtest.MaxUnavailable(d), Prepared: true, Spec: plan.Spec{MaxInFlight: new(intstr.FromInt32(d))}}.Build()
		s.Record.Baseline = &api.Baseline{Replicas: 8, Budget: d, DisruptionBudget: &api.DisruptionBudget{Name: "web", MaxUnavailable: new(intstr.FromInt32(d))}}
		s.Record.Fence = &api.Fence{Epoch: 1, Direction: api.Forward}
		s.Source.Set.Replicas -= beside
		gone := rapid.Int32Range(0, beside).Draw(t, "gone")
		for i := range beside {
			s.Record.Further = append(s.Record.Further, api.Handoff{Ordinal: 7 - i})
			if i < gone {
				s.Source.RemovePod(7 - i)
			}
		}
		focus := 7 - beside
		s.Record.Handoff = &api.Handoff{Ordinal: focus}
		for range 20 {
			decision := budgetPlanner{viewOf(s)}.reserveBudget(beside + 1)
			if decision == nil {
				break
			}
			if decision.Effect == nil {
				t.Fatalf("it waits: %+v", decision.Hold)
			}
			b := &s.Side(decision.Effect.Side).Budgets[0]
			b.Form, b.Fence, b.Observed = decision.Effect.Form, decision.Effect.Fence, true
			b.Author = &decision.Effect.Author
		}
		allowed := int32(0)
		for _, side := range []plan.Side{s.Source, s.Destination} {
			form := side.Budgets[0].Form
			if form.MaxUnavailable != nil {
				allowed += min(form.MaxUnavailable.IntVal, side.Set.Replicas)
				continue
			}
			allowed += max(0, int32(len(side.Pods))-form.MinAvailable.IntVal) // every pod is healthy
		}
		if allowed > d-beside-1 {
			t.Fatalf("%d more may be evicted, with %d of %d in flight: %+v", allowed, beside+1, d, s.Source.Budgets[0].Form)
		}
	})
}

// TestFocusKeepsAll: whatever handoff is in focus, the record holds all of them, and is stored in one order.
func TestFocusKeepsAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ordinals := rapid.SliceOfNDistinct(rapid.Int32Range(0, 9), 1, 5, rapid.ID).Draw(t, "ordinals")
		order := rapid.SampledFrom([]api.Order{api.HighestFirst, api.LowestFirst}).Draw(t, "order")
		var record plan.Record
		for _, k := range ordinals {
			record.Further = append(record.Further, api.Handoff{Ordinal: k})
		}
		stored := record.Stored(order)
		focus := rapid.SampledFrom(append([]plan.Focus{{}, {Begins: true}}, plan.Focus{Ordinal: &ordinals[0]})).Draw(t, "focus")
		if diff := cmp.Diff(stored, focus.Of(stored).Stored(order)); diff != "" {
			t.Fatal(diff)
		}
		if !slices.IsSortedFunc(stored.InFlight(), func(a, b api.Handoff) int {
			if order == api.LowestFirst {
				return int(a.Ordinal - b.Ordinal)
			}
			return int(b.Ordinal - a.Ordinal)
		}) {
			t.Fatalf("stored as %+v", stored.InFlight())
		}
	})
}
