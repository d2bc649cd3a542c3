package slices

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// everyDefault has a pod template with all fields that have defaults in their structures.
const everyDefault = `
initContainers:
- {name: init, image: "init:1"}
containers:
- name: web
  image: web:1
  ports: [{containerPort: 80}]
  env:
  - {name: POD, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
  livenessProbe: {httpGet: {port: 80}}
  readinessProbe: {tcpSocket: {port: 80}}
  startupProbe: {grpc: {port: 80}}
  lifecycle: {postStart: {httpGet: {port: 80}}}
  volumeMounts: [{name: a, mountPath: /a}]
volumes:
- {name: a, emptyDir: {}}
- {name: b, secret: {secretName: s}}
- {name: c, configMap: {name: c}}
- {name: d, hostPath: {path: /x}}
- {name: e, downwardAPI: {items: [{path: l, fieldRef: {fieldPath: metadata.labels}}]}}
- {name: f, projected: {sources: [{serviceAccountToken: {path: t}}, {downwardAPI: {items: [{path: l, fieldRef: {fieldPath: metadata.name}}]}}]}}
`

// TestDefaultsAsNative: the stored form of a manifest is the same under both apiVersions, except for the fields that
// plain removes.
func TestDefaultsAsNative(t *testing.T) {
	namespace := newNamespace(t)
	for name, edit := range map[string]edit{
		"minimal":          drop("spec.replicas"),
		"whole template":   put("spec.template.spec", everyDefault),
		"claims":           claimed,
		"strategy by type": put("spec.updateStrategy.type", "RollingUpdate"),
		"OnDelete":         put("spec.updateStrategy.type", "OnDelete"),
		"one half of the retention policy": put(
			"spec.persistentVolumeClaimRetentionPolicy.whenScaled", "Delete"),
	} {
		t.Run("S-004 "+name, func(t *testing.T) {
			theirs, own := manifest(t, native, namespace, edit), manifest(t, ours, namespace, edit)
			mustCreate(t, theirs, client.DryRunAll)
			mustCreate(t, own, client.DryRunAll)
			if diff := cmp.Diff(plain(theirs), plain(own)); diff != "" {
				t.Errorf("-apps/v1 +ours:\n%s", diff)
			}
		})
	}
}

// TestDefaults: each default has its value.
func TestDefaults(t *testing.T) {
	namespace := newNamespace(t)
	for _, tc := range []struct {
		name string
		edit edit
		path string
		want string
	}{
		{"replicas", drop("spec.replicas"), "spec.replicas", "1"},
		{"podManagementPolicy", all(), "spec.podManagementPolicy", "OrderedReady"},
		{"revisionHistoryLimit", all(), "spec.revisionHistoryLimit", "10"},
		{"progressDeadlineSeconds", all(), "spec.progressDeadlineSeconds", "600"},
		{"terminationReasonPolicy", all(), "spec.terminationReasonPolicy", "IfRead"},
		{"updateStrategy without a type", all(), "spec.updateStrategy", "{type: RollingUpdate, rollingUpdate: {partition: 0}}"},
		{"updateStrategy with its type", put("spec.updateStrategy.type", "RollingUpdate"), "spec.updateStrategy", "{type: RollingUpdate}"},
		{"updateStrategy OnDelete", put("spec.updateStrategy.type", "OnDelete"), "spec.updateStrategy", "{type: OnDelete}"},
		{"partition", put("spec.updateStrategy.rollingUpdate", "{maxUnavailable: 2}"), "spec.updateStrategy", "{type: RollingUpdate, rollingUpdate: {partition: 0, maxUnavailable: 2}}"},
		{"K-173 retention policy", all(), "spec.persistentVolumeClaimRetentionPolicy", "{whenDeleted: Retain, whenScaled: Retain}"},
		{"half a retention policy", put("spec.persistentVolumeClaimRetentionPolicy.whenDeleted", "Delete"), "spec.persistentVolumeClaimRetentionPolicy", "{whenDeleted: Delete, whenScaled: Retain}"},
		{"volumeClaimUpdateStrategy absent", all(), "spec.volumeClaimUpdateStrategy", "null"},
		{"volumeClaimUpdateStrategy", put("spec.volumeClaimUpdateStrategy", "{}"), "spec.volumeClaimUpdateStrategy", "{type: OnDelete}"},
		{"ordinals absent", all(), "spec.ordinals", "null"},
		{"restartPolicy", all(), "spec.template.spec.restartPolicy", "Always"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			object := manifest(t, ours, namespace, tc.edit)
			mustCreate(t, object, client.DryRunAll)
			want, err := fromYAML(tc.want)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, at(object, tc.path)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.path, diff)
			}
		})
	}
}
