package pause

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

// TestK8Unconfirmed: a mark on a StatefulSet counts if the writer itself names the StatefulSet.
func TestK8Unconfirmed(t *testing.T) {
	const inventory = `apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
status: {inventory: {entries: [{id: shop_db_apps_StatefulSet, v: v1}, {id: ID, v: v1}]}}`
	const resources = `apiVersion: argoproj.io/v1alpha1
kind: Application
status: {resources: [{group: "", kind: Service, namespace: shop, name: web}, {group: GROUP, kind: StatefulSet, namespace: NAMESPACE, name: NAME}]}`
	named := func(text string, pairs ...string) string { return strings.NewReplacer(pairs...).Replace(text) }
	owned := func(uid string) *metav1.ObjectMeta {
		return &metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{APIVersion: "rabbitmq.com/v1beta1", Kind: "RabbitmqCluster", Name: "queue", UID: types.UID(uid), Controller: new(true)}}}
	}
	for name, tc := range map[string]struct {
		writer, kind string
		meta         *metav1.ObjectMeta
		says         string
	}{
		"a Kustomization that has it":            {named(inventory, "ID", "shop_web_apps_StatefulSet"), "apps/v1", nil, ""},
		"a Kustomization of our own kind":        {named(inventory, "ID", "shop_web_apps.sliceshift.io_StatefulSet"), "apps.sliceshift.io/v1alpha1", nil, ""},
		"a Kustomization of the other kind":      {named(inventory, "ID", "shop_web_apps_StatefulSet"), "apps.sliceshift.io/v1alpha1", nil, "status.inventory"},
		"a Kustomization of another namespace":   {named(inventory, "ID", "team_web_apps_StatefulSet"), "apps/v1", nil, "status.inventory"},
		"a Kustomization with a longer name":     {named(inventory, "ID", "shop_web_apps_StatefulSets"), "apps/v1", nil, "status.inventory"},
		"a Kustomization without an inventory":   {"apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization", "apps/v1", nil, "status.inventory"},
		"a Kustomization, in what users write":   {"apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nspec: {inventory: {entries: [{id: shop_web_apps_StatefulSet}]}}", "apps/v1", nil, "status.inventory"},
		"a HelmRelease that has it":              {named(inventory, "ID", "shop_web_apps_StatefulSet", "kustomize.toolkit", "helm.toolkit", "Kustomization", "HelmRelease"), "apps/v1", nil, ""},
		"a HelmRelease that has it not":          {"apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nstatus: {history: [{name: web, namespace: shop}]}", "apps/v1", nil, "status.inventory"},
		"an Application that has it":             {named(resources, "GROUP", "apps", "NAMESPACE", "shop", "NAME", "web"), "apps/v1", nil, ""},
		"an Application with another name":       {named(resources, "GROUP", "apps", "NAMESPACE", "shop", "NAME", "db"), "apps/v1", nil, "status.resources"},
		"an Application of another namespace":    {named(resources, "GROUP", "apps", "NAMESPACE", "team", "NAME", "web"), "apps/v1", nil, "status.resources"},
		"an Application of the other kind":       {named(resources, "GROUP", "apps.sliceshift.io", "NAMESPACE", "shop", "NAME", "web"), "apps/v1", nil, "status.resources"},
		"an Application without resources":       {"apiVersion: argoproj.io/v1alpha1\nkind: Application", "apps/v1", nil, "status.resources"},
		"an operator":                            {"apiVersion: rabbitmq.com/v1beta1\nkind: RabbitmqCluster\nmetadata: {uid: u}", "apps/v1", owned("u"), ""},
		"an operator's resource of another life": {"apiVersion: rabbitmq.com/v1beta1\nkind: RabbitmqCluster\nmetadata: {uid: u}", "apps/v1", owned("v"), "another UID"},
		"an operator that owns nothing":          {"apiVersion: rabbitmq.com/v1beta1\nkind: RabbitmqCluster\nmetadata: {uid: u}", "apps/v1", nil, "another UID"},
		"an autoscaler":                          {"apiVersion: keda.sh/v1alpha1\nkind: ScaledObject", "apps/v1", nil, ""},
	} {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(tc.writer), &object.Object); err != nil {
			t.Fatal(err)
		}
		set := tc.meta
		if set == nil {
			set = &metav1.ObjectMeta{}
		}
		set.Namespace, set.Name = "shop", "web"
		if got := Unconfirmed(object, set, tc.kind); (got == "") != (tc.says == "") || !strings.Contains(got, tc.says) {
			t.Errorf("%s: %q, want %q", name, got, tc.says)
		}
	}
}
