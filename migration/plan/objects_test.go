package plan

import (
	"testing"

	"github.com/sliceshift/sliceshift/volumes"
)

// carries returns a write that carries volume pv-1 with pod sliceshift-sender.
func carries(verb volumes.Verb) Effect {
	return Effect{Verb: CarryVolume, Name: "pv-1", Volume: volumes.Action{
		Verb: verb, Volume: "pv-1", Ref: volumes.Ref{Namespace: "shop", Name: "data-web-1"}, Copy: volumes.CopyAction{Pod: "sliceshift-sender"},
	}}
}

// TestObject: objects of every kind are named as in kubectl.
func TestObject(t *testing.T) {
	for want, effect := range map[string]Effect{
		"statefulset/web":         {Verb: ScaleDown, Name: "web"},
		"poddisruptionbudget/web": {Verb: SetBudget, Name: "web"},
		"secret/db":               {Verb: CreateCopy, Kind: "Secret", Name: "db"},
		"networkpolicy/inside":    {Verb: DeleteCopy, Kind: "NetworkPolicy", Name: "inside"},

		"persistentvolume/pv-1":            carries(volumes.Park),
		"persistentvolumeclaim/data-web-1": carries(volumes.CreateClaim),
		"pod/sliceshift-sender":            carries(volumes.TellMover),
		"service/data-web-1":               carries(volumes.CreateEntrance),
		"serviceexport/data-web-1":         carries(volumes.ExportEntrance),
		"volumesnapshot/data-web-1":        carries(volumes.TakeBase),
		"volumesnapshotcontent/data-web-1": carries(volumes.RetainContent),
	} {
		if got := effect.Object(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
