package migration

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// TestScopeOf: nothing is written on the word of a cache: what is read live before a decision is
// carried out is all that it rests upon.
func TestScopeOf(t *testing.T) {
	two, three := int32(2), int32(3)
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
	wide, allOfIt := scope{live: true, budgets: true, wide: true}, scope{live: true, wide: true}
	for name, tc := range map[string]struct {
		s        Snapshot
		decision Decision
		want     scope
	}{
		"it waits":                       {moving, Decision{}, scope{}},
		"it holds":                       {moving, holds(api.ReasonPaused), scope{}},
		"another cluster":                {moving, holds(api.ReasonClusterReplaced), scope{live: true, identity: true}},
		"the destination is missing":     {moving, holds(api.ReasonDestinationMissing), scope{live: true, wide: true}},
		"the destination is another one": {moving, holds(api.ReasonDestinationReplaced), scope{live: true, wide: true}},
		"the disk is another one":        {moving, holds(volumes.ReasonAnotherDisk), scope{live: true, wide: true}},
		"a budget is written":            {moving, does(SetBudget, ""), scope{live: true, budgets: true, ordinal: &two, pods: true}},
		"and no ordinal is on its way":   {resting, does(SetBudget, ""), scope{live: true, budgets: true}},
		"the fence is not on both sides": {unproven, does(SetBudget, ""), scope{live: true, budgets: true, identity: true}},
		"a set is deleted":               {resting, does(DeleteSet, ""), wide},
		"a roll-out gets a share":        {resting, does(SetShare, ""), wide},
		"an ordinal is stopped":          {resting, does(ScaleDown, ""), scope{live: true, budgets: true, ordinal: &three, volumes: true, pods: true, gate: true}},
		"an ordinal is started":          {resting, does(ScaleUp, ""), scope{live: true, ordinal: &three, volumes: true, pods: true, users: true, left: SourceSide}},
		"one without volumes is started": {bare, does(ScaleUp, ""), scope{live: true, ordinal: &three, volumes: true, pods: true}},
		"a volume is secured":            {resting, does(CarryVolume, volumes.Secure), scope{live: true, ordinal: &three, volumes: true}},
		"a policy is restored":           {resting, does(RestorePolicy, volumes.Secure), scope{live: true, budgets: true, ordinal: &three, volumes: true, pods: true}},
		"a volume is made":               {resting, does(CarryVolume, volumes.CreateVolume), scope{live: true, ordinal: &three, volumes: true}},
		"a claim is made":                {resting, does(CarryVolume, volumes.CreateClaim), scope{live: true, ordinal: &three, volumes: true}},
		"a volume is parked":             {resting, does(CarryVolume, volumes.Park), scope{live: true, ordinal: &three, volumes: true, pods: true}},
		"a claim is deleted":             {resting, does(DeleteClaim, ""), scope{live: true, budgets: true, ordinal: &three, volumes: true, pods: true}},
		"it ends":                        {moving, Decision{Record: &moving.Record, Done: api.ReasonMoved}, allOfIt},
		"the record is given up":         {moving, notes(func(r *Record) { r.Baseline = nil }), allOfIt},
		"the record begins":              {begins, notes(func(*Record) {}), wide},
		"the end is noted":               {moving, notes(func(r *Record) { r.Completed = api.ReasonMoved }), allOfIt},
		"another set is taken for it":    {moving, notes(func(r *Record) { r.Baseline.DestinationUID = "other" }), allOfIt},
		"the same is noted again":        {moving, notes(func(*Record) {}), scope{live: true, ordinal: &two, pods: true}},
		"other volumes are noted":        {moving, notes(func(r *Record) { r.Handoff.Volumes = []api.HandoffVolume{{Name: "w"}} }), scope{live: true, ordinal: &two, pods: true, volumes: true}},
		"the handoff ends":               {moving, notes(func(r *Record) { r.Handoff = nil }), scope{live: true, ordinal: &two, pods: true, volumes: true}},
		"the next one begins":            {moving, notes(func(r *Record) { r.Handoff.Ordinal = 3 }), scope{live: true, ordinal: &two, pods: true, volumes: true, next: &three}},
		"a handoff begins":               {resting, notes(func(*Record) {}), scope{live: true, budgets: true}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, scopeOf(tc.s, tc.decision), cmp.AllowUnexported(scope{})); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
	begins.Record.Baseline = &api.Baseline{}
	if takesForAnother(begins, notes(func(*Record) {})) {
		t.Error("the first destination is taken for another one")
	}
}

// TestProven: both sets bear the fence of this migration, or the destination is lost.
func TestProven(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Snapshot)
		want   bool
	}{
		"both":                          {func(*Snapshot) {}, true},
		"no migration":                  {func(s *Snapshot) { s.UID = ""; s.Source.Set.Fence, s.Destination.Set.Fence = "", "" }, false},
		"not the source":                {func(s *Snapshot) { s.Source.Set.Fence = "another.1" }, false},
		"not the destination":           {func(s *Snapshot) { s.Destination.Set.Fence = "another.1" }, false},
		"the source is not there":       {func(s *Snapshot) { s.Source.Set.Presence = Absent }, false},
		"the destination is not there":  {func(s *Snapshot) { s.Destination.Set.Presence = Absent }, false},
		"the destination is lost":       {func(s *Snapshot) { s.Destination = Side{Lost: true} }, true},
		"lost, and the source not ours": {func(s *Snapshot) { s.Destination = Side{Lost: true}; s.Source.Set.Fence = "" }, false},
	} {
		set := Set{Presence: Seen, Fence: "m.1"}
		s := Snapshot{UID: "m", Source: Side{Set: set}, Destination: Side{Set: set}}
		tc.change(&s)
		if got := proven(s); got != tc.want {
			t.Errorf("%s: proven %t", name, got)
		}
	}
}

// TestCovers: what has been read is enough when it holds all that is asked for, of the same
// ordinals, and as exactly.
func TestCovers(t *testing.T) {
	two, three, again := int32(2), int32(3), int32(2)
	full := scope{live: true, ordinal: &two, next: &three, pods: true, budgets: true, volumes: true, gate: true, identity: true}
	with := func(change func(*scope)) scope {
		sc := full
		change(&sc)
		return sc
	}
	for name, tc := range map[string]struct {
		have, need scope
		want       bool
	}{
		"nothing is asked for":             {scope{}, scope{budgets: true}, true},
		"a cache":                          {scope{budgets: true}, scope{live: true}, false},
		"the same":                         {full, with(func(s *scope) { s.ordinal = &again }), true},
		"less":                             {full, scope{live: true}, false},
		"less, of the ordinal":             {full, scope{live: true, ordinal: &again}, true},
		"another ordinal":                  {full, scope{live: true, ordinal: &three}, false},
		"no ordinal was read":              {scope{live: true}, scope{live: true, ordinal: &two}, true},
		"nor its volumes":                  {scope{live: true, volumes: true}, scope{live: true, ordinal: &two, volumes: true}, false},
		"another next one":                 {full, scope{live: true, ordinal: &two, next: &two}, false},
		"no next one":                      {with(func(s *scope) { s.next = nil }), full, false},
		"the clusters were not asked for":  {with(func(s *scope) { s.identity = false }), full, false},
		"nor with all":                     {scope{live: true, wide: true}, scope{live: true, identity: true}, false},
		"all of it":                        {scope{live: true, wide: true}, with(func(s *scope) { s.identity = false }), true},
		"not all of it":                    {full, scope{live: true, wide: true}, false},
		"all of no ordinal":                {scope{live: true}, scope{live: true, wide: true}, false},
		"those who left, not asked for":    {scope{live: true, left: SourceSide}, scope{live: true}, true},
		"no pods":                          {with(func(s *scope) { s.pods = false }), full, false},
		"no budgets":                       {with(func(s *scope) { s.budgets = false }), full, false},
		"no volumes":                       {with(func(s *scope) { s.volumes = false }), full, false},
		"not exactly":                      {with(func(s *scope) { s.gate = false }), full, false},
		"users, which were listed":         {full, with(func(s *scope) { s.gate, s.users = false, true }), true},
		"users by the cache of the server": {with(func(s *scope) { s.gate, s.users = false, true }), with(func(s *scope) { s.gate, s.users = false, true }), true},
		"users were not listed":            {with(func(s *scope) { s.gate = false }), with(func(s *scope) { s.gate, s.users = false, true }), false},
		"those who left":                   {with(func(s *scope) { s.gate, s.left = false, SourceSide }), with(func(s *scope) { s.gate, s.left = false, SourceSide }), true},
		"those who left the other side":    {with(func(s *scope) { s.gate, s.left = false, SourceSide }), with(func(s *scope) { s.gate, s.left = false, DestinationSide }), false},
		"those who left, of all":           {full, with(func(s *scope) { s.gate, s.left = false, DestinationSide }), true},
	} {
		if got := tc.have.covers(tc.need); got != tc.want {
			t.Errorf("%s: covers %t", name, got)
		}
	}
}

// TestTakesAway: between clusters a volume is taken by parking it, in one by pointing it elsewhere.
func TestTakesAway(t *testing.T) {
	for _, verb := range []volumes.Verb{volumes.Secure, volumes.Park, volumes.Point, volumes.CreateVolume} {
		carries := Effect{Verb: CarryVolume, Volume: volumes.Action{Verb: verb}}
		if takesAway(carries, false) != (verb == volumes.Park) || takesAway(carries, true) != (verb == volumes.Point) {
			t.Errorf("%s takes away %t, in one cluster %t", verb, takesAway(carries, false), takesAway(carries, true))
		}
	}
	if takesAway(Effect{Verb: ScaleDown, Volume: volumes.Action{Verb: volumes.Park}}, false) {
		t.Error("a stop takes a volume away")
	}
}
