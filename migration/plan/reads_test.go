package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// TestScopeOf: nothing is written on the word of a cache: what is read live before a decision is
// carried out is all that it rests upon.
func TestScopeOf(t *testing.T) {
	one, two, three := int32(1), int32(2), int32(3)
	fenced := func(presence Presence, fence string) Side {
		return Side{Set: Set{Presence: presence, Fence: fence, Templates: []string{"data"}}}
	}
	under := func(handoff *api.Handoff) Snapshot {
		return Snapshot{
			UID: "m", Source: fenced(Seen, "m.2"), Destination: fenced(Seen, "m.2"),
			Record: Record{Baseline: &api.Baseline{DestinationUID: "d"}, Handoff: handoff},
		}
	}
	moving, resting := under(&api.Handoff{Ordinal: 2, Volumes: []api.HandoffVolume{{Name: "v"}}}), under(nil)
	unproven, bare, begins := under(nil), under(nil), under(nil)
	unproven.Destination.Set.Fence = "another.2"
	bare.Source.Set.Templates = nil
	begins.Record.Baseline = nil
	more := under(moving.Record.Handoff)
	more.Record.Baseline.Replicas, more.Source.Set.Replicas, more.Destination.Set.Start, more.Destination.Set.Replicas = 3, 2, 2, 1
	stays := under(moving.Record.Handoff)
	stays.Record.Baseline.Replicas, stays.Source.Set.Replicas = 3, 3
	does := func(verb Verb, on volumes.Verb) Decision {
		return Decision{Effect: &Effect{Verb: verb, Side: DestinationSide, Ordinal: 3, Volume: volumes.Action{Verb: on}}}
	}
	notes := func(change func(*Record)) Decision {
		record := moving.Record
		base, handoff := *record.Baseline, *record.Handoff
		record.Baseline, record.Handoff = &base, &handoff
		change(&record)
		return Decision{Record: &record}
	}
	holds := func(reason string) Decision { return Decision{Hold: &Hold{Reason: reason}} }
	wide, allOfIt := Reads{Live: true, Budgets: true, Wide: true}, Reads{Live: true, Wide: true}
	for name, tc := range map[string]struct {
		s        Snapshot
		decision Decision
		want     Reads
	}{
		"it waits":                       {moving, Decision{}, Reads{}},
		"it holds":                       {moving, holds(api.ReasonPaused), Reads{}},
		"another cluster":                {moving, holds(api.ReasonClusterReplaced), Reads{Live: true, Identity: BothSides}},
		"the destination is missing":     {moving, holds(api.ReasonDestinationMissing), Reads{Live: true, Wide: true}},
		"the destination is another one": {moving, holds(api.ReasonDestinationReplaced), Reads{Live: true, Wide: true}},
		"the disk is another one":        {moving, holds(volumes.ReasonAnotherDisk), Reads{Live: true, Wide: true}},
		"a budget is written":            {moving, does(SetBudget, ""), Reads{Live: true, Budgets: true, Ordinal: &two, Pods: true}},
		"and no ordinal is on its way":   {resting, does(SetBudget, ""), Reads{Live: true, Budgets: true}},
		"the fence is not on both sides": {unproven, does(SetBudget, ""), Reads{Live: true, Budgets: true, Identity: OfDestination}},
		"a set is deleted":               {resting, does(DeleteSet, ""), wide},
		"a roll-out gets a share":        {resting, does(SetShare, ""), wide},
		"an ordinal is stopped":          {resting, does(ScaleDown, ""), Reads{Live: true, Budgets: true, Ordinal: &three, Volumes: true, Pods: true, Gate: true}},
		"an ordinal is started":          {resting, does(ScaleUp, ""), Reads{Live: true, Ordinal: &three, Volumes: true, Pods: true, Users: true, Left: SourceSide}},
		"one without volumes is started": {bare, does(ScaleUp, ""), Reads{Live: true, Ordinal: &three, Volumes: true, Pods: true}},
		"a volume is secured":            {resting, does(CarryVolume, volumes.Secure), Reads{Live: true, Ordinal: &three, Volumes: true}},
		"a policy is restored":           {resting, does(RestorePolicy, volumes.Secure), Reads{Live: true, Budgets: true, Ordinal: &three, Volumes: true, Pods: true}},
		"a volume is made":               {resting, does(CarryVolume, volumes.CreateVolume), Reads{Live: true, Ordinal: &three, Volumes: true}},
		"a claim is made":                {resting, does(CarryVolume, volumes.CreateClaim), Reads{Live: true, Ordinal: &three, Volumes: true}},
		"a volume is parked":             {resting, does(CarryVolume, volumes.Park), Reads{Live: true, Ordinal: &three, Volumes: true, Pods: true}},
		"a claim is deleted":             {resting, does(DeleteClaim, ""), Reads{Live: true, Budgets: true, Ordinal: &three, Volumes: true, Pods: true}},
		"it ends":                        {moving, Decision{Record: &moving.Record, Done: api.ReasonMoved}, allOfIt},
		"the record is given up":         {moving, notes(func(r *Record) { r.Baseline = nil }), allOfIt},
		"the record begins":              {begins, notes(func(*Record) {}), wide},
		"the end is noted":               {moving, notes(func(r *Record) { r.Completed = api.ReasonMoved }), allOfIt},
		"another set is taken for it":    {moving, notes(func(r *Record) { r.Baseline.DestinationUID = "other" }), allOfIt},
		"the same is noted again":        {moving, notes(func(*Record) {}), Reads{Live: true, Ordinal: &two, Pods: true}},
		"other volumes are noted":        {moving, notes(func(r *Record) { r.Handoff.Volumes = []api.HandoffVolume{{Name: "w"}} }), Reads{Live: true, Ordinal: &two, Pods: true, Volumes: true}},
		"the handoff ends":               {moving, notes(func(r *Record) { r.Handoff = nil }), Reads{Live: true, Ordinal: &two, Pods: true, Volumes: true}},
		"it is given up":                 {stays, notes(func(r *Record) { r.Handoff = nil }), Reads{Live: true, Ordinal: &two, Pods: true, Volumes: true}},
		"it ends, and one is next":       {more, notes(func(r *Record) { r.Handoff = nil }), Reads{Live: true, Ordinal: &two, Pods: true, Volumes: true, Next: &one}},
		"the next one begins":            {moving, notes(func(r *Record) { r.Handoff.Ordinal = 3 }), Reads{Live: true, Ordinal: &two, Pods: true, Volumes: true, Next: &three}},
		"a handoff begins":               {resting, notes(func(*Record) {}), Reads{Live: true, Budgets: true}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, ReadsFor(tc.s, tc.decision), cmp.AllowUnexported(Reads{})); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
	begins.Record.Baseline = &api.Baseline{}
	if takesForAnother(begins, notes(func(*Record) {})) {
		t.Error("the first destination is taken for another one")
	}
}

// TestProven: a set shows which cluster it is in by the fence of this migration, or by being the very
// one that is recorded (I1, I9).
func TestProven(t *testing.T) {
	const east, west, both = OfSource, OfDestination, BothSides
	for name, tc := range map[string]struct {
		change func(*Snapshot)
		want   Sides
	}{
		"both":                          {func(*Snapshot) {}, both},
		"no migration":                  {func(s *Snapshot) { s.UID = ""; s.Source.Set.Fence, s.Destination.Set.Fence = "", "" }, NoSide},
		"not the source":                {func(s *Snapshot) { s.Source.Set.Fence = "another.1" }, west},
		"not the destination":           {func(s *Snapshot) { s.Destination.Set.Fence = "another.1" }, east},
		"the source is not there":       {func(s *Snapshot) { s.Source.Set.Presence = Absent }, west},
		"the destination is not there":  {func(s *Snapshot) { s.Destination.Set.Presence = Absent }, east},
		"the destination is lost":       {func(s *Snapshot) { s.Destination = Side{Lost: true} }, both},
		"lost, and the source not ours": {func(s *Snapshot) { s.Destination = Side{Lost: true}; s.Source.Set.Fence = "" }, west},
		"those that are recorded": {func(s *Snapshot) {
			s.Source.Set.Fence, s.Destination.Set.Fence = "", ""
			s.Record.Baseline = &api.Baseline{SourceUID: "s", DestinationUID: "d"}
		}, both},
		"others than those": {func(s *Snapshot) {
			s.Source.Set.Fence, s.Destination.Set.Fence = "", ""
			s.Record.Baseline = &api.Baseline{SourceUID: "d", DestinationUID: "s"}
		}, NoSide},
		"the source is recorded, and away": {func(s *Snapshot) {
			s.Source.Set.Presence = Absent
			s.Record.Baseline = &api.Baseline{SourceUID: "s"}
		}, west},
	} {
		s := Snapshot{UID: "m", Source: Side{Set: Set{Presence: Seen, Fence: "m.1", UID: "s"}}, Destination: Side{Set: Set{Presence: Seen, Fence: "m.1", UID: "d"}}}
		tc.change(&s)
		if got := proven(s); got != tc.want {
			t.Errorf("%s: proven %d", name, got)
		}
	}
}

// TestCovers: what has been read is enough when it holds all that is asked for, of the same
// ordinals, and as exactly.
func TestCovers(t *testing.T) {
	two, three, again := int32(2), int32(3), int32(2)
	full := Reads{Live: true, Ordinal: &two, Next: &three, Pods: true, Budgets: true, Volumes: true, Gate: true, Identity: BothSides}
	with := func(change func(*Reads)) Reads {
		sc := full
		change(&sc)
		return sc
	}
	for name, tc := range map[string]struct {
		have, need Reads
		want       bool
	}{
		"nothing is asked for":             {Reads{}, Reads{Budgets: true}, true},
		"a cache":                          {Reads{Budgets: true}, Reads{Live: true}, false},
		"the same":                         {full, with(func(s *Reads) { s.Ordinal = &again }), true},
		"less":                             {full, Reads{Live: true}, false},
		"less, of the ordinal":             {full, Reads{Live: true, Ordinal: &again}, true},
		"another ordinal":                  {full, Reads{Live: true, Ordinal: &three}, false},
		"no ordinal was read":              {Reads{Live: true}, Reads{Live: true, Ordinal: &two}, true},
		"nor its volumes":                  {Reads{Live: true, Volumes: true}, Reads{Live: true, Ordinal: &two, Volumes: true}, false},
		"another next one":                 {full, Reads{Live: true, Ordinal: &two, Next: &two}, false},
		"no next one":                      {with(func(s *Reads) { s.Next = nil }), full, false},
		"the clusters were not asked for":  {with(func(s *Reads) { s.Identity = NoSide }), full, false},
		"one of them was not":              {with(func(s *Reads) { s.Identity = OfSource }), full, false},
		"the namespace was not looked for": {full, Reads{Live: true, Namespace: true}, false},
		"nor with all":                     {Reads{Live: true, Wide: true}, Reads{Live: true, Identity: OfSource}, false},
		"all of it":                        {Reads{Live: true, Wide: true}, with(func(s *Reads) { s.Identity = NoSide }), true},
		"not all of it":                    {full, Reads{Live: true, Wide: true}, false},
		"all of no ordinal":                {Reads{Live: true}, Reads{Live: true, Wide: true}, false},
		"those who left, not asked for":    {Reads{Live: true, Left: SourceSide}, Reads{Live: true}, true},
		"no pods":                          {with(func(s *Reads) { s.Pods = false }), full, false},
		"no budgets":                       {with(func(s *Reads) { s.Budgets = false }), full, false},
		"no volumes":                       {with(func(s *Reads) { s.Volumes = false }), full, false},
		"not exactly":                      {with(func(s *Reads) { s.Gate = false }), full, false},
		"users, which were listed":         {full, with(func(s *Reads) { s.Gate, s.Users = false, true }), true},
		"users by the cache of the server": {with(func(s *Reads) { s.Gate, s.Users = false, true }), with(func(s *Reads) { s.Gate, s.Users = false, true }), true},
		"users were not listed":            {with(func(s *Reads) { s.Gate = false }), with(func(s *Reads) { s.Gate, s.Users = false, true }), false},
		"those who left":                   {with(func(s *Reads) { s.Gate, s.Left = false, SourceSide }), with(func(s *Reads) { s.Gate, s.Left = false, SourceSide }), true},
		"those who left the other side":    {with(func(s *Reads) { s.Gate, s.Left = false, SourceSide }), with(func(s *Reads) { s.Gate, s.Left = false, DestinationSide }), false},
		"those who left, of all":           {full, with(func(s *Reads) { s.Gate, s.Left = false, DestinationSide }), true},
	} {
		if got := tc.have.Covers(tc.need); got != tc.want {
			t.Errorf("%s: covers %t", name, got)
		}
	}
}

// TestTakesAway: between clusters a volume is taken by parking it, in one by pointing it elsewhere.
func TestTakesAway(t *testing.T) {
	for _, verb := range []volumes.Verb{volumes.Secure, volumes.Park, volumes.Point, volumes.CreateVolume} {
		carries := Effect{Verb: CarryVolume, Volume: volumes.Action{Verb: verb}}
		if carries.TakesAway(false) != (verb == volumes.Park) || carries.TakesAway(true) != (verb == volumes.Point) {
			t.Errorf("%s takes away %t, in one cluster %t", verb, carries.TakesAway(false), carries.TakesAway(true))
		}
	}
	if (Effect{Verb: ScaleDown, Volume: volumes.Action{Verb: volumes.Park}}).TakesAway(false) {
		t.Error("a stop takes a volume away")
	}
}

// TestNear: while an ordinal is on its way a pass begins with what the caches show of it, and nothing is
// recorded, concluded, begun or called a stall on that.
func TestNear(t *testing.T) {
	if got := Near(Record{}); got != (Reads{}) {
		t.Errorf("none is on its way: %+v", got)
	}
	near := Near(Record{Handoff: &api.Handoff{Ordinal: 3}})
	if near.Ordinal == nil || *near.Ordinal != 3 || !near.Volumes || near.Wide || near.Pods || near.Budgets {
		t.Errorf("got %+v", near)
	}
	if all := (Spared{Sets: BothSides, Budgets: BothSides, Pods: BothSides, Claims: BothSides, Volumes: BothSides}); near.Spared != all {
		t.Errorf("live is read all but %+v", near.Spared)
	}
	if near.Covers(Reads{Live: true}) || !near.Covers(Reads{}) {
		t.Error("the caches are taken for the API servers, or not for what they are")
	}
	running, down := healthy(0, 4, nil, "data"), healthy(0, 3, nil, "data")
	for _, s := range []*Snapshot{&running, &down} {
		s.Record = Record{Baseline: &api.Baseline{Replicas: 4}, Handoff: &api.Handoff{Ordinal: 3}}
	}
	for name, tc := range map[string]struct {
		s        Snapshot
		decision Decision
		want     bool
	}{
		"a record":            {down, Decision{Record: &Record{}}, true},
		"the end":             {down, Decision{Done: api.ReasonMoved}, true},
		"a stop":              {running, *effect(Effect{Verb: ScaleDown}), true},
		"what is before that": {running, *effect(Effect{Verb: SetBudget}), true},
		"a start":             {down, *effect(Effect{Verb: ScaleUp}), false},
		"a volume":            {down, *effect(Effect{Verb: CarryVolume}), false},
		"nothing":             {down, Decision{}, true},
		"a wait":              {down, Decision{Hold: &Hold{Reason: api.ReasonPodNotReady}}, false},
		"a stall":             {down, *Stalled(api.ReasonForeignScale, "", ""), true},
		"nothing left for it": {down, *done(), true},
		"none on its way":     {healthy(0, 3, nil, "data"), *effect(Effect{Verb: ScaleUp}), true},
	} {
		if got := NeedsAll(tc.s, tc.decision); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
