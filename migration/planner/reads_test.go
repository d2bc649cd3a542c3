package planner

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// TestScopeOf: nothing is written based on a cache alone: the live reads before a decision is carried out are
// everything on which it depends.
func TestScopeOf(t *testing.T) {
	one, two, three := int32(1), int32(2), int32(3)
	fenced := func(presence plan.Presence, fence string) plan.Side {
		return plan.Side{Set: plan.Set{Presence: presence, Fence: fence, Templates: []string{"data"}}}
	}
	under := func(handoff *api.Handoff) plan.Snapshot {
		return plan.Snapshot{
			UID: "m", Source: fenced(plan.Seen, "m.2"), Destination: fenced(plan.Seen, "m.2"),
			Record: plan.Record{Baseline: &api.Baseline{DestinationUID: "d"}, Handoff: handoff},
		}
	}
	moving, resting := under(&api.Handoff{Ordinal: 2, Volumes: []api.HandoffVolume{{Name: "v"}}}), under(nil)
	filling := under(&api.Handoff{Ordinal: 2, Volumes: []api.HandoffVolume{{Name: "v", Copy: api.CopyAttempt{Number: 1}}}})
	unproven, bare, begins := under(nil), under(nil), under(nil)
	unproven.Destination.Set.Fence = "another.2"
	bare.Source.Set.Templates = nil
	begins.Record.Baseline = nil
	early := under(moving.Record.Handoff)
	early.Early = &three
	more := under(moving.Record.Handoff)
	more.Record.Baseline.Replicas, more.Source.Set.Replicas, more.Destination.Set.Start, more.Destination.Set.Replicas = 3, 2, 2, 1
	stays := under(moving.Record.Handoff)
	stays.Record.Baseline.Replicas, stays.Source.Set.Replicas = 3, 3
	does := func(verb plan.Verb, on volumes.Verb) plan.Decision {
		return plan.Decision{Effect: &plan.Effect{Verb: verb, Side: plan.DestinationSide, Ordinal: 3, Volume: volumes.Action{Verb: on}}}
	}
	notes := func(change func(*plan.Record)) plan.Decision {
		record := moving.Record
		base, handoff := *record.Baseline, *record.Handoff
		record.Baseline, record.Handoff = &base, &handoff
		change(&record)
		return plan.Decision{Record: &record}
	}
	holds := func(reason string) plan.Decision { return plan.Decision{Hold: &plan.Hold{Reason: reason}} }
	wide, allOfIt := Reads{Live: true, Budgets: true, Wide: true}, Reads{Live: true, Wide: true}
	for name, tc := range map[string]struct {
		s        plan.Snapshot
		decision plan.Decision
		want     Reads
	}{
		"it waits":                       {moving, plan.Decision{}, Reads{}},
		"it holds":                       {moving, holds(api.ReasonPaused), Reads{}},
		"another cluster":                {moving, holds(api.ReasonClusterReplaced), Reads{Live: true, Identity: BothSides}},
		"the destination is missing":     {moving, holds(api.ReasonDestinationMissing), Reads{Live: true, Wide: true}},
		"the destination is another one": {moving, holds(api.ReasonDestinationReplaced), Reads{Live: true, Wide: true}},
		"the disk is another one":        {moving, holds(volumes.ReasonAnotherDisk), Reads{Live: true, Wide: true}},
		"a budget is written":            {moving, does(plan.SetBudget, ""), Reads{Live: true, Budgets: true, Ordinal: &two, Pods: true}},
		"and a second volume is filled":  {filling, does(plan.SetBudget, ""), Reads{Live: true, Budgets: true, Ordinal: &two, Pods: true, Volumes: true}},
		"the same is noted, meanwhile":   {filling, plan.Decision{Record: &filling.Record}, Reads{Live: true, Ordinal: &two, Pods: true, Volumes: true}},
		"and it ends":                    {filling, plan.Decision{Record: &filling.Record, Done: api.ReasonMoved}, allOfIt},
		"and no ordinal is on its way":   {resting, does(plan.SetBudget, ""), Reads{Live: true, Budgets: true}},
		"the fence is not on both sides": {unproven, does(plan.SetBudget, ""), Reads{Live: true, Budgets: true, Identity: OfDestination}},
		"a set is deleted":               {resting, does(plan.DeleteSet, ""), wide},
		"a roll-out gets a share":        {resting, does(plan.SetShare, ""), wide},
		"an ordinal is stopped":          {resting, does(plan.ScaleDown, ""), Reads{Live: true, Budgets: true, Ordinal: &three, Volumes: true, Pods: true, Gate: true}},
		"an ordinal is started":          {resting, does(plan.ScaleUp, ""), Reads{Live: true, Ordinal: &three, Volumes: true, Pods: true, Users: true, Left: plan.SourceSide}},
		"one without volumes is started": {bare, does(plan.ScaleUp, ""), Reads{Live: true, Ordinal: &three, Volumes: true, Pods: true}},
		"a volume is secured":            {resting, does(plan.CarryVolume, volumes.Secure), Reads{Live: true, Ordinal: &three, Volumes: true}},
		"a policy is restored":           {resting, does(plan.RestorePolicy, volumes.Secure), Reads{Live: true, Budgets: true, Ordinal: &three, Volumes: true, Pods: true}},
		"a volume is made":               {resting, does(plan.CarryVolume, volumes.CreateVolume), Reads{Live: true, Ordinal: &three, Volumes: true}},
		"a claim is made":                {resting, does(plan.CarryVolume, volumes.CreateClaim), Reads{Live: true, Ordinal: &three, Volumes: true}},
		"a volume is parked":             {resting, does(plan.CarryVolume, volumes.Park), Reads{Live: true, Ordinal: &three, Volumes: true, Pods: true}},
		"a claim is deleted":             {resting, does(plan.DeleteClaim, ""), Reads{Live: true, Budgets: true, Ordinal: &three, Volumes: true, Pods: true}},
		"one is copied early":            {early, does(plan.CarryVolume, volumes.CreateIncoming), Reads{Live: true, Ordinal: &three, Pods: true, Volumes: true}},
		"its author's budget is noted":   {moving, notes(func(r *plan.Record) { r.Baseline.DisruptionBudget = &api.DisruptionBudget{} }), Reads{Live: true, Budgets: true, Ordinal: &two, Pods: true}},
		"it ends":                        {moving, plan.Decision{Record: &moving.Record, Done: api.ReasonMoved}, allOfIt},
		"the record is given up":         {moving, notes(func(r *plan.Record) { r.Baseline = nil }), allOfIt},
		"the record begins":              {begins, notes(func(*plan.Record) {}), wide},
		"the end is noted":               {moving, notes(func(r *plan.Record) { r.Completed = api.ReasonMoved }), allOfIt},
		"another set is taken for it":    {moving, notes(func(r *plan.Record) { r.Baseline.DestinationUID = "other" }), allOfIt},
		"the same is noted again":        {moving, notes(func(*plan.Record) {}), Reads{Live: true, Ordinal: &two, Pods: true}},
		"other volumes are noted":        {moving, notes(func(r *plan.Record) { r.Handoff.Volumes = []api.HandoffVolume{{Name: "w"}} }), Reads{Live: true, Ordinal: &two, Pods: true, Volumes: true}},
		"the handoff ends":               {moving, notes(func(r *plan.Record) { r.Handoff = nil }), Reads{Live: true, Ordinal: &two, Pods: true, Volumes: true}},
		"it is given up":                 {stays, notes(func(r *plan.Record) { r.Handoff = nil }), Reads{Live: true, Ordinal: &two, Pods: true, Volumes: true}},
		"it ends, and one is next":       {more, notes(func(r *plan.Record) { r.Handoff = nil }), Reads{Live: true, Ordinal: &two, Pods: true, Volumes: true, Next: &one}},
		"the next one begins":            {moving, notes(func(r *plan.Record) { r.Handoff.Ordinal = 3 }), Reads{Live: true, Ordinal: &two, Pods: true, Volumes: true, Next: &three}},
		"a handoff begins":               {resting, notes(func(*plan.Record) {}), Reads{Live: true, Budgets: true}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, For(tc.s, tc.decision), cmp.AllowUnexported(Reads{})); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
	begins.Record.Baseline = &api.Baseline{}
	if takesForAnother(begins, notes(func(*plan.Record) {})) {
		t.Error("the first destination is taken for another one")
	}
}

// TestProven: a set proves which cluster it is in by the fence of this migration, or by the recorded UID (I1, I9).
func TestProven(t *testing.T) {
	const east, west, both = OfSource, OfDestination, BothSides
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		want   Sides
	}{
		"both":                          {func(*plan.Snapshot) {}, both},
		"no migration":                  {func(s *plan.Snapshot) { s.UID = ""; s.Source.Set.Fence, s.Destination.Set.Fence = "", "" }, NoSide},
		"not the source":                {func(s *plan.Snapshot) { s.Source.Set.Fence = "another.1" }, west},
		"not the destination":           {func(s *plan.Snapshot) { s.Destination.Set.Fence = "another.1" }, east},
		"the source is not there":       {func(s *plan.Snapshot) { s.Source.Set.Presence = plan.Absent }, west},
		"the destination is not there":  {func(s *plan.Snapshot) { s.Destination.Set.Presence = plan.Absent }, east},
		"the destination is lost":       {func(s *plan.Snapshot) { s.Destination = plan.Side{Lost: true} }, both},
		"lost, and the source not ours": {func(s *plan.Snapshot) { s.Destination = plan.Side{Lost: true}; s.Source.Set.Fence = "" }, west},
		"those that are recorded": {func(s *plan.Snapshot) {
			s.Source.Set.Fence, s.Destination.Set.Fence = "", ""
			s.Record.Baseline = &api.Baseline{SourceUID: "s", DestinationUID: "d"}
		}, both},
		"others than those": {func(s *plan.Snapshot) {
			s.Source.Set.Fence, s.Destination.Set.Fence = "", ""
			s.Record.Baseline = &api.Baseline{SourceUID: "d", DestinationUID: "s"}
		}, NoSide},
		"the source is recorded, and away": {func(s *plan.Snapshot) {
			s.Source.Set.Presence = plan.Absent
			s.Record.Baseline = &api.Baseline{SourceUID: "s"}
		}, west},
	} {
		s := plan.Snapshot{UID: "m", Source: plan.Side{Set: plan.Set{Presence: plan.Seen, Fence: "m.1", UID: "s"}}, Destination: plan.Side{Set: plan.Set{Presence: plan.Seen, Fence: "m.1", UID: "d"}}}
		tc.change(&s)
		if got := proven(s); got != tc.want {
			t.Errorf("%s: proven %d", name, got)
		}
	}
}

// TestCovers: reads are sufficient if they include everything requested, of the same ordinals, and as exactly.
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
		"those who left, not asked for":    {Reads{Live: true, Left: plan.SourceSide}, Reads{Live: true}, true},
		"no pods":                          {with(func(s *Reads) { s.Pods = false }), full, false},
		"no budgets":                       {with(func(s *Reads) { s.Budgets = false }), full, false},
		"no volumes":                       {with(func(s *Reads) { s.Volumes = false }), full, false},
		"not exactly":                      {with(func(s *Reads) { s.Gate = false }), full, false},
		"users, which were listed":         {full, with(func(s *Reads) { s.Gate, s.Users = false, true }), true},
		"users by the cache of the server": {with(func(s *Reads) { s.Gate, s.Users = false, true }), with(func(s *Reads) { s.Gate, s.Users = false, true }), true},
		"users were not listed":            {with(func(s *Reads) { s.Gate = false }), with(func(s *Reads) { s.Gate, s.Users = false, true }), false},
		"those who left":                   {with(func(s *Reads) { s.Gate, s.Left = false, plan.SourceSide }), with(func(s *Reads) { s.Gate, s.Left = false, plan.SourceSide }), true},
		"those who left the other side":    {with(func(s *Reads) { s.Gate, s.Left = false, plan.SourceSide }), with(func(s *Reads) { s.Gate, s.Left = false, plan.DestinationSide }), false},
		"those who left, of all":           {full, with(func(s *Reads) { s.Gate, s.Left = false, plan.DestinationSide }), true},
	} {
		if got := tc.have.Covers(tc.need); got != tc.want {
			t.Errorf("%s: covers %t", name, got)
		}
	}
}

// TestNear: while an ordinal is in flight a pass begins with the caches' state of it, and nothing is recorded,
// concluded, begun or reported as a stall based on that.
func TestNear(t *testing.T) {
	if got := Near(plan.Record{}); got != (Reads{}) {
		t.Errorf("none is on its way: %+v", got)
	}
	near := Near(plan.Record{Handoff: &api.Handoff{Ordinal: 3}})
	if near.Ordinal == nil || *near.Ordinal != 3 || !near.Volumes || near.Wide || near.Pods || near.Budgets {
		t.Errorf("got %+v", near)
	}
	if all := (Spared{Sets: BothSides, Budgets: BothSides, Pods: BothSides, Claims: BothSides, Volumes: BothSides}); near.Spared != all {
		t.Errorf("live is read all but %+v", near.Spared)
	}
	if near.Covers(Reads{Live: true}) || !near.Covers(Reads{}) {
		t.Error("the caches are taken for the API servers, or not for what they are")
	}
	owns := func(replicas int32) plan.Snapshot {
		return plan.Snapshot{Source: plan.Side{Set: plan.Set{Presence: plan.Seen, Replicas: replicas}}}
	}
	running, down := owns(4), owns(3)
	for _, s := range []*plan.Snapshot{&running, &down} {
		s.Record = plan.Record{Baseline: &api.Baseline{Replicas: 4}, Handoff: &api.Handoff{Ordinal: 3}}
	}
	block := running
	block.Record.Further = []api.Handoff{{Ordinal: 2}}
	waits := func(reason string) plan.Decision { return plan.Decision{Hold: &plan.Hold{Reason: reason}} }
	for name, tc := range map[string]struct {
		s        plan.Snapshot
		decision plan.Decision
		want     bool
	}{
		"a neighbor's turn":   {block, waits(api.ReasonNeighborFirst), false},
		"a neighbor's stop":   {block, waits(api.ReasonControllerBehind), false},
		"its controller":      {running, waits(api.ReasonControllerBehind), true},
		"another's failure":   {block, waits(api.ReasonReplicaUnavailable), true},
		"a neighbor's stall":  {block, *plan.Stalled(api.ReasonControllerBehind, "", ""), true},
		"its end in a block":  {block, plan.Decision{Record: &plan.Record{}, Hold: &plan.Hold{Reason: api.ReasonNeighborFirst}}, true},
		"a record":            {down, plan.Decision{Record: &plan.Record{}}, true},
		"the end":             {down, plan.Decision{Done: api.ReasonMoved}, true},
		"a stop":              {running, plan.Decision{Effect: &plan.Effect{Verb: plan.ScaleDown}}, true},
		"what is before that": {running, plan.Decision{Effect: &plan.Effect{Verb: plan.SetBudget}}, true},
		"a start":             {down, plan.Decision{Effect: &plan.Effect{Verb: plan.ScaleUp}}, false},
		"a volume":            {down, plan.Decision{Effect: &plan.Effect{Verb: plan.CarryVolume}}, false},
		"nothing":             {down, plan.Decision{}, true},
		"a wait":              {down, plan.Decision{Hold: &plan.Hold{Reason: api.ReasonPodNotReady}}, false},
		"a stall":             {down, *plan.Stalled(api.ReasonForeignScale, "", ""), true},
		"nothing left for it": {down, plan.Decision{Hold: &plan.Hold{Reason: api.ReasonMoving}}, true},
		"none on its way":     {owns(3), plan.Decision{Effect: &plan.Effect{Verb: plan.ScaleUp}}, true},
	} {
		if got := NeedsAll(tc.s, tc.decision); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
