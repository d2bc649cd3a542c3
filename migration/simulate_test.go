package migration

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sliceshift/sliceshift/pdb"
)

func maxUnavailable(n int32) *pdb.Form {
	value := intstr.FromInt32(n)
	return &pdb.Form{MaxUnavailable: &value}
}

func TestDebug(t *testing.T) {
	for _, same := range []bool{false, true} {
		s := scenario{replicas: 3, templates: []string{"data"}, budget: maxUnavailable(1), spec: Spec{SameCluster: same}}.build()
		r := Simulate(s)
		for i, st := range r.Steps {
			t.Log(i+1, st.Description, st.Available)
		}
		t.Logf("%+v %v %v", r.Outcome, r.Held, r.Fewest)
	}
}
