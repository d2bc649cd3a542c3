package simulate

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
)

// halfNamed has two ordinals at the source, of which the last has its Service and its export.
func halfNamed() plan.Snapshot {
	s := plantest.Scenario{Replicas: 2, Spec: plan.Spec{NameOrdinals: true}}.Build()
	n := &s.Source.Names[1]
	n.Service = plan.PodService{Found: true, UID: "svc", ResourceVersion: "1", Fence: "m.1"}
	n.Export = plan.Export{Found: true, UID: "exp", ResourceVersion: "2", Fence: "m.1"}
	return s
}

// TestWorldApplyName: the name of an ordinal is created if it is missing. An object that is another one, or has
// changed since it was judged, is neither written nor deleted.
func TestWorldApplyName(t *testing.T) {
	at := func(ordinal int32, verb plan.Verb, uid types.UID, version string) plan.Effect {
		return plan.Effect{Verb: verb, Side: plan.SourceSide, Ordinal: ordinal, UID: uid, ResourceVersion: version, Fence: "m.2"}
	}
	of := func(k int, change func(*plan.Name)) func(*plan.Snapshot) {
		return func(s *plan.Snapshot) { change(&s.Source.Names[k]) }
	}
	service := plan.PodService{Found: true, UID: "u1", ResourceVersion: "v2", Selects: true, Ours: true, Fence: "m.2"}
	export := plan.Export{Found: true, UID: "u1", ResourceVersion: "v2", Ours: true, Fence: "m.2"}
	for name, tc := range map[string]worldWrite{
		"a Service":               {effect: at(0, plan.CreatePodService, "", ""), change: of(0, func(n *plan.Name) { n.Service = service })},
		"an export":               {effect: at(0, plan.CreatePodExport, "", ""), change: of(0, func(n *plan.Name) { n.Export = export })},
		"a Service that is there": {effect: at(1, plan.CreatePodService, "", "")},
		"an export that is there": {effect: at(1, plan.CreatePodExport, "", "")},
		"a Service beside an export": {
			effect: at(1, plan.CreatePodService, "", ""), before: of(1, func(n *plan.Name) { n.Service = plan.PodService{} }), change: of(1, func(n *plan.Name) { n.Service = service }),
		},
		"an export beside a Service": {
			effect: at(1, plan.CreatePodExport, "", ""), before: of(1, func(n *plan.Name) { n.Export = plan.Export{} }), change: of(1, func(n *plan.Name) { n.Export = export }),
		},
		"the Service is marked": {
			effect: at(1, plan.MarkPodService, "svc", "1"), change: of(1, func(n *plan.Name) { n.Service.Fence, n.Service.ResourceVersion = "m.2", "v1" }),
		},
		"the export is marked": {
			effect: at(1, plan.MarkPodExport, "exp", "2"), change: of(1, func(n *plan.Name) { n.Export.Fence, n.Export.ResourceVersion = "m.2", "v1" }),
		},
		"the Service goes": {effect: at(1, plan.DeletePodService, "svc", "1"), change: of(1, func(n *plan.Name) { n.Service = plan.PodService{} })},
		"the export goes":  {effect: at(1, plan.DeletePodExport, "exp", "2"), change: of(1, func(n *plan.Name) { n.Export = plan.Export{} })},
		"no export":        {effect: at(0, plan.MarkPodExport, "", "2")},
		"of no ordinal":    {effect: at(2, plan.CreatePodService, "", "")},
	} {
		t.Run(name, func(t *testing.T) { tc.check(t, halfNamed()) })
	}
	for _, verb := range []plan.Verb{plan.CreatePodService, plan.CreatePodExport, plan.MarkPodService, plan.MarkPodExport, plan.DeletePodService, plan.DeletePodExport} {
		for _, uid := range []types.UID{"svc", "exp", "another"} {
			for _, version := range []string{"1", "2", "0"} {
				onService := (verb == plan.MarkPodService || verb == plan.DeletePodService) && uid == "svc" && version == "1"
				onExport := (verb == plan.MarkPodExport || verb == plan.DeletePodExport) && uid == "exp" && version == "2"
				if !onService && !onExport {
					t.Run(string(verb)+" of "+string(uid)+" as of "+version, func(t *testing.T) {
						worldWrite{effect: at(1, verb, uid, version)}.check(t, halfNamed())
					})
				}
			}
		}
	}
}
