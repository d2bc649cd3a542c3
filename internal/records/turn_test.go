package records_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/records"
)

// TestTurnBack: one write has the mode and the automatic rollback that it is for, with full precision. A mode that the user
// sets in a record clears it, other writes do not, and the mode Rollback does not confirm it.
func TestTurnBack(t *testing.T) {
	for name, tc := range map[string]struct {
		change records.Change
		want   bool
	}{
		"run":            {records.Change{Mode: api.ModeRun}, false},
		"pause":          {records.Change{Mode: api.ModePause}, false},
		"roll back":      {records.Change{Mode: api.ModeRollback}, true},
		"something else": {records.Change{SplitBudget: api.SplitBudgetSource}, true},
	} {
		t.Run(name, func(t *testing.T) {
			store := records.ConfigMap{Client: fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).Build(), Namespace: "shop", Name: "web"}
			m := moving()
			m.Status.AutomaticRollback.Time = metav1.NewMicroTime(time.Unix(7, 123456789))
			if err := store.Create(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			if err := store.TurnBack(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			kept, err := store.Load(t.Context())
			if err != nil || kept.Spec.Mode != api.ModeRollback || kept.Annotations[api.AutomaticRollbackAnnotationKey] != kept.Status.AutomaticRollback.Mark() {
				t.Fatalf("kept: %s, %v, %v", kept.Spec.Mode, kept.Annotations, err)
			}
			if err := store.Change(t.Context(), tc.change); err != nil {
				t.Fatal(err)
			}
			if kept, err = store.Load(t.Context()); err != nil || (kept.Status.AutomaticRollback != nil) != tc.want {
				t.Errorf("it is remembered: %+v, %v", kept.Status.AutomaticRollback, err)
			}
		})
	}
}
