package planner

import (
	"testing"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
)

// unprepared is a migration that has just begun, with a destination that lacks only the StatefulSet.
func unprepared(s *plan.Snapshot) {
	s.Spec.Count = 0
	plantest.Divide(s, 5)
	destinationGone(s)
	s.Spec.Export, s.Spec.NameOrdinals = true, true
	s.Source.Export, s.Destination.Export = plan.Export{Found: true}, plan.Export{Found: true}
	s.Source.Names = []plan.Name{{Ordinal: 1, Service: plan.PodService{Found: true, Selects: true}, Export: plan.Export{Found: true}}}
}

// noBudget removes the destination's budget.
func noBudget(s *plan.Snapshot) { s.Destination.Budgets = nil }

// noService removes the destination's governing Service.
func noService(s *plan.Snapshot) { s.Destination.Service.Found = false }

// leavesSource stops the ordinal at the source's end, in flight to the destination.
func leavesSource(s *plan.Snapshot) {
	s.Source.Set.Replicas--
	s.Record.Handoff = &api.Handoff{Ordinal: s.Source.Set.End()}
}

// TestPrepare: the objects that the destination needs are created before the first ordinal arrives, one after the
// other, the StatefulSet last and empty. In a rollback and in a pause, only the budget of the existing replicas is
// created (I4, I9).
func TestPrepare(t *testing.T) {
	noNamespace := func(s *plan.Snapshot) { s.Destination.NamespaceFound = false }
	paused := func(s *plan.Snapshot) { s.Spec.Mode = api.ModePause }
	back := func(s *plan.Snapshot) { s.Spec.Mode = api.ModeRollback }
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		want   string
	}{
		"the StatefulSet":              {unprepared, "CreateSet destination web "},
		"it is there":                  {plantest.InTurn(unprepared, func(s *plan.Snapshot) { s.Destination.Set.Presence = plan.Seen }), ""},
		"the name of an ordinal":       {plantest.InTurn(unprepared, func(s *plan.Snapshot) { s.Source.Names[0].Service.Found = false }), "CreatePodService source web-1 "},
		"the export":                   {plantest.InTurn(unprepared, func(s *plan.Snapshot) { s.Destination.Export = plan.Export{} }), "CreateExport destination web "},
		"the budget":                   {plantest.InTurn(unprepared, noBudget), "CreateBudget destination web "},
		"the Service comes before it":  {plantest.InTurn(unprepared, noBudget, noService), "CreateService destination web "},
		"a Service that is not needed": {plantest.InTurn(unprepared, noService, func(s *plan.Snapshot) { s.Destination.Service.Needed = false }), "CreateSet destination web "},
		"the namespace, as asked for": {plantest.InTurn(unprepared, noNamespace, noService, func(s *plan.Snapshot) {
			s.Spec.CreateNamespace = true
		}), "CreateNamespace destination shop "},
		"the namespace, not asked for":   {plantest.InTurn(unprepared, noNamespace, noService), api.ReasonNamespaceMissing},
		"a namespace that is there":      {plantest.InTurn(unprepared, func(s *plan.Snapshot) { s.Spec.CreateNamespace = true }), "CreateSet destination web "},
		"back: its replicas' budget":     {plantest.InTurn(back, noBudget, noService), "CreateBudget destination web "},
		"back: it has one":               {plantest.InTurn(back, noService), ""},
		"back: of one replica":           {plantest.InTurn(func(s *plan.Snapshot) { plantest.Divide(s, 4) }, back, noBudget), "CreateBudget destination web "},
		"back: of none":                  {plantest.InTurn(plantest.AllBack, noBudget, noService), ""},
		"paused: its replicas' budget":   {plantest.InTurn(paused, noBudget, noService), "CreateBudget destination web "},
		"paused: of none":                {plantest.InTurn(unprepared, paused), ""},
		"paused, and one is on its way":  {plantest.InTurn(unprepared, paused, noService, leavesSource), "CreateService destination web "},
		"deleted: of none":               {plantest.InTurn(unprepared, func(s *plan.Snapshot) { s.Deleting = true }), ""},
		"one is on its way, and it runs": {plantest.InTurn(noService, leavesSource), "CreateService destination web "},
	} {
		if got := does(parted(tc.change).prepare()); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	for order, start := range map[api.Order]int32{api.HighestFirst: 5, api.LowestFirst: 1} {
		e := parted(plantest.InTurn(unprepared, func(s *plan.Snapshot) { s.Spec.Order = order })).prepare().Effect
		if e == nil || e.After != (plan.SetState{Start: start, Fence: "m.2"}) {
			t.Errorf("%s: made as %+v", order, e)
		}
	}
}

// TestProtect: the destination gets a budget like the source's (I4), if there is one and no other object has its
// name. An object that cannot be created holds everything except an ordinal that is down, which is started first.
func TestProtect(t *testing.T) {
	sourceHasNone := func(s *plan.Snapshot) { s.Source.Budgets = nil }
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		want   string
	}{
		"it has one":                     {nil, ""},
		"it has none":                    {noBudget, "CreateBudget destination web "},
		"it has none, an ordinal is off": {plantest.InTurn(noBudget, leavesSource), "CreateBudget destination web "},
		"there was none in the first":    {plantest.InTurn(noBudget, func(s *plan.Snapshot) { s.Record.Baseline.DisruptionBudget = nil }), ""},
		"one selects both":               {plantest.InTurn(noBudget, func(s *plan.Snapshot) { s.Spec.SameNamespace = true }), ""},
		"the source has lost its own":    {plantest.InTurn(noBudget, sourceHasNone), api.ReasonForeignBudget},
		"lost, and an ordinal is off":    {plantest.InTurn(noBudget, sourceHasNone, leavesSource), ""},
		"the source has another one":     {plantest.InTurn(noBudget, func(s *plan.Snapshot) { s.Source.Budgets[0].Name = "other" }), api.ReasonForeignBudget},
		"its name is taken":              {plantest.InTurn(noBudget, func(s *plan.Snapshot) { s.Destination.OtherBudgets = []string{"db", "web"} }), api.ReasonForeignBudget},
		"another name is taken":          {plantest.InTurn(noBudget, func(s *plan.Snapshot) { s.Destination.OtherBudgets = []string{"db"} }), "CreateBudget destination web "},
	} {
		if got := does(parted(tc.change).protect()); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestExports: both sides export the Service, the destination first, so that clients always find one. The source
// exports it as long as it has an ordinal. A rejected export holds everything except an ordinal that is down.
func TestExports(t *testing.T) {
	neither := func(s *plan.Snapshot) { s.Source.Export, s.Destination.Export = plan.Export{}, plan.Export{} }
	withdrawn := func(s *plan.Snapshot) { s.Source.Export = plan.Export{} }
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		want   string
	}{
		"both are there":          {nil, ""},
		"neither is":              {neither, "CreateExport destination web "},
		"the source's is not":     {withdrawn, "CreateExport source web "},
		"all has moved":           {plantest.InTurn(plantest.AllMoved, withdrawn), ""},
		"all has, neither is":     {plantest.InTurn(plantest.AllMoved, neither), "CreateExport destination web "},
		"not asked for":           {plantest.InTurn(neither, func(s *plan.Snapshot) { s.Spec.Export = false }), ""},
		"there is no Service":     {plantest.InTurn(neither, func(s *plan.Snapshot) { s.Source.Service.Needed = false }), ""},
		"an ordinal is down":      {plantest.InTurn(neither, leavesSource), ""},
		"one is in conflict":      {func(s *plan.Snapshot) { s.Destination.Export.Conflict = "ports" }, api.ReasonExportConflict},
		"one is not valid":        {func(s *plan.Snapshot) { s.Source.Export.Invalid = "no Service" }, api.ReasonExportInvalid},
		"not valid, in conflict":  {func(s *plan.Snapshot) { s.Source.Export.Invalid, s.Source.Export.Conflict = "no Service", "ports" }, api.ReasonExportConflict},
		"refused, one is down":    {plantest.InTurn(leavesSource, func(s *plan.Snapshot) { s.Destination.Export.Conflict = "ports" }), ""},
		"of one that was refused": {plantest.InTurn(withdrawn, func(s *plan.Snapshot) { s.Destination.Export.Invalid = "no Service" }), api.ReasonExportInvalid},
	} {
		exported := func(s *plan.Snapshot) {
			s.Spec.Export, s.Source.Export, s.Destination.Export = true, plan.Export{Found: true}, plan.Export{Found: true}
		}
		if got := does(parted(plantest.InTurn(exported, tc.change)).exports()); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestStopped: an ordinal in flight is down from the moment its giver no longer owns it.
func TestStopped(t *testing.T) {
	halfwayOut := func(s *plan.Snapshot) { s.Record.Handoff = &api.Handoff{Ordinal: 2} }
	back := func(s *plan.Snapshot) { s.Spec.Mode = api.ModeRollback }
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		want   bool
	}{
		"none is on its way":        {nil, false},
		"it is with its giver":      {halfwayOut, false},
		"its giver is not its own":  {leavesSource, true},
		"back: the source has it":   {plantest.InTurn(halfwayOut, back), true},
		"back: it is there as yet":  {plantest.InTurn(back, func(s *plan.Snapshot) { s.Record.Handoff = &api.Handoff{Ordinal: 3} }), false},
		"it has come to its taker":  {func(s *plan.Snapshot) { s.Record.Handoff = &api.Handoff{Ordinal: 3} }, true},
		"it was with neither, back": {plantest.InTurn(leavesSource, back), true},
		"one beside it is down": {func(s *plan.Snapshot) {
			s.Record.Handoff, s.Record.Further = &api.Handoff{Ordinal: 2}, []api.Handoff{{Ordinal: 3}}
		}, false},
		"one begins beside it": {func(s *plan.Snapshot) { s.Record.Further = []api.Handoff{{Ordinal: 3}} }, false},
	} {
		if got := parted(tc.change).stopped(); got != tc.want {
			t.Errorf("%s: stopped %t", name, got)
		}
	}
}
