package preview

import (
	"testing"

	"github.com/sliceshift/sliceshift/migration/plan"
)

// TestObjectOf: what is written is named as kubectl does, whatever kind it is of.
func TestObjectOf(t *testing.T) {
	for want, effect := range map[string]plan.Effect{
		"statefulset/web":         {Verb: plan.ScaleDown, Name: "web"},
		"poddisruptionbudget/web": {Verb: plan.SetBudget, Name: "web"},
		"secret/db":               {Verb: plan.CreateCopy, Kind: "Secret", Name: "db"},
		"networkpolicy/inside":    {Verb: plan.DeleteCopy, Kind: "NetworkPolicy", Name: "inside"},
	} {
		if got := ObjectOf(effect); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
