package planner

import (
	"strings"
	"testing"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// accepted sets the services with which the migration was accepted.
func accepted(services api.ServicesSpec) func(*plan.Snapshot) {
	return func(s *plan.Snapshot) { s.Record.Baseline.Services = &services }
}

// asksFor sets the services that the spec requests.
func asksFor(export, names bool) func(*plan.Snapshot) {
	return func(s *plan.Snapshot) { s.Spec.Export, s.Spec.NameOrdinals = export, names }
}

var (
	noServices = api.ServicesSpec{PerOrdinal: api.PerOrdinalNone}
	withExport = api.ServicesSpec{PerOrdinal: api.PerOrdinalNone, Export: true}
	perOrdinal = api.ServicesSpec{PerOrdinal: api.PerOrdinalExport}
)

// TestServicesChanged: no handoff begins while the spec requests other services than the move creates. A rollback
// uses the recorded ones (I6, I8).
func TestServicesChanged(t *testing.T) {
	for name, tc := range map[string]struct {
		change       but
		says, mended string
	}{
		"as it was accepted":        {but{accepted(perOrdinal), asksFor(false, true)}, "", ""},
		"none was, and none is":     {but{accepted(api.ServicesSpec{}), asksFor(false, false)}, "", ""},
		"of an older version":       {but{asksFor(true, true)}, "", ""},
		"names are turned off":      {but{accepted(perOrdinal), asksFor(false, false)}, "perOrdinal is None, and was Export;", `"export":false,"perOrdinal":"Export"`},
		"names are turned on":       {but{accepted(api.ServicesSpec{}), asksFor(false, true)}, "perOrdinal is Export, and was None;", `"export":false,"perOrdinal":"None"`},
		"exports are turned off":    {but{accepted(withExport), asksFor(false, false)}, "export is false, and was true;", `"export":true,"perOrdinal":"None"`},
		"exports are turned on":     {but{accepted(noServices), asksFor(true, false)}, "export is true, and was false;", `"export":false,"perOrdinal":"None"`},
		"the one for the other":     {but{accepted(withExport), asksFor(false, true)}, "perOrdinal is Export, and was None; export is false, and was true;", "--export-services=true --export-ordinals=false"},
		"off, and it is to go back": {but{accepted(perOrdinal), asksFor(false, false), rollback}, "", ""},
	} {
		p := halfway(func(s *plan.Snapshot) {
			for _, change := range tc.change {
				change(s)
			}
		})
		hold := gatePlanner{p.View}.renamed()
		switch {
		case tc.says == "":
			if hold != nil || heldBy(p.gate(1)) != "" {
				t.Errorf("%s: %+v", name, hold)
			}
		case hold == nil || hold.Reason != api.ReasonServicesChanged || !hold.Stalled || !strings.Contains(hold.Message, tc.says) ||
			!strings.Contains(hold.Remedy, tc.mended) || !strings.Contains(hold.Remedy, "kubectl migrate rollback"):
			t.Errorf("%s: %+v, want to be told %q and %q", name, hold, tc.says, tc.mended)
		case heldBy(p.gate(1)) != api.ReasonServicesChanged:
			t.Errorf("%s: the gate says %q", name, heldBy(p.gate(1)))
		}
	}
}

// TestServicesAreTakenOver: a process that takes over a migration of a version without this record records the
// requested services, before any other write. They do not change after that.
func TestServicesAreTakenOver(t *testing.T) {
	for name, tc := range map[string]struct {
		change but
		want   *api.ServicesSpec
	}{
		"of an older version":    {but{asksFor(false, true)}, &perOrdinal},
		"it asks for nothing":    {but{asksFor(false, false)}, &noServices},
		"it was recorded before": {but{accepted(withExport), asksFor(false, true)}, &withExport},
		"it has not begun":       {but{func(s *plan.Snapshot) { s.Record.Baseline = nil }}, nil},
	} {
		p := halfway(func(s *plan.Snapshot) {
			for _, change := range tc.change {
				change(s)
			}
			s.Engaged = false
		})
		was, before := p.Record.Baseline, p.Record.Baseline.DeepCopy()
		got := p.ensureFence()
		switch {
		case got == nil || got.Record == nil || got.Record.Fence == nil:
			t.Errorf("%s: %+v", name, got)
		case tc.want == nil:
			if got.Record.Baseline != nil {
				t.Errorf("%s: %+v", name, got.Record.Baseline)
			}
		case got.Record.Baseline.Services == nil || *got.Record.Baseline.Services != *tc.want || got.Record.Baseline.Replicas != 4:
			t.Errorf("%s: %+v", name, got.Record.Baseline)
		case (was.Services == nil) != (before.Services == nil):
			t.Errorf("%s: what was observed is changed", name)
		}
	}
}

// TestRecordedServicesCount: whatever the spec requests during the move, names and exports are created, moved and
// deleted as recorded.
func TestRecordedServicesCount(t *testing.T) {
	bare := func(p *planners) {
		p.Source.Names[1].Service, p.Source.Names[1].Export = plan.PodService{}, plan.Export{}
	}
	for name, tc := range map[string]struct {
		was         api.ServicesSpec
		asks        bool
		made, moved string
	}{
		"turned off": {perOrdinal, false, "CreatePodService source web-1 ", "CreatePodService destination web-1 "},
		"turned on":  {noServices, true, "", ""},
	} {
		p := withNames(func(p *planners) {
			bare(p)
			p.Destination.Names = append(p.Destination.Names, plan.Name{Ordinal: 1})
			p.Record.Baseline.Services, p.Spec.NameOrdinals, p.Spec.DropNames = &tc.was, tc.asks, true
		})
		if got := does(p.names()); got != tc.made {
			t.Errorf("%s: names: %q", name, got)
		}
		if got := does(p.rename(1)); got != tc.moved {
			t.Errorf("%s: rename: %q", name, got)
		}
		dropped := does(p.dropNames())
		if (dropped != "") != tc.was.NamesOrdinals() {
			t.Errorf("%s: dropNames: %q", name, dropped)
		}
	}
	for was, want := range map[bool][2]string{true: {"CreateExport destination web ", "DeleteExport source web exp@8"}, false: {"", ""}} {
		p := midway(but{accepted(api.ServicesSpec{Export: was}), asksFor(!was, false), func(s *plan.Snapshot) {
			s.Source.Service.Needed, s.Source.Service.Name, s.Destination.Service.Name = true, "web", "web"
		}}...)
		if got := does(p.exports()); got != want[0] {
			t.Errorf("export was %t: exports: %q", was, got)
		}
		p.layout.moved = p.layout.hi - p.layout.lo
		p.Source.Export = plan.Export{Found: true, Ours: true, UID: "exp", ResourceVersion: "@8"}
		if got := does(settleOf(p.View).withdrawSource()); got != want[1] {
			t.Errorf("export was %t: withdrawSource: %q", was, got)
		}
	}
}

// TestServiceTakenInMidMove: names cannot be turned off during a move, and no remedy suggests it before the
// rollback is complete.
func TestServiceTakenInMidMove(t *testing.T) {
	foreign := plan.Name{Ordinal: 1, Service: plan.PodService{Found: true}}
	p := withNames(nil)
	got := p.nameAt(plan.DestinationSide, foreign)
	if does(got) != api.ReasonServiceTaken || !strings.Contains(got.Hold.Remedy, "kubectl migrate rollback") || !strings.Contains(got.Hold.Remedy, "then set spec.services.perOrdinal to None") {
		t.Errorf("%+v", got)
	}
	p.Spec.Mode = api.ModeRollback
	if got = p.nameAt(plan.SourceSide, foreign); does(got) != api.ReasonServiceTaken || strings.Contains(got.Hold.Remedy, "perOrdinal") {
		t.Errorf("on the way back: %+v", got)
	}
}
