package pause

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestSettings: each setting is read from the path to which it is written, and has a documentation URL.
func TestSettings(t *testing.T) {
	for group, want := range map[string]string{
		"kafka.strimzi.io":             `{"metadata":{"annotations":{"strimzi.io/pause-reconciliation":"true"}}}`,
		"elasticsearch.k8s.elastic.co": `{"metadata":{"annotations":{"eck.k8s.elastic.co/managed":"false"}}}`,
		"monitoring.coreos.com":        `{"spec":{"paused":true}}`,
		"k8s.mariadb.com":              `{"spec":{"suspend":true}}`,
		"rabbitmq.com":                 `{"metadata":{"labels":{"rabbitmq.com/pauseReconciliation":"true"}}}`,
		"keda.sh":                      `{"metadata":{"annotations":{"autoscaling.keda.sh/paused":"true"}}}`,
		"helm.toolkit.fluxcd.io":       `{"spec":{"suspend":true}}`,
	} {
		setting := Of(group)
		if setting == nil {
			t.Fatalf("%s is not known", group)
		}
		if got := setting.Pausing(); got != want {
			t.Errorf("%s: %s", group, got)
		}
	}
	for _, setting := range Settings {
		object := &unstructured.Unstructured{Object: map[string]any{}}
		if setting.Read(object) != "" {
			t.Errorf("%s: an empty resource is paused", setting.Group)
		}
		if err := unstructured.SetNestedField(object.Object, setting.Value, setting.Path...); err != nil || setting.Read(object) != setting.Text() {
			t.Errorf("%s: %v, %v is not paused", setting.Group, err, object.Object)
		}
		if !strings.HasPrefix(setting.Source, "https://") {
			t.Errorf("%s: nobody says so", setting.Group)
		}
		none, err := setting.Patch(nil)
		if value, found, _ := unstructured.NestedFieldNoCopy(none, setting.Path...); err != nil || !found || value != nil {
			t.Errorf("%s is not taken away: %v, %v", setting.Group, none, err)
		}
	}
	for _, group := range []string{"apps", "elastic.co", "evilkafka.strimzi.io", ""} {
		if Of(group) != nil {
			t.Errorf("%s is known", group)
		}
	}
	half := "{"
	if _, err := Settings[0].Patch(&half); err == nil || !strings.Contains(err.Error(), "strimzi.io/pause-reconciliation") {
		t.Errorf("half a value: %v", err)
	}
}

// TestTargets: the owner of a StatefulSet, and the tool that tracks it, are found by their marks.
func TestTargets(t *testing.T) {
	target := func(group, kind, version, namespace, name string) Target {
		return Target{schema.GroupKind{Group: group, Kind: kind}, version, namespace, name}
	}
	for name, tc := range map[string]struct {
		meta metav1.ObjectMeta
		want []Target
	}{
		"nobody":                            {metav1.ObjectMeta{}, nil},
		"an operator":                       {metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{APIVersion: "rabbitmq.com/v1beta1", Kind: "RabbitmqCluster", Name: "queue", Controller: new(true)}}}, []Target{target("rabbitmq.com", "RabbitmqCluster", "v1beta1", "shop", "queue")}},
		"an unknown one":                    {metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Thing", Name: "a", Controller: new(true)}}}, nil},
		"no controller":                     {metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{APIVersion: "rabbitmq.com/v1beta1", Kind: "RabbitmqCluster", Name: "queue"}}}, nil},
		"Flux":                              {metav1.ObjectMeta{Labels: map[string]string{"kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"}}, []Target{target(kustomize, "Kustomization", "", "flux-system", "apps")}},
		"Flux leaves it":                    {metav1.ObjectMeta{Labels: map[string]string{"kustomize.toolkit.fluxcd.io/name": "apps"}, Annotations: map[string]string{"kustomize.toolkit.fluxcd.io/reconcile": "disabled"}}, nil},
		"a release":                         {metav1.ObjectMeta{Labels: map[string]string{"helm.toolkit.fluxcd.io/name": "web"}}, []Target{target(helm, "HelmRelease", "", "shop", "web")}},
		"Argo CD":                           {metav1.ObjectMeta{Annotations: map[string]string{"argocd.argoproj.io/tracking-id": "store:apps/StatefulSet:shop/web"}}, []Target{target(argo, "Application", "", "argocd", "store")}},
		"Argo CD, its own namespace":        {metav1.ObjectMeta{Labels: map[string]string{"argocd.argoproj.io/instance": "teams_store"}}, []Target{target(argo, "Application", "", "teams", "store")}},
		"H8: Argo CD, by its default label": {metav1.ObjectMeta{Labels: map[string]string{"app.kubernetes.io/instance": "store"}}, []Target{target(argo, "Application", "", "argocd", "store")}},
		"H8: Helm alone":                    {metav1.ObjectMeta{Labels: map[string]string{"app.kubernetes.io/instance": "store"}, Annotations: map[string]string{"meta.helm.sh/release-name": "store"}}, nil},
		"H8: Flux has the chart":            {metav1.ObjectMeta{Labels: map[string]string{"app.kubernetes.io/instance": "web", "helm.toolkit.fluxcd.io/name": "web"}}, []Target{target(helm, "HelmRelease", "", "shop", "web")}},
	} {
		tc.meta.Namespace = "shop"
		if diff := cmp.Diff(tc.want, Targets(&tc.meta)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestScales: only ScaledObjects that target a StatefulSet count. A pause at a number of replicas is the user's
// own.
func TestScales(t *testing.T) {
	over := func(change func(map[string]any)) *unstructured.Unstructured {
		ref := map[string]any{"kind": "StatefulSet", "name": "web"}
		object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"scaleTargetRef": ref}}}
		change(ref)
		return object
	}
	fixed := over(func(map[string]any) {})
	fixed.SetAnnotations(map[string]string{KEDAPausedAt: "3"})
	for name, tc := range map[string]struct {
		object *unstructured.Unstructured
		kind   string
		want   bool
	}{
		"it is":              {over(func(map[string]any) {}), "apps/v1", true},
		"by its API":         {over(func(ref map[string]any) { ref["apiVersion"] = "apps.sliceshift.io/v1alpha1" }), "apps.sliceshift.io/v1alpha1", true},
		"another API":        {over(func(map[string]any) {}), "apps.sliceshift.io/v1alpha1", false},
		"a Deployment":       {over(func(ref map[string]any) { ref["kind"] = "Deployment" }), "apps/v1", false},
		"another one":        {over(func(ref map[string]any) { ref["name"] = "db" }), "apps/v1", false},
		"paused at a number": {fixed, "apps/v1", false},
	} {
		if Scales(tc.object, tc.kind, "web") != tc.want {
			t.Errorf("%s: not %t", name, tc.want)
		}
	}
}
