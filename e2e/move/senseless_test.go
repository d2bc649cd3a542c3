package move

import (
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/cluster"
)

// senselessOf returns a Migration in namespace shop with additional fields in its spec.
func senselessOf(name string, more map[string]any) *unstructured.Unstructured {
	spec := map[string]any{"source": map[string]any{"name": "web"}, "destination": map[string]any{"namespace": "store"}}
	maps.Copy(spec, more)
	m := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	m.SetGroupVersionKind(api.GroupVersion.WithKind("Migration"))
	m.SetNamespace("shop")
	m.SetName(name)
	return m
}

// TestV11Admission: the API server refuses Migrations that are well-formed but make no sense, each with one
// sentence. For tools that wait, a Migration without a status is in progress.
func TestV11Admission(t *testing.T) {
	t.Parallel()
	b := startBare(t, "senseless", cluster.Options{})
	b.migrate(0, "install", "--crds-only", "--check-authors=false")
	if err := b.client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../cmd/migrate/move/admission/testdata/senseless.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if text, err = yaml.YAMLToJSON(text); err != nil {
		t.Fatal(err)
	}
	var all []struct {
		Name    string         `json:"name"`
		Refused string         `json:"refused"`
		Spec    map[string]any `json:"spec"`
	}
	if err := json.Unmarshal(text, &all); err != nil { // integers remain integers
		t.Fatal(err)
	}
	for _, tc := range all {
		err := b.client.Create(t.Context(), senselessOf("senseless", tc.Spec))
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), tc.Refused) {
			t.Errorf("%s: %v, want %q", tc.Name, err, tc.Refused)
		}
		if err == nil {
			_ = b.client.Delete(t.Context(), senselessOf("senseless", nil))
		}
	}
	m := senselessOf("web", map[string]any{"schedule": map[string]any{"timeZone": "Europe/Berlin", "windows": []any{map[string]any{"start": "0 2 * * MON-FRI", "duration": "4h"}}}})
	if err := b.client.Create(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if err := b.client.Get(t.Context(), client.ObjectKeyFromObject(m), m); err != nil {
		t.Fatal(err)
	}
	if judged, err := status.Compute(m); err != nil || judged.Status != status.InProgressStatus {
		t.Errorf("Y14: nobody has looked at it yet, and kstatus says %+v, %v: %v", judged, err, m.Object["status"])
	}
}
