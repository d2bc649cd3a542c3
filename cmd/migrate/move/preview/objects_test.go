package preview

import (
	"testing"

	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// carries returns a write that carries volume pv-1 with pod sliceshift-sender.
func carries(verb volumes.Verb) plan.Effect {
	return plan.Effect{Verb: plan.CarryVolume, Name: "pv-1", Volume: volumes.Action{
		Verb: verb, Volume: "pv-1", Ref: volumes.Ref{Namespace: "shop", Name: "data-web-1"}, Copy: volumes.CopyAction{Pod: "sliceshift-sender"},
	}}
}

// TestObjectOf: objects of every kind are named as in kubectl.
func TestObjectOf(t *testing.T) {
	for want, effect := range map[string]plan.Effect{
		"statefulset/web":         {Verb: plan.ScaleDown, Name: "web"},
		"poddisruptionbudget/web": {Verb: plan.SetBudget, Name: "web"},
		"secret/db":               {Verb: plan.CreateCopy, Kind: "Secret", Name: "db"},
		"networkpolicy/inside":    {Verb: plan.DeleteCopy, Kind: "NetworkPolicy", Name: "inside"},

		"persistentvolume/pv-1":            carries(volumes.Park),
		"persistentvolumeclaim/data-web-1": carries(volumes.CreateClaim),
		"pod/sliceshift-sender":            carries(volumes.TellMover),
		"service/data-web-1":               carries(volumes.CreateEntrance),
		"serviceexport/data-web-1":         carries(volumes.ExportEntrance),
		"volumesnapshot/data-web-1":        carries(volumes.TakeBase),
		"volumesnapshotcontent/data-web-1": carries(volumes.RetainContent),
	} {
		if got := ObjectOf(effect); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestBrief: only the name of a volume is replaced, by its claim template.
func TestBrief(t *testing.T) {
	for name, tc := range map[string]struct{ action, volume, template, want string }{
		"a volume":              {"park volume pv-1 on the source", "pv-1", "data", "park volume data on the source"},
		"of a claim":            {"create claim shop/data-web-1 on the destination on volume pv-1", "pv-1", "data", "create claim shop/data-web-1 on the destination on volume data"},
		"a part of other words": {"park volume data on the source for data-web-1", "data", "log", "park volume log on the source for data-web-1"},
		"of no template":        {"park volume pv-1 on the source", "pv-1", "", "park volume pv-1 on the source"},
		"of no volume":          {"stop ordinal 1 on the source", "", "data", "stop ordinal 1 on the source"},
	} {
		if got := Brief(tc.action, tc.volume, tc.template); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
