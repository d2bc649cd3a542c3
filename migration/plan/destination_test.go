package plan

import (
	"testing"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// unprepared is a migration that has just begun, with a destination that has all that it needs but the
// StatefulSet.
func unprepared(s *Snapshot) {
	s.Spec.Count = 0
	divide(s, 5)
	destinationGone(s)
	s.Spec.Export, s.Spec.NameOrdinals = true, true
	s.Source.Export, s.Destination.Export = Export{Found: true}, Export{Found: true}
	s.Source.Names = []Name{{Ordinal: 1, Service: PodService{Found: true, Selects: true}, Export: Export{Found: true}}}
}

// noBudget lets the destination have no budget.
func noBudget(s *Snapshot) { s.Destination.Budgets = nil }

// noService lets the destination lack the governing Service.
func noService(s *Snapshot) { s.Destination.Service.Found = false }

// leavesSource lets the ordinal at the source's end be stopped on its way to the destination.
func leavesSource(s *Snapshot) {
	s.Source.Set.Replicas--
	s.Record.Handoff = &api.Handoff{Ordinal: s.Source.Set.End()}
}

// TestPrepare: what the destination needs is made before the first ordinal comes, one after the other, the
// StatefulSet last and empty. On the way back, and in a pause, nothing is made but the budget of the
// replicas that are there (I4, I9).
func TestPrepare(t *testing.T) {
	noNamespace := func(s *Snapshot) { s.Destination.NamespaceFound = false }
	paused := func(s *Snapshot) { s.Spec.Mode = api.ModePause }
	back := func(s *Snapshot) { s.Spec.Mode = api.ModeRollback }
	for name, tc := range map[string]struct {
		change func(*Snapshot)
		want   string
	}{
		"the StatefulSet":              {unprepared, "CreateSet destination web "},
		"it is there":                  {inTurn(unprepared, func(s *Snapshot) { s.Destination.Set.Presence = Seen }), ""},
		"the name of an ordinal":       {inTurn(unprepared, func(s *Snapshot) { s.Source.Names[0].Service.Found = false }), "CreatePodService source web-1 "},
		"the export":                   {inTurn(unprepared, func(s *Snapshot) { s.Destination.Export = Export{} }), "CreateExport destination web "},
		"the budget":                   {inTurn(unprepared, noBudget), "CreateBudget destination web "},
		"the Service comes before it":  {inTurn(unprepared, noBudget, noService), "CreateService destination web "},
		"a Service that is not needed": {inTurn(unprepared, noService, func(s *Snapshot) { s.Destination.Service.Needed = false }), "CreateSet destination web "},
		"the namespace, as asked for": {inTurn(unprepared, noNamespace, noService, func(s *Snapshot) {
			s.Spec.CreateNamespace = true
		}), "CreateNamespace destination shop "},
		"the namespace, not asked for":   {inTurn(unprepared, noNamespace, noService), api.ReasonNamespaceMissing},
		"a namespace that is there":      {inTurn(unprepared, func(s *Snapshot) { s.Spec.CreateNamespace = true }), "CreateSet destination web "},
		"back: its replicas' budget":     {inTurn(back, noBudget, noService), "CreateBudget destination web "},
		"back: it has one":               {inTurn(back, noService), ""},
		"back: of one replica":           {inTurn(func(s *Snapshot) { divide(s, 4) }, back, noBudget), "CreateBudget destination web "},
		"back: of none":                  {inTurn(allBack, noBudget, noService), ""},
		"paused: its replicas' budget":   {inTurn(paused, noBudget, noService), "CreateBudget destination web "},
		"paused: of none":                {inTurn(unprepared, paused), ""},
		"paused, and one is on its way":  {inTurn(unprepared, paused, noService, leavesSource), "CreateService destination web "},
		"deleted: of none":               {inTurn(unprepared, func(s *Snapshot) { s.Deleting = true }), ""},
		"one is on its way, and it runs": {inTurn(noService, leavesSource), "CreateService destination web "},
	} {
		if got := does(parted(tc.change).prepare()); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	for order, start := range map[api.Order]int32{api.HighestFirst: 5, api.LowestFirst: 1} {
		e := parted(inTurn(unprepared, func(s *Snapshot) { s.Spec.Order = order })).prepare().Effect
		if e == nil || e.Start != start || e.Replicas != 0 || e.Fence != "m.2" {
			t.Errorf("%s: made as %+v", order, e)
		}
	}
}

// TestProtect: the destination gets a budget like the source's (I4), when there is one and no other has its
// name. What cannot be made holds everything, but for an ordinal that is down: it is brought up first.
func TestProtect(t *testing.T) {
	sourceHasNone := func(s *Snapshot) { s.Source.Budgets = nil }
	for name, tc := range map[string]struct {
		change func(*Snapshot)
		want   string
	}{
		"it has one":                     {nil, ""},
		"it has none":                    {noBudget, "CreateBudget destination web "},
		"it has none, an ordinal is off": {inTurn(noBudget, leavesSource), "CreateBudget destination web "},
		"there was none in the first":    {inTurn(noBudget, func(s *Snapshot) { s.Record.Baseline.DisruptionBudget = nil }), ""},
		"one selects both":               {inTurn(noBudget, func(s *Snapshot) { s.Spec.SameNamespace = true }), ""},
		"the source has lost its own":    {inTurn(noBudget, sourceHasNone), api.ReasonForeignBudget},
		"lost, and an ordinal is off":    {inTurn(noBudget, sourceHasNone, leavesSource), ""},
		"the source has another one":     {inTurn(noBudget, func(s *Snapshot) { s.Source.Budgets[0].Name = "other" }), api.ReasonForeignBudget},
		"its name is taken":              {inTurn(noBudget, func(s *Snapshot) { s.Destination.OtherBudgets = []string{"db", "web"} }), api.ReasonForeignBudget},
		"another name is taken":          {inTurn(noBudget, func(s *Snapshot) { s.Destination.OtherBudgets = []string{"db"} }), "CreateBudget destination web "},
	} {
		if got := does(parted(tc.change).protect()); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestExports: both sides export the Service, the destination first, so that clients are never without; the
// source as long as it has an ordinal. An export that is refused holds everything, but for an ordinal that
// is down.
func TestExports(t *testing.T) {
	neither := func(s *Snapshot) { s.Source.Export, s.Destination.Export = Export{}, Export{} }
	withdrawn := func(s *Snapshot) { s.Source.Export = Export{} }
	for name, tc := range map[string]struct {
		change func(*Snapshot)
		want   string
	}{
		"both are there":          {nil, ""},
		"neither is":              {neither, "CreateExport destination web "},
		"the source's is not":     {withdrawn, "CreateExport source web "},
		"all has moved":           {inTurn(allMoved, withdrawn), ""},
		"all has, neither is":     {inTurn(allMoved, neither), "CreateExport destination web "},
		"not asked for":           {inTurn(neither, func(s *Snapshot) { s.Spec.Export = false }), ""},
		"there is no Service":     {inTurn(neither, func(s *Snapshot) { s.Source.Service.Needed = false }), ""},
		"an ordinal is down":      {inTurn(neither, leavesSource), ""},
		"one is in conflict":      {func(s *Snapshot) { s.Destination.Export.Conflict = "ports" }, api.ReasonExportConflict},
		"one is not valid":        {func(s *Snapshot) { s.Source.Export.Invalid = "no Service" }, api.ReasonExportInvalid},
		"not valid, in conflict":  {func(s *Snapshot) { s.Source.Export.Invalid, s.Source.Export.Conflict = "no Service", "ports" }, api.ReasonExportConflict},
		"refused, one is down":    {inTurn(leavesSource, func(s *Snapshot) { s.Destination.Export.Conflict = "ports" }), ""},
		"of one that was refused": {inTurn(withdrawn, func(s *Snapshot) { s.Destination.Export.Invalid = "no Service" }), api.ReasonExportInvalid},
	} {
		exported := func(s *Snapshot) {
			s.Spec.Export, s.Source.Export, s.Destination.Export = true, Export{Found: true}, Export{Found: true}
		}
		if got := does(parted(inTurn(exported, tc.change)).exports()); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestStopped: an ordinal is down on its way from when its giver does not own it any more.
func TestStopped(t *testing.T) {
	halfwayOut := func(s *Snapshot) { s.Record.Handoff = &api.Handoff{Ordinal: 2} }
	back := func(s *Snapshot) { s.Spec.Mode = api.ModeRollback }
	for name, tc := range map[string]struct {
		change func(*Snapshot)
		want   bool
	}{
		"none is on its way":        {nil, false},
		"it is with its giver":      {halfwayOut, false},
		"its giver is not its own":  {leavesSource, true},
		"back: the source has it":   {inTurn(halfwayOut, back), true},
		"back: it is there as yet":  {inTurn(back, func(s *Snapshot) { s.Record.Handoff = &api.Handoff{Ordinal: 3} }), false},
		"it has come to its taker":  {func(s *Snapshot) { s.Record.Handoff = &api.Handoff{Ordinal: 3} }, true},
		"it was with neither, back": {inTurn(leavesSource, back), true},
	} {
		if got := parted(tc.change).stopped(); got != tc.want {
			t.Errorf("%s: stopped %t", name, got)
		}
	}
}
