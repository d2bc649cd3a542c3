package planner

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// TestLean: the reads that are left to the caches are listed for each write. Everything else is read live, also
// for a write that is added later (I1, I2, I3).
func TestLean(t *testing.T) {
	const east, west, both = OfSource, OfDestination, BothSides
	all := Spared{both, both, both, both, both}
	does := func(verb plan.Verb, action volumes.Verb) plan.Decision {
		return plan.Decision{Effect: &plan.Effect{Verb: verb, Side: plan.DestinationSide, Ordinal: 2, Volume: volumes.Action{Verb: action}}}
	}
	next := func(s plan.Snapshot) plan.Decision {
		record, handoff := s.Record, *s.Record.Handoff
		handoff.Ordinal = 1
		record.Handoff = &handoff
		return plan.Decision{Record: &record}
	}
	ends := func(s plan.Snapshot) plan.Decision {
		record := s.Record
		record.Handoff = nil
		return plan.Decision{Record: &record}
	}
	for name, tc := range map[string]struct {
		decide func(plan.Snapshot) plan.Decision
		want   Spared
	}{
		"a volume is secured":           {decided(does(plan.CarryVolume, volumes.Secure)), all},
		"one is made":                   {decided(does(plan.CarryVolume, volumes.CreateVolume)), all},
		"a claim is made":               {decided(does(plan.CarryVolume, volumes.CreateClaim)), all},
		"a volume is parked":            {decided(does(plan.CarryVolume, volumes.Park)), Spared{Sets: both, Budgets: both, Pods: west, Claims: both, Volumes: both}},
		"one is pointed at a claim":     {decided(does(plan.CarryVolume, volumes.Point)), Spared{Sets: both, Budgets: both, Pods: both, Claims: both, Volumes: west}},
		"a claim is marked":             {decided(does(plan.CarryVolume, volumes.MarkClaim)), Spared{}},
		"a volume, in a way to come":    {decided(does(plan.CarryVolume, "Copy")), Spared{}},
		"an ordinal is stopped":         {decided(does(plan.ScaleDown, "")), Spared{Sets: east, Claims: west, Volumes: west}},
		"an ordinal is started":         {decided(does(plan.ScaleUp, "")), Spared{Sets: west, Budgets: both, Pods: both, Claims: east, Volumes: both}},
		"a budget is written":           {decided(does(plan.SetBudget, "")), Spared{Budgets: west}},
		"a policy is restored":          {decided(does(plan.RestorePolicy, "")), Spared{Sets: both, Budgets: both, Pods: both, Claims: east, Volumes: both}},
		"a copy is let go":              {decided(does(plan.CarryVolume, volumes.Loosen)), Spared{Sets: both, Budgets: both}},
		"its claim is deleted":          {decided(does(plan.CarryVolume, volumes.DeleteDropped)), Spared{Sets: both, Budgets: both}},
		"a claim is deleted":            {decided(does(plan.DeleteClaim, "")), Spared{}},
		"one arrives, another one goes": {next, Spared{Sets: both, Budgets: both, Pods: both, Claims: east, Volumes: both}},
		"the last one arrives":          {ends, Spared{Sets: both, Budgets: both, Pods: east, Claims: east, Volumes: both}},
		"nothing of it is recorded":     {func(s plan.Snapshot) plan.Decision { return plan.Decision{Record: &s.Record} }, Spared{Pods: both}},
	} {
		t.Run(name, func(t *testing.T) {
			s := inFlight()
			if diff := cmp.Diff(tc.want, Lean(s, tc.decide(s)).Spared); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
	for name, change := range map[string]func(*plan.Snapshot){
		"in one cluster both sides share a volume": func(s *plan.Snapshot) { s.Spec.SameCluster = true },
		"a side that is lost shows nothing":        func(s *plan.Snapshot) { s.Destination.Lost = true },
		"the clusters are asked who they are":      func(s *plan.Snapshot) { s.Destination.Set.Fence = "" },
	} {
		s := inFlight()
		change(&s)
		if got := Lean(s, does(plan.CarryVolume, volumes.Park)); got.Spared != (Spared{}) {
			t.Errorf("%s, and %+v is left to the caches", name, got.Spared)
		}
	}
	if got := Lean(inFlight(), plan.Decision{}); got != (Reads{}) {
		t.Errorf("a wait reads %+v", got)
	}
}

func decided(d plan.Decision) func(plan.Snapshot) plan.Decision {
	return func(plan.Snapshot) plan.Decision { return d }
}

// inFlight is a migration whose ordinal 2 is in flight to the destination.
func inFlight() plan.Snapshot {
	fence := api.Fence{Epoch: 1, Holder: "a", Direction: api.Forward}
	set := plan.Set{Presence: plan.Seen, Fence: "uid.1", Replicas: 3, Templates: []string{"data"}}
	return plan.Snapshot{
		UID: "uid", Record: plan.Record{Baseline: &api.Baseline{Replicas: 3}, Fence: &fence, Handoff: &api.Handoff{Ordinal: 2}},
		Source: plan.Side{Reach: plan.Seen, Set: set}, Destination: plan.Side{Reach: plan.Seen, Set: set},
	}
}

// TestLeanOfTheWhole: the begin and the end of a migration, and the creation of the destination's objects, depend
// on their record, or on the objects that they copy (I3, I4, I9).
func TestLeanOfTheWhole(t *testing.T) {
	const both = BothSides
	does := func(verb plan.Verb) func(plan.Snapshot) plan.Decision {
		return decided(plan.Decision{Effect: &plan.Effect{Verb: verb, Side: plan.DestinationSide}})
	}
	records := func(change func(*plan.Record)) func(plan.Snapshot) plan.Decision {
		return func(s plan.Snapshot) plan.Decision {
			record := s.Record
			change(&record)
			return plan.Decision{Record: &record}
		}
	}
	ends := decided(plan.Decision{Done: api.ReasonMoved})
	away := func(s *plan.Snapshot) { s.Destination.Set = plan.Set{Presence: plan.Absent} }
	without := func(*plan.Snapshot) {}
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		decide func(plan.Snapshot) plan.Decision
		want   Reads
	}{
		"it begins": {
			func(s *plan.Snapshot) { s.Record.Baseline = nil }, records(func(r *plan.Record) { r.Baseline = &api.Baseline{} }),
			Reads{Live: true, Wide: true, Budgets: true, Spared: Spared{Pods: both, Claims: both, Volumes: both}},
		},
		"its end is noted": {without, records(func(r *plan.Record) { r.Completed = api.ReasonMoved }), Reads{Live: true, Wide: true, Budgets: true, Spared: Spared{Pods: both}}},
		"another set is taken for it": {
			func(s *plan.Snapshot) { s.Record.Baseline.DestinationUID = "d" }, records(func(r *plan.Record) { r.Baseline = &api.Baseline{DestinationUID: "e"} }),
			Reads{Live: true, Wide: true, Budgets: true},
		},
		"it is done":                         {func(s *plan.Snapshot) { s.Record.Completed = api.ReasonMoved }, ends, Reads{Live: true}},
		"done, and nothing was noted":        {without, ends, Reads{Live: true, Wide: true}},
		"done, and the source is deleted":    {func(s *plan.Snapshot) { s.Record.Completed, s.Spec.DeleteSource = api.ReasonMoved, true }, ends, Reads{Live: true, Wide: true}},
		"a handoff begins":                   {without, records(func(r *plan.Record) { r.Handoff = &api.Handoff{} }), Reads{Live: true}},
		"a fence is recorded, none is there": {away, records(func(*plan.Record) {}), Reads{Live: true, Identity: OfDestination}},
		"a fence is written":                 {away, does(plan.WriteFence), Reads{Live: true, Identity: OfDestination}},
		"one is taken off":                   {without, does(plan.ReleaseFence), Reads{Live: true}},
		"a budget is written":                {without, does(plan.SetBudget), Reads{Live: true, Budgets: true, Spared: Spared{Budgets: OfDestination}}},
		"one is given back":                  {without, does(plan.RestoreBudget), Reads{Live: true, Budgets: true, Spared: Spared{Budgets: OfDestination}}},
		"a namespace is made":                {away, does(plan.CreateNamespace), Reads{Live: true, Namespace: true, Identity: OfDestination, Spared: Spared{Sets: both}}},
		"a Service":                          {away, does(plan.CreateService), Reads{Live: true, Namespace: true, Identity: OfDestination, Spared: Spared{Sets: both}}},
		"a budget":                           {away, does(plan.CreateBudget), Reads{Live: true, Namespace: true, Identity: OfDestination, Spared: Spared{Sets: both}}},
		"a set":                              {away, does(plan.CreateSet), Reads{Live: true, Namespace: true, Identity: OfDestination, Spared: Spared{Sets: both}}},
		"a budget, for a set that is there":  {without, does(plan.CreateBudget), Reads{Live: true, Budgets: true}},
		"a set is deleted":                   {without, does(plan.DeleteSet), Reads{Live: true, Budgets: true, Wide: true}},
		"an export is made":                  {without, does(plan.CreateExport), Reads{Live: true, Budgets: true}},
	} {
		t.Run(name, func(t *testing.T) {
			s := inFlight()
			s.Record.Handoff = nil
			tc.change(&s)
			if diff := cmp.Diff(tc.want, Lean(s, tc.decide(s))); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// TestSidesAreAdded: a read covers one that spares as much or more, and not one that spares less.
func TestSidesAreAdded(t *testing.T) {
	two := int32(2)
	reads := func(spared Spared) Reads {
		return Reads{Live: true, Ordinal: &two, Pods: true, Volumes: true, Spared: spared}
	}
	for name, tc := range map[string]struct {
		have, need Spared
		want       bool
	}{
		"all of it":             {Spared{}, Spared{Pods: OfSource}, true},
		"the same":              {Spared{Pods: OfSource}, Spared{Pods: OfSource}, true},
		"the other side":        {Spared{Pods: OfDestination}, Spared{Pods: OfSource}, false},
		"one side of both":      {Spared{Pods: OfSource}, Spared{Pods: BothSides}, true},
		"sets are missing":      {Spared{Sets: OfSource}, Spared{Pods: OfSource}, false},
		"pods are missing":      {Spared{Pods: OfSource}, Spared{}, false},
		"claims are missing":    {Spared{Claims: OfSource}, Spared{}, false},
		"budgets are missing":   {Spared{Budgets: OfSource}, Spared{Pods: OfSource}, false},
		"volumes are missing":   {Spared{Volumes: OfDestination}, Spared{}, false},
		"another kind is spare": {Spared{Claims: OfSource}, Spared{Volumes: OfSource}, false},
	} {
		if got := reads(tc.have).Covers(reads(tc.need)); got != tc.want {
			t.Errorf("%s: covers %t", name, got)
		}
	}
	if NoSide.Has(plan.SourceSide) || !OfSource.Has(plan.SourceSide) || OfSource.Has(plan.DestinationSide) || !BothSides.Has(plan.DestinationSide) {
		t.Error("sides are mixed up")
	}
}
