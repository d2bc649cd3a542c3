package dependencies

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// TestP11EachFieldIsKnown: the table has every field of the types of pod templates, claims and volumes, and no
// other. A field of a newer Kubernetes fails this test.
func TestP11EachFieldIsKnown(t *testing.T) {
	found := map[string]bool{}
	for of, fields := range listed {
		for _, f := range fields {
			key := of.Name() + "." + f.json
			found[key] = true
			if _, known := uses[key]; !known {
				t.Errorf("%s is in no table: does it name an object, or need something of the cluster or the node?", key)
			}
		}
	}
	for key, use := range uses {
		if !found[key] && key != "LocalObjectReference.name" {
			t.Errorf("no type has %s", key)
		}
		if _, known := KindOf(use.Names); use.Names != "" && !known {
			t.Errorf("%s names objects of kind %s, which is not known", key, use.Names)
		}
	}
	lines := 0
	for _, table := range []map[string][]line{podFields, sourceFields, claimFields} {
		for _, each := range table {
			for _, l := range each {
				lines += len(strings.Fields(l.fields))
			}
		}
	}
	if lines != len(uses) {
		t.Errorf("%d fields in the tables, and %d have one use", lines, len(uses))
	}
}

// TestP11VolumesAndClaims: the objects that a claim and a volume name are found, in the namespaces that they
// specify.
func TestP11VolumesAndClaims(t *testing.T) {
	var volume corev1.PersistentVolumeSpec
	if err := yaml.UnmarshalStrict([]byte(`
claimRef: {namespace: shop, name: data-web-0}
volumeAttributesClassName: gold
storageClassName: fast
csi:
  driver: disk.example.com
  volumeHandle: a
  nodeStageSecretRef: {name: stage, namespace: storage}
  nodePublishSecretRef: {name: publish, namespace: storage}
  controllerPublishSecretRef: {name: attach, namespace: storage}
  controllerExpandSecretRef: {name: grow, namespace: storage}
  nodeExpandSecretRef: {name: grow, namespace: storage}
`), &volume); err != nil {
		t.Fatal(err)
	}
	show := func(refs []Reference) (all []string) {
		for _, ref := range refs {
			all = append(all, ref.Kind+" "+ref.Namespace+"/"+ref.Name)
		}
		return all
	}
	want := []string{"Secret storage/attach", "Secret storage/grow", "Secret storage/publish", "Secret storage/stage", "VolumeAttributesClass /gold"}
	if diff := cmp.Diff(want, show(WalkVolume(volume, "volume pv"))); diff != "" {
		t.Error(diff)
	}
	volume.CSI = nil
	volume.AzureFile = &corev1.AzureFilePersistentVolumeSource{SecretName: "key"}
	if diff := cmp.Diff([]string{"Secret /key", "VolumeAttributesClass /gold"}, show(WalkVolume(volume, "volume pv"))); diff != "" {
		t.Error(diff)
	}
	volume.AzureFile.SecretNamespace = new("storage")
	if diff := cmp.Diff([]string{"Secret storage/key", "VolumeAttributesClass /gold"}, show(WalkVolume(volume, "volume pv"))); diff != "" {
		t.Error(diff)
	}
	claim := corev1.PersistentVolumeClaimSpec{StorageClassName: new("fast"), VolumeAttributesClassName: new("gold"), DataSource: &corev1.TypedLocalObjectReference{Kind: VolumeSnapshot, Name: "nightly"}}
	if diff := cmp.Diff([]string{"StorageClass /fast", "VolumeAttributesClass /gold", "VolumeSnapshot /nightly"}, show(WalkClaim(claim, "claim template data"))); diff != "" {
		t.Error(diff)
	}
	claim.DataSource.Kind = "PersistentVolumeClaim"
	if diff := cmp.Diff([]string{"PersistentVolumeClaim /nightly", "StorageClass /fast", "VolumeAttributesClass /gold"}, show(WalkClaim(claim, "claim template data"))); diff != "" {
		t.Errorf("a clone: %s", diff)
	}
	claim.DataSource, claim.DataSourceRef = nil, &corev1.TypedObjectReference{Kind: VolumeSnapshot, Name: "nightly", Namespace: new("backups")}
	if diff := cmp.Diff([]string{"StorageClass /fast", "VolumeAttributesClass /gold", "VolumeSnapshot backups/nightly"}, show(WalkClaim(claim, "claim template data"))); diff != "" {
		t.Errorf("of another namespace: %s", diff)
	}
	claim.DataSourceRef.Kind = "Database"
	if refs := WalkClaim(claim, "claim template data"); len(refs) != 2 {
		t.Errorf("a populator's source names %v", refs)
	}
}
