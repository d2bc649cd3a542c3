package move

import (
	"context"
	"errors"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/cluster"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/e2e/versions"
	"github.com/sliceshift/sliceshift/migration/engine"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// TestOlderDestination moves to an API server that drops a field of the pod template, as an older version
// would. The move is refused before it starts, or held before the first stop if the migration creates the
// namespace (G8).
func TestOlderDestination(t *testing.T) {
	t.Parallel()
	older := startBare(t, "older", cluster.Options{Gates: olderGates(t)})
	newer := startBare(t, "newer", cluster.Options{Gates: []string{cluster.MaxUnavailable}})
	if err := fixture.InstallCRDs(t.Context(), newer.client); err != nil {
		t.Fatal(err)
	}
	ofPods := func(set *appsv1.StatefulSet) {
		set.Spec.Template.Spec.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1m")}}
	}
	ofTheSet := func(set *appsv1.StatefulSet) {
		set.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType, RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{MaxUnavailable: harness.IntOrString("2")}}
	}
	for name, tc := range map[string]struct {
		exists bool
		adapt  func(*appsv1.StatefulSet)
		path   string
	}{
		"U-35: its namespace exists":               {true, ofPods, "spec.template.spec.resources"},
		"U-35: its namespace is made":              {false, ofPods, "spec.template.spec.resources"},
		"U-35: a field of the set":                 {true, ofTheSet, "spec.updateStrategy.rollingUpdate.maxUnavailable"},
		"U-35: a field of the set, in a namespace": {false, ofTheSet, "spec.updateStrategy.rollingUpdate.maxUnavailable"},
	} {
		t.Run(name, func(t *testing.T) {
			app := harness.Usual(2)
			app.Adapt = tc.adapt
			v := newMove(t, app, to(older), func(v *harness.Move) { v.From = newer.Cluster })
			if tc.exists {
				v.Must(v.makeNamespace())
			}
			var hold *plan.Hold
			held := errors.New("held")
			err := v.Mover().Run(v.Ctx, func(_ *api.Migration, outcome engine.Outcome) error {
				if h := outcome.Decision.Hold; h != nil && h.Stalled {
					hold = h
					return held
				}
				if e := outcome.Decision.Effect; e != nil && e.Verb == plan.ScaleDown {
					t.Errorf("it was not asked before: %s", e)
					return held
				}
				return nil
			})
			if !errors.Is(err, held) || hold == nil || hold.Reason != api.ReasonKindUnsupported || !strings.Contains(hold.Message, tc.path) {
				t.Fatalf("ended with %v, held by %+v", err, hold)
			}
			if set := v.fingerprint(); !strings.Contains(set, "set generation 1 ") {
				t.Errorf("the source was scaled: %s", set)
			}
			v.Audit()
		})
	}
	t.Run("U-35: an older definition of our own kind", older.dropsOfOurs)
	t.Run("U-35: an older version of what pods need", older.servesAnOlderVersion)
}

// olderGates returns feature gates without which an API server drops the resources of whole pods, and maxUnavailable of a
// set.
func olderGates(t *testing.T) []string {
	t.Helper()
	v, err := versions.Selected()
	if err != nil {
		t.Fatal(err)
	}
	return append(versions.WithoutPodResources(v.Minor()), "MaxUnavailableStatefulSet=false")
}

// to moves from the first cluster of the tests to another cluster.
func to(other *bare) harness.Setting {
	return func(v *harness.Move) { v.From, v.To = harness.East(), other.Cluster }
}

// dropsOfOurs: a definition without a field silently prunes it, also outside the pod template.
func (b *bare) dropsOfOurs(t *testing.T) {
	if err := errors.Join(sliceControllers(), fixture.InstallCRDs(t.Context(), b.client)); err != nil {
		t.Fatal(err)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := b.client.Get(t.Context(), client.ObjectKey{Name: "statefulsets.apps.sliceshift.io"}, crd); err != nil {
		t.Fatal(err)
	}
	properties := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties
	spec := properties["spec"]
	delete(spec.Properties, "scaleStrategy")
	spec.XValidations = nil // the rules name the field
	properties["spec"] = spec
	if err := b.client.Update(t.Context(), crd); err != nil {
		t.Fatal(err)
	}
	v := newMove(t, harness.Usual(1), to(b), ofKinds(slice, slice))
	v.Must(v.makeNamespace())
	v.Must(v.patchKind(v.Here(), slice, `{"spec":{"scaleStrategy":{"maxUnavailable":1}}}`))
	const want = "spec.scaleStrategy"
	v.Eventually("the field is missed", func(context.Context) (bool, error) {
		return strings.Contains(v.saysOf("rehearsal", "--api-version", slice, "--to-api-version", slice), want), nil
	})
}

// servesAnOlderVersion: when the destination serves a kind in another version than the source, the finding
// names the usable versions.
func (b *bare) servesAnOlderVersion(t *testing.T) {
	v := newMove(t, harness.Usual(1), to(b), needyServing("v1alpha1"))
	if said := v.saysOf(plan.CheckCopies, "--copy-dependencies"); !strings.Contains(said, "SecretProviderClass vault") || !strings.Contains(said, "v1, v1alpha1") {
		t.Errorf("it does not name the kind and the versions: %s", said)
	}
}

// saysOf returns the finding of a check.
func (v *move) saysOf(name string, more ...string) string {
	v.T.Helper()
	var said []string
	for _, group := range v.preflight(more...).Groups {
		for _, check := range group.Checks {
			for _, f := range check.Findings {
				if check.Check == name {
					said = append(said, f.Message)
				}
			}
		}
	}
	return strings.Join(said, "\n")
}
