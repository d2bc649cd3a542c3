package migration

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// halfNamed has two ordinals at the source, of which the last has its Service and its export.
func halfNamed() Snapshot {
	s := scenario{replicas: 2, spec: Spec{NameOrdinals: true}}.build()
	n := &s.Source.Names[1]
	n.Service = PodService{Found: true, UID: "svc", ResourceVersion: "1", Fence: "m.1"}
	n.Export = Export{Found: true, UID: "exp", ResourceVersion: "2", Fence: "m.1"}
	return s
}

// TestWorldApplyName: the name of an ordinal is made where there is none, and nothing of it is written
// or removed that is another one, or has changed since it was judged.
func TestWorldApplyName(t *testing.T) {
	at := func(ordinal int32, verb Verb, uid types.UID, version string) Effect {
		return Effect{Verb: verb, Side: SourceSide, Ordinal: ordinal, UID: uid, ResourceVersion: version, Fence: "m.2"}
	}
	of := func(k int, change func(*Name)) func(*Snapshot) {
		return func(s *Snapshot) { change(&s.Source.Names[k]) }
	}
	service := PodService{Found: true, UID: "u1", ResourceVersion: "v2", Selects: true, Ours: true, Fence: "m.2"}
	export := Export{Found: true, UID: "u1", ResourceVersion: "v2", Ours: true, Fence: "m.2"}
	for name, tc := range map[string]worldWrite{
		"a Service":               {effect: at(0, CreatePodService, "", ""), change: of(0, func(n *Name) { n.Service = service })},
		"an export":               {effect: at(0, CreatePodExport, "", ""), change: of(0, func(n *Name) { n.Export = export })},
		"a Service that is there": {effect: at(1, CreatePodService, "", "")},
		"an export that is there": {effect: at(1, CreatePodExport, "", "")},
		"a Service beside an export": {
			effect: at(1, CreatePodService, "", ""), before: of(1, func(n *Name) { n.Service = PodService{} }), change: of(1, func(n *Name) { n.Service = service }),
		},
		"an export beside a Service": {
			effect: at(1, CreatePodExport, "", ""), before: of(1, func(n *Name) { n.Export = Export{} }), change: of(1, func(n *Name) { n.Export = export }),
		},
		"the Service is marked": {
			effect: at(1, MarkPodService, "svc", "1"), change: of(1, func(n *Name) { n.Service.Fence, n.Service.ResourceVersion = "m.2", "v1" }),
		},
		"the export is marked": {
			effect: at(1, MarkPodExport, "exp", "2"), change: of(1, func(n *Name) { n.Export.Fence, n.Export.ResourceVersion = "m.2", "v1" }),
		},
		"the Service goes": {effect: at(1, DeletePodService, "svc", "1"), change: of(1, func(n *Name) { n.Service = PodService{} })},
		"the export goes":  {effect: at(1, DeletePodExport, "exp", "2"), change: of(1, func(n *Name) { n.Export = Export{} })},
		"no export":        {effect: at(0, MarkPodExport, "", "2")},
		"of no ordinal":    {effect: at(2, CreatePodService, "", "")},
	} {
		t.Run(name, func(t *testing.T) { tc.check(t, halfNamed()) })
	}
	for _, verb := range []Verb{CreatePodService, CreatePodExport, MarkPodService, MarkPodExport, DeletePodService, DeletePodExport} {
		for _, uid := range []types.UID{"svc", "exp", "another"} {
			for _, version := range []string{"1", "2", "0"} {
				onService := (verb == MarkPodService || verb == DeletePodService) && uid == "svc" && version == "1"
				onExport := (verb == MarkPodExport || verb == DeletePodExport) && uid == "exp" && version == "2"
				if !onService && !onExport {
					t.Run(string(verb)+" of "+string(uid)+" as of "+version, func(t *testing.T) {
						worldWrite{effect: at(1, verb, uid, version)}.check(t, halfNamed())
					})
				}
			}
		}
	}
}
