package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// TestLean: what is left to the caches is named for each write, and everything else is read live,
// also where a write is added that nobody has thought about (I1, I2, I3).
func TestLean(t *testing.T) {
	const east, west, both = OfSource, OfDestination, BothSides
	all := Spared{both, both, both, both, both}
	does := func(verb Verb, action volumes.Verb) Decision {
		return Decision{Effect: &Effect{Verb: verb, Side: DestinationSide, Ordinal: 2, Volume: volumes.Action{Verb: action}}}
	}
	next := func(s Snapshot) Decision {
		record, handoff := s.Record, *s.Record.Handoff
		handoff.Ordinal = 1
		record.Handoff = &handoff
		return Decision{Record: &record}
	}
	ends := func(s Snapshot) Decision {
		record := s.Record
		record.Handoff = nil
		return Decision{Record: &record}
	}
	for name, tc := range map[string]struct {
		decide func(Snapshot) Decision
		want   Spared
	}{
		"a volume is secured":           {decided(does(CarryVolume, volumes.Secure)), all},
		"one is made":                   {decided(does(CarryVolume, volumes.CreateVolume)), all},
		"a claim is made":               {decided(does(CarryVolume, volumes.CreateClaim)), all},
		"a volume is parked":            {decided(does(CarryVolume, volumes.Park)), Spared{Sets: both, Budgets: both, Pods: west, Claims: both, Volumes: both}},
		"one is pointed at a claim":     {decided(does(CarryVolume, volumes.Point)), Spared{Sets: both, Budgets: both, Pods: both, Claims: both, Volumes: west}},
		"a claim is marked":             {decided(does(CarryVolume, volumes.MarkClaim)), Spared{}},
		"a volume, in a way to come":    {decided(does(CarryVolume, "Copy")), Spared{}},
		"an ordinal is stopped":         {decided(does(ScaleDown, "")), Spared{Sets: east, Claims: west, Volumes: west}},
		"an ordinal is started":         {decided(does(ScaleUp, "")), Spared{Sets: west, Budgets: both, Pods: both, Claims: east, Volumes: both}},
		"a budget is written":           {decided(does(SetBudget, "")), Spared{Budgets: west}},
		"a policy is restored":          {decided(does(RestorePolicy, "")), Spared{Sets: both, Budgets: both, Pods: both, Claims: east, Volumes: both}},
		"a claim is deleted":            {decided(does(DeleteClaim, "")), Spared{}},
		"one arrives, another one goes": {next, Spared{Sets: both, Budgets: both, Pods: both, Claims: east, Volumes: both}},
		"the last one arrives":          {ends, Spared{Sets: both, Budgets: both, Pods: east, Claims: east, Volumes: both}},
		"nothing of it is recorded":     {func(s Snapshot) Decision { return Decision{Record: &s.Record} }, Spared{Pods: both}},
	} {
		t.Run(name, func(t *testing.T) {
			s := inFlight()
			if diff := cmp.Diff(tc.want, Lean(s, tc.decide(s)).Spared); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
	for name, change := range map[string]func(*Snapshot){
		"in one cluster both sides share a volume": func(s *Snapshot) { s.Spec.SameCluster = true },
		"a side that is lost shows nothing":        func(s *Snapshot) { s.Destination.Lost = true },
		"the clusters are asked who they are":      func(s *Snapshot) { s.Destination.Set.Fence = "" },
	} {
		s := inFlight()
		change(&s)
		if got := Lean(s, does(CarryVolume, volumes.Park)); got.Spared != (Spared{}) {
			t.Errorf("%s, and %+v is left to the caches", name, got.Spared)
		}
	}
	if got := Lean(inFlight(), Decision{}); got != (Reads{}) {
		t.Errorf("a wait reads %+v", got)
	}
}

func decided(d Decision) func(Snapshot) Decision { return func(Snapshot) Decision { return d } }

// inFlight is a migration whose ordinal 2 is on its way to the destination.
func inFlight() Snapshot {
	fence := api.Fence{Epoch: 1, Holder: "a", Direction: api.Forward}
	set := Set{Presence: Seen, Fence: "uid.1", Replicas: 3, Templates: []string{"data"}}
	return Snapshot{
		UID: "uid", Record: Record{Baseline: &api.Baseline{Replicas: 3}, Fence: &fence, Handoff: &api.Handoff{Ordinal: 2}},
		Source: Side{Reach: Seen, Set: set}, Destination: Side{Reach: Seen, Set: set},
	}
}

// TestLeanOfTheWhole: what begins and ends a migration, and what the destination needs, is judged on what
// is recorded of it, or on what it is copied from (I3, I4, I9).
func TestLeanOfTheWhole(t *testing.T) {
	const both = BothSides
	does := func(verb Verb) func(Snapshot) Decision {
		return decided(Decision{Effect: &Effect{Verb: verb, Side: DestinationSide}})
	}
	records := func(change func(*Record)) func(Snapshot) Decision {
		return func(s Snapshot) Decision {
			record := s.Record
			change(&record)
			return Decision{Record: &record}
		}
	}
	ends := decided(Decision{Done: api.ReasonMoved})
	away := func(s *Snapshot) { s.Destination.Set = Set{Presence: Absent} }
	without := func(*Snapshot) {}
	for name, tc := range map[string]struct {
		change func(*Snapshot)
		decide func(Snapshot) Decision
		want   Reads
	}{
		"it begins": {
			func(s *Snapshot) { s.Record.Baseline = nil }, records(func(r *Record) { r.Baseline = &api.Baseline{} }),
			Reads{Live: true, Wide: true, Budgets: true, Spared: Spared{Pods: both, Claims: both, Volumes: both}},
		},
		"its end is noted": {without, records(func(r *Record) { r.Completed = api.ReasonMoved }), Reads{Live: true, Wide: true, Budgets: true, Spared: Spared{Pods: both}}},
		"another set is taken for it": {
			func(s *Snapshot) { s.Record.Baseline.DestinationUID = "d" }, records(func(r *Record) { r.Baseline = &api.Baseline{DestinationUID: "e"} }),
			Reads{Live: true, Wide: true, Budgets: true},
		},
		"it is done":                         {func(s *Snapshot) { s.Record.Completed = api.ReasonMoved }, ends, Reads{Live: true}},
		"done, and nothing was noted":        {without, ends, Reads{Live: true, Wide: true}},
		"done, and the source is deleted":    {func(s *Snapshot) { s.Record.Completed, s.Spec.DeleteSource = api.ReasonMoved, true }, ends, Reads{Live: true, Wide: true}},
		"a handoff begins":                   {without, records(func(r *Record) { r.Handoff = &api.Handoff{} }), Reads{Live: true}},
		"a fence is recorded, none is there": {away, records(func(*Record) {}), Reads{Live: true, Identity: OfDestination}},
		"a fence is written":                 {away, does(WriteFence), Reads{Live: true, Identity: OfDestination}},
		"one is taken off":                   {without, does(ReleaseFence), Reads{Live: true}},
		"a budget is written":                {without, does(SetBudget), Reads{Live: true, Budgets: true, Spared: Spared{Budgets: OfDestination}}},
		"one is given back":                  {without, does(RestoreBudget), Reads{Live: true, Budgets: true, Spared: Spared{Budgets: OfDestination}}},
		"a namespace is made":                {away, does(CreateNamespace), Reads{Live: true, Namespace: true, Identity: OfDestination, Spared: Spared{Sets: both}}},
		"a Service":                          {away, does(CreateService), Reads{Live: true, Namespace: true, Identity: OfDestination, Spared: Spared{Sets: both}}},
		"a budget":                           {away, does(CreateBudget), Reads{Live: true, Namespace: true, Identity: OfDestination, Spared: Spared{Sets: both}}},
		"a set":                              {away, does(CreateSet), Reads{Live: true, Namespace: true, Identity: OfDestination, Spared: Spared{Sets: both}}},
		"a budget, for a set that is there":  {without, does(CreateBudget), Reads{Live: true, Budgets: true}},
		"a set is deleted":                   {without, does(DeleteSet), Reads{Live: true, Budgets: true, Wide: true}},
		"an export is made":                  {without, does(CreateExport), Reads{Live: true, Budgets: true}},
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

// TestSidesAreAdded: a read covers what another one spares, and not what it does not.
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
	if NoSide.Has(SourceSide) || !OfSource.Has(SourceSide) || OfSource.Has(DestinationSide) || !BothSides.Has(DestinationSide) {
		t.Error("sides are mixed up")
	}
}
