package dependencies

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"
)

// template names one object in each possible place of a pod template.
const template = `
serviceAccountName: app
priorityClassName: high
runtimeClassName: sandbox
imagePullSecrets: [{name: pull}, {name: ""}]
resourceClaims:
- {name: gpu, resourceClaimTemplateName: gpu}
- {name: shared, resourceClaimName: shared-gpu}
initContainers:
- name: init
  env: [{name: A, valueFrom: {configMapKeyRef: {name: c-init, key: a}}}, {name: B, value: b}, {name: C, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]
- name: sidecar
  restartPolicy: Always
  envFrom: [{secretRef: {name: s-sidecar}}]
containers:
- name: app
  env: [{name: P, valueFrom: {secretKeyRef: {name: s-env, key: p}}}, {name: O, valueFrom: {secretKeyRef: {name: s-optional, key: p, optional: true}}}]
  envFrom: [{configMapRef: {name: c-from}}, {configMapRef: {name: c-both, optional: true}}]
volumes:
- {name: config, configMap: {name: c-volume}}
- {name: both, configMap: {name: c-both}}
- {name: root, configMap: {name: kube-root-ca.crt}}
- {name: secret, secret: {secretName: s-volume}}
- {name: data, secret: {secretName: replaced-by-a-claim}}
- name: all
  projected:
    sources:
    - configMap: {name: c-projected}
    - secret: {name: s-projected}
    - serviceAccountToken: {path: token}
    - clusterTrustBundle: {name: bundle, path: ca}
- name: vault
  csi: {driver: secrets-store.csi.k8s.io, volumeAttributes: {secretProviderClass: vault}, nodePublishSecretRef: {name: s-csi}}
- {name: scratch, ephemeral: {volumeClaimTemplate: {spec: {storageClassName: fast}}}}
- {name: default-class, ephemeral: {volumeClaimTemplate: {spec: {}}}}
- {name: claim, persistentVolumeClaim: {claimName: shared}}
- {name: azure, azureFile: {secretName: s-azure, shareName: x}}
- {name: ceph, cephfs: {monitors: [a], secretRef: {name: s-ceph}}}
- {name: cinder, cinder: {volumeID: a, secretRef: {name: s-cinder}}}
- {name: flex, flexVolume: {driver: a, secretRef: {name: s-flex}}}
- {name: iscsi, iscsi: {targetPortal: a, iqn: b, lun: 0, secretRef: {name: s-iscsi}}}
- {name: rbd, rbd: {monitors: [a], image: b, secretRef: {name: s-rbd}}}
- {name: scale, scaleIO: {gateway: a, system: b, secretRef: {name: s-scale}}}
- {name: os, storageos: {secretRef: {name: s-os}}}
`

func podSpec(t testing.TB, text string) corev1.PodSpec {
	t.Helper()
	var spec corev1.PodSpec
	if err := yaml.UnmarshalStrict([]byte(text), &spec); err != nil {
		t.Fatal(err)
	}
	return spec
}

// read decodes an object like the API server's answer.
func read(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
		t.Fatal(err)
	}
	return object
}

// TestWalk: the objects that a template names in each place are found, and no others.
func TestWalk(t *testing.T) {
	var got []string
	for _, ref := range Walk(podSpec(t, template), []string{"data"}) {
		line := fmt.Sprintf("%s %s, %s", ref.Kind, ref.Name, ref.From)
		if ref.Optional {
			line += " (optional)"
		}
		got = append(got, line)
	}
	want := []string{
		"Secret pull, imagePullSecrets", "Secret s-azure, volume azure", "Secret s-ceph, volume ceph", "Secret s-cinder, volume cinder",
		"Secret s-csi, volume vault", "Secret s-env, env P of container app", "Secret s-flex, volume flex", "Secret s-iscsi, volume iscsi",
		"Secret s-optional, env O of container app (optional)", "Secret s-os, volume os", "Secret s-projected, volume all", "Secret s-rbd, volume rbd",
		"Secret s-scale, volume scale", "Secret s-sidecar, envFrom of init container sidecar", "Secret s-volume, volume secret",
		"ConfigMap c-both, volume both", "ConfigMap c-from, envFrom of container app", "ConfigMap c-init, env A of init container init",
		"ConfigMap c-projected, volume all", "ConfigMap c-volume, volume config",
		"SecretProviderClass vault, volume vault", "ResourceClaimTemplate gpu, resource claim gpu", "ServiceAccount app, serviceAccountName",
		"ResourceClaim shared-gpu, resource claim shared", "PriorityClass high, priorityClassName", "RuntimeClass sandbox, runtimeClassName",
		"StorageClass fast, volume scratch", "CSIDriver secrets-store.csi.k8s.io, volume vault", "ClusterTrustBundle bundle, volume all",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if refs := Walk(corev1.PodSpec{}, nil); len(refs) > 0 {
		t.Errorf("an empty template names %v", refs)
	}
}

// TestWalkKnowsEachKind: every found object has a known kind, and it is optional only if all its references
// are.
func TestWalkKnowsEachKind(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var spec corev1.PodSpec
		needed := map[string]bool{}
		for i := range rapid.IntRange(0, 8).Draw(t, "places") {
			name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name")
			optional := rapid.Bool().Draw(t, "optional")
			needed[name] = needed[name] || !optional
			ref := corev1.LocalObjectReference{Name: name}
			if rapid.Bool().Draw(t, "volume") {
				spec.Volumes = append(spec.Volumes, corev1.Volume{Name: strconv.Itoa(i), VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: ref, Optional: &optional}}})
				continue
			}
			from := []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: ref, Optional: &optional}}}
			spec.Containers = append(spec.Containers, corev1.Container{Name: strconv.Itoa(i), EnvFrom: from})
		}
		got := map[string]bool{}
		for _, ref := range Walk(spec, nil) {
			if _, known := KindOf(ref.Kind); !known || ref.From == "" {
				t.Errorf("unknown: %+v", ref)
			}
			got[ref.Name] = !ref.Optional
		}
		if diff := cmp.Diff(needed, got); diff != "" {
			t.Error(diff)
		}
	})
}

// TestFurther: dependencies of the pods may have dependencies themselves.
func TestFurther(t *testing.T) {
	for text, want := range map[string][]Reference{
		`{kind: ServiceAccount, metadata: {name: app}, imagePullSecrets: [{name: pull}, {name: app-dockercfg-x1}], secrets: [{name: app-token-1}]}`: {
			{Kind: Secret, Name: "pull", From: "ServiceAccount app"},
		},
		`{kind: RoleBinding, metadata: {name: app}, roleRef: {kind: Role, name: reader}}`:      {{Kind: Role, Name: "reader", From: "RoleBinding app"}},
		`{kind: RoleBinding, metadata: {name: app}, roleRef: {kind: ClusterRole, name: view}}`: {{Kind: ClusterRole, Name: "view", From: "RoleBinding app"}},
		`{kind: ResourceClaim, metadata: {name: g}, spec: {devices: {requests: [{name: a, exactly: {deviceClassName: x}}]}}}`: {
			{Kind: DeviceClass, Name: "x", From: "ResourceClaim g"},
		},
		`{kind: ResourceClaimTemplate, metadata: {name: g}, spec: {spec: {devices: {requests: [{name: a, exactly: {deviceClassName: x}}, {name: b, firstAvailable: [{deviceClassName: yy}]}, {name: c, deviceClassName: z}]}}}}`: {
			{Kind: DeviceClass, Name: "x", From: "ResourceClaimTemplate g"}, {Kind: DeviceClass, Name: "yy", From: "ResourceClaimTemplate g"}, {Kind: DeviceClass, Name: "z", From: "ResourceClaimTemplate g"},
		},
		`{kind: ConfigMap, metadata: {name: a}, data: {imagePullSecrets: x}}`: {},
	} {
		if diff := cmp.Diff(want, Further(read(t, text))); diff != "" {
			t.Errorf("%s:\n%s", text, diff)
		}
	}
}

// TestTogether: an object in several lists is returned once, and is required if one of them requires it.
func TestTogether(t *testing.T) {
	got := Together([]Reference{{Kind: ConfigMap, Name: "b", From: "x", Optional: true}, {Kind: Secret, Name: "c", From: "x"}}, []Reference{{Kind: ConfigMap, Name: "b", From: "y"}, {Kind: ConfigMap, Name: "a", From: "y"}})
	want := []Reference{{Kind: Secret, Name: "c", From: "x"}, {Kind: ConfigMap, Name: "a", From: "y"}, {Kind: ConfigMap, Name: "b", From: "y"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestKinds: each kind is complete, and volumes are the only cluster-scoped kind that is copied.
func TestKinds(t *testing.T) {
	for _, kind := range kinds {
		found, known := KindOf(kind.Name)
		if !known || found.Resource == "" || len(found.Versions) == 0 || found.Copied && found.Cluster && !found.Storage || found.GroupKind().Kind != kind.Name {
			t.Errorf("%+v", found)
		}
	}
	if _, known := KindOf("Pod"); known || len(Copied()) != 11 {
		t.Errorf("copied are %v", Copied())
	}
}

// TestSharedClaims: a claim that all pods share is found by its name, and its volume by the claim.
func TestSharedClaims(t *testing.T) {
	var spec corev1.PodSpec
	if err := yaml.Unmarshal([]byte(template), &spec); err != nil {
		t.Fatal(err)
	}
	spec.Volumes = append(spec.Volumes, corev1.Volume{Name: "own", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "replaced"}}})
	want := []Reference{{Kind: PersistentVolumeClaim, Name: "shared", From: "volume claim"}}
	if diff := cmp.Diff(want, SharedClaims(spec, []string{"data", "own"})); diff != "" {
		t.Error(diff)
	}
	claim := read(t, `{kind: PersistentVolumeClaim, metadata: {name: shared}, spec: {volumeName: nfs}}`)
	want = []Reference{{Kind: PersistentVolume, Name: "nfs", From: "PersistentVolumeClaim shared"}}
	if diff := cmp.Diff(want, Further(claim)); diff != "" {
		t.Error(diff)
	}
}
