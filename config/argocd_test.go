package config

import (
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	sliceapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// TestY14ArgoConfigMap: the patch of Argo CD's ConfigMap has exactly the scripts of both kinds that the tests run.
func TestY14ArgoConfigMap(t *testing.T) {
	read := func(name string) []byte {
		text, err := os.ReadFile("argocd/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	var patch corev1.ConfigMap
	if err := yaml.UnmarshalStrict(read("argocd-cm.yaml"), &patch); err != nil {
		t.Fatal(err)
	}
	scripts := map[string]string{
		"resource.customizations.health." + api.GroupVersion.Group + "_Migration":        "migration-health.lua",
		"resource.customizations.health." + sliceapi.GroupVersion.Group + "_StatefulSet": "statefulset-health.lua",
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(scripts)), slices.Sorted(maps.Keys(patch.Data))); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	for key, file := range scripts {
		if diff := cmp.Diff(string(read(file)), patch.Data[key]); diff != "" {
			t.Errorf("%s has another script than %s (-want +got):\n%s", key, file, diff)
		}
	}
	if patch.Name != "argocd-cm" {
		t.Errorf("it patches ConfigMap %s", patch.Name)
	}
}
