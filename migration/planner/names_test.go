package planner

import (
	"testing"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// withNames is a planner of a migration that creates names: the source has ordinals 0 and 1, both with their
// names, and the destination 2.
func withNames(change func(*planners)) *planners {
	name := func(k int32) plan.Name {
		return plan.Name{Ordinal: k, Service: plan.PodService{Found: true, Selects: true, Ours: true, UID: "svc", ResourceVersion: "1"}, Export: plan.Export{Found: true, Ours: true, UID: "exp", ResourceVersion: "2"}}
	}
	s := plan.Snapshot{
		UID: "m", Spec: plan.Spec{Mode: api.ModeRun, Order: api.HighestFirst, NameOrdinals: true},
		Source:      plan.Side{Reach: plan.Seen, Set: plan.Set{Presence: plan.Seen, Name: "web", Replicas: 2}, Names: []plan.Name{name(0), name(1)}},
		Destination: plan.Side{Reach: plan.Seen, Set: plan.Set{Presence: plan.Seen, Name: "web", Start: 2, Replicas: 1}, Names: []plan.Name{name(2)}},
		Record:      plan.Record{Baseline: &api.Baseline{Replicas: 3}},
	}
	p := newPlanner(s)
	if change != nil {
		change(p)
	}
	p.Record.Fence = &api.Fence{Epoch: 2}
	return p
}

// does describes a decision's write to an object, or the reason of its stall.
func does(d *plan.Decision) string {
	switch {
	case d == nil:
		return ""
	case d.Effect != nil:
		return string(d.Effect.Verb) + " " + string(d.Effect.Side) + " " + d.Effect.Name + " " + string(d.Effect.UID) + d.Effect.ResourceVersion
	case d.Hold != nil:
		return d.Hold.Reason
	}
	return "something else"
}

// TestNameAt: an ordinal gets a Service and then its export; a foreign Service remains.
func TestNameAt(t *testing.T) {
	whole := plan.Name{Ordinal: 1, Service: plan.PodService{Found: true, Selects: true}, Export: plan.Export{Found: true}}
	for name, tc := range map[string]struct {
		change func(*plan.Name)
		want   string
	}{
		"it has its name":    {func(*plan.Name) {}, ""},
		"no Service":         {func(n *plan.Name) { n.Service, n.Export = plan.PodService{}, plan.Export{} }, "CreatePodService source web-1 "},
		"another's Service":  {func(n *plan.Name) { n.Service.Selects, n.Export.Found = false, false }, api.ReasonServiceTaken},
		"it is not exported": {func(n *plan.Name) { n.Export.Found = false }, "CreatePodExport source web-1 "},
	} {
		n := whole
		tc.change(&n)
		if got := does(withNames(nil).nameAt(plan.SourceSide, n)); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestKeepName: objects with an older fence get the current one, the Service first. Foreign objects do not.
func TestKeepName(t *testing.T) {
	p := withNames(nil)
	whole := plan.Name{
		Ordinal: 1, Service: plan.PodService{Found: true, Ours: true, UID: "svc", ResourceVersion: "1", Fence: p.fence()},
		Export: plan.Export{Found: true, Ours: true, UID: "exp", ResourceVersion: "2", Fence: p.fence()},
	}
	for name, tc := range map[string]struct {
		change func(*plan.Name)
		want   string
	}{
		"of this epoch":      {func(*plan.Name) {}, ""},
		"the Service is old": {func(n *plan.Name) { n.Service.Fence, n.Export.Fence = "", "" }, "MarkPodService source web-1 svc1"},
		"the export is old":  {func(n *plan.Name) { n.Export.Fence = "m.1" }, "MarkPodExport source web-1 exp2"},
		"both are another's": {func(n *plan.Name) {
			n.Service.Ours, n.Service.Fence, n.Export.Ours, n.Export.Fence = false, "", false, ""
		}, ""},
	} {
		n := whole
		tc.change(&n)
		if got := does(p.keepName(plan.SourceSide, n)); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestUnname: only the objects that this migration created are deleted, the export first.
func TestUnname(t *testing.T) {
	whole := plan.Name{Ordinal: 1, Service: plan.PodService{Found: true, Ours: true, UID: "svc", ResourceVersion: "1"}, Export: plan.Export{Found: true, Ours: true, UID: "exp", ResourceVersion: "2"}}
	for name, tc := range map[string]struct {
		change func(*plan.Name)
		want   string
	}{
		"both":                  {func(*plan.Name) {}, "DeletePodExport source web-1 exp2"},
		"the export is gone":    {func(n *plan.Name) { n.Export.Found = false }, "DeletePodService source web-1 svc1"},
		"another's export":      {func(n *plan.Name) { n.Export.Ours = false }, "DeletePodService source web-1 svc1"},
		"both are gone":         {func(n *plan.Name) { n.Export.Found, n.Service.Found = false, false }, ""},
		"both are another's":    {func(n *plan.Name) { n.Export.Ours, n.Service.Ours = false, false }, ""},
		"the Service another's": {func(n *plan.Name) { n.Export.Found, n.Service.Ours = false, false }, ""},
	} {
		n := whole
		tc.change(&n)
		if got := does(withNames(nil).unname(plan.SourceSide, n)); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestDropNames: at the end the names are deleted where the ordinal is not, and everywhere if the spec requests
// it.
func TestDropNames(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*planners)
		want   string
	}{
		"they stay":          {nil, ""},
		"no names":           {func(p *planners) { p.Spec.NameOrdinals, p.Spec.DropNames = false, true }, ""},
		"they are to go":     {func(p *planners) { p.Spec.DropNames = true }, "DeletePodExport source web-0 exp2"},
		"one is left behind": {func(p *planners) { p.Source.Set.Replicas = 1 }, "DeletePodExport source web-1 exp2"},
		"one there":          {func(p *planners) { p.Destination.Set.Replicas = 0 }, "DeletePodExport destination web-2 exp2"},
	} {
		if got := does(withNames(tc.change).dropNames()); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestNames: before an ordinal moves, each ordinal has its name on the side that owns it, and its export is not
// rejected. Nothing is created at the end, and while an ordinal is down.
func TestNames(t *testing.T) {
	lacks := func(side *plan.Side, at int) { side.Names[at].Service = plan.PodService{} }
	for name, tc := range map[string]struct {
		change func(*planners)
		want   string
	}{
		"all have theirs":        {nil, ""},
		"one at the source":      {func(p *planners) { lacks(&p.Source, 1) }, "CreatePodService source web-1 "},
		"one at the destination": {func(p *planners) { lacks(&p.Destination, 0) }, "CreatePodService destination web-2 "},
		"nobody asks for them":   {func(p *planners) { lacks(&p.Source, 1); p.Spec.NameOrdinals = false }, ""},
		"none is left to move":   {func(p *planners) { lacks(&p.Source, 1); p.layout.target = p.layout.moved }, ""},
		"one of them is down": {func(p *planners) {
			lacks(&p.Source, 0)
			p.Source.Set.Replicas, p.Record.Handoff = 1, &api.Handoff{Ordinal: 1}
		}, ""},
		"one is on its way, up":    {func(p *planners) { lacks(&p.Source, 0); p.Record.Handoff = &api.Handoff{Ordinal: 1} }, "CreatePodService source web-0 "},
		"the export is refused":    {func(p *planners) { p.Destination.Names[0].Export.Conflict = "ports" }, api.ReasonExportConflict},
		"one that is not there":    {func(p *planners) { p.Destination.Names = []plan.Name{{Ordinal: 1}, p.Destination.Names[0]} }, ""},
		"and one that is lacks it": {func(p *planners) { p.Destination.Names = []plan.Name{{Ordinal: 1}, {Ordinal: 2}} }, "CreatePodService destination web-2 "},
	} {
		if got := does(withNames(tc.change).names()); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestRename: an ordinal has its name at the taker before the one at the giver is deleted, so that clients of both
// clusters always find it. Names that were not read are not written (I9).
func TestRename(t *testing.T) {
	const k = 1
	there := func(fence string) plan.Name {
		n := plan.Name{Ordinal: k, Service: plan.PodService{Found: true, Selects: true, Ours: true, UID: "new", ResourceVersion: "3"}, Export: plan.Export{Found: true}}
		n.Service.Fence = fence
		return n
	}
	names := func(taker ...plan.Name) func(*planners) {
		return func(p *planners) { p.Destination.Names = taker }
	}
	gone := func(change func(*planners)) func(*planners) {
		return func(p *planners) { change(p); p.Source.Names = p.Source.Names[:1] }
	}
	for name, tc := range map[string]struct {
		change func(*planners)
		want   string
	}{
		"nobody asks for it":      {func(p *planners) { p.Spec.NameOrdinals = false }, ""},
		"not read where it was":   {gone(names(there("m.2"))), api.ReasonNameUnread},
		"not read where it is to": {names(), api.ReasonNameUnread},
		"read on neither side":    {gone(names()), api.ReasonNameUnread},
		"it has none":             {names(plan.Name{Ordinal: k}), "CreatePodService destination web-1 "},
		"it is of an older epoch": {names(there("m.1")), "MarkPodService destination web-1 new3"},
		"it is named":             {names(there("m.2")), "DeletePodExport source web-1 exp2"},
		"it is named there alone": {func(p *planners) { names(there("m.2"))(p); p.Source.Names[1] = plan.Name{Ordinal: k} }, ""},
		"where it was is lost":    {gone(func(p *planners) { names(there("m.2"))(p); p.Source.Lost = true }), ""},
		"lost, and it has none":   {gone(func(p *planners) { names(plan.Name{Ordinal: k})(p); p.Source.Lost = true }), "CreatePodService destination web-1 "},
	} {
		if got := does(withNames(tc.change).rename(k)); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
