package world

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// TestModeWriter: the last writer of spec.mode is returned, and not a writer of another field of that name, of the
// status, or of other fields. It is returned only after an automatic rollback.
func TestModeWriter(t *testing.T) {
	wrote := func(who, fields string, second int64) metav1.ManagedFieldsEntry {
		entry := metav1.ManagedFieldsEntry{Manager: who, FieldsV1: metav1.NewFieldsV1(fields)}
		if second > 0 {
			entry.Time = new(metav1.Unix(second, 0))
		}
		return entry
	}
	const mode, deeper = `{"f:spec":{"f:mode":{}}}`, `{"f:spec":{"f:dependencies":{"f:mode":{}}}}`
	status := wrote("flux", mode, 9)
	status.Subresource = "status"
	for name, tc := range map[string]struct {
		fields []metav1.ManagedFieldsEntry
		want   string
	}{
		"nobody":              {nil, ""},
		"a tool":              {[]metav1.ManagedFieldsEntry{wrote(api.FieldManager, deeper, 1), wrote("flux", mode, 2)}, "flux"},
		"the last one":        {[]metav1.ManagedFieldsEntry{wrote("argo", mode, 3), wrote("flux", mode, 2)}, "argo"},
		"at no time":          {[]metav1.ManagedFieldsEntry{wrote("flux", mode, 0)}, "flux"},
		"the migration":       {[]metav1.ManagedFieldsEntry{wrote(api.FieldManager, mode, 2)}, ""},
		"another field":       {[]metav1.ManagedFieldsEntry{wrote("flux", deeper, 2)}, ""},
		"a status":            {[]metav1.ManagedFieldsEntry{status}, ""},
		"what cannot be read": {[]metav1.ManagedFieldsEntry{wrote("flux", "{", 2), {Manager: "argo"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := &api.Migration{ObjectMeta: metav1.ObjectMeta{ManagedFields: tc.fields}}
			if got := modeWriter(m); got != "" {
				t.Errorf("not turned back: %q", got)
			}
			m.Status.AutomaticRollback = &api.AutomaticRollback{}
			if got := modeWriter(m); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// TestRollbackWritten: the annotation of the Migration identifies one automatic rollback, and not a later one.
func TestRollbackWritten(t *testing.T) {
	turn := api.AutomaticRollback{Time: metav1.NewMicroTime(time.Unix(1, 5000))}
	later := api.AutomaticRollback{Time: metav1.NewMicroTime(time.Unix(1, 6000))}
	for name, tc := range map[string]struct {
		turn *api.AutomaticRollback
		mark string
		want bool
	}{
		"none":           {nil, turn.Mark(), false},
		"not written":    {&turn, "", false},
		"written":        {&turn, turn.Mark(), true},
		"a former one's": {&later, turn.Mark(), false},
	} {
		m := &api.Migration{Status: api.MigrationStatus{AutomaticRollback: tc.turn}}
		m.Annotations = map[string]string{api.AutomaticRollbackAnnotationKey: tc.mark}
		if got := rollbackWritten(m); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
