package engine

import (
	"encoding/json"
	"reflect"
	"testing"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/migration/world"
)

// fuzzedMost bounds the number of ordinals: more only take more time.
const fuzzedMost = 1000

// FuzzPlan: for any Migration and any snapshot, nothing panics and the same snapshot gives the same decision.
// Nothing is done while a side cannot be read (I6).
func FuzzPlan(f *testing.F) {
	f.Add([]byte(`{"spec":{"source":{"name":"web"},"destination":{"namespace":"b"}}}`), []byte(`{}`))
	f.Fuzz(func(t *testing.T, migrationJSON, snapshotJSON []byte) {
		m, s := &api.Migration{}, plan.Snapshot{}
		if json.Unmarshal(migrationJSON, m) != nil || json.Unmarshal(snapshotJSON, &s) != nil || large(m, s) {
			return
		}
		s.Spec, s.Record = world.SpecOf(m, s.Spec.SameCluster), world.RecordOf(m)
		decision := planner.Plan(s)
		if again := planner.Plan(s); !reflect.DeepEqual(decision, again) {
			t.Errorf("decided %+v, then %+v", decision, again)
		}
		if decision.Effect != nil && (s.Source.Reach == plan.Unreachable || s.Destination.Reach == plan.Unreachable) {
			t.Errorf("%s, and a side cannot be read", decision.Effect)
		}
		planner.For(s, decision)
		render(m, s, decision)
		if decision.Effect != nil && decision.Effect.String() == "" {
			t.Errorf("effect %+v has no words", decision.Effect)
		}
	})
}

func large(m *api.Migration, s plan.Snapshot) bool {
	for _, set := range []plan.Set{s.Source.Set, s.Destination.Set} {
		if set.Replicas > fuzzedMost {
			return true
		}
	}
	return m.Status.Baseline != nil && m.Status.Baseline.Replicas > fuzzedMost
}
