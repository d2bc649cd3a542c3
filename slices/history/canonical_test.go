package history

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"
)

func readTemplate(t *testing.T, text string) *corev1.PodTemplateSpec {
	t.Helper()
	template := &corev1.PodTemplateSpec{}
	if err := yaml.UnmarshalStrict([]byte(text), template); err != nil {
		t.Fatal(err)
	}
	return template
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(data))
}

// TestAsAppsV1: testdata/apps_v1.json is what the StatefulSet controller of Kubernetes 1.36 wrote for template.json after
// its API server had set the defaults. This package writes the same bytes, under the same name.
func TestAsAppsV1(t *testing.T) {
	set := webSet("")
	set.Spec.Template = *readTemplate(t, readFile(t, "template.json"))
	for collisions, name := range []string{"web-86d6fbfd6", "web-86d6fbfd7"} {
		c, err := contentOf(set)
		if err != nil {
			t.Fatal(err)
		}
		revision := revisionFor(set, c, 1, int32(collisions))
		if diff := cmp.Diff(readFile(t, "apps_v1.json"), string(revision.Data.Raw)); diff != "" {
			t.Errorf("data (-want +got):\n%s", diff)
		}
		if revision.Name != name || revision.Labels[HashLabelKey] != strings.TrimPrefix(name, "web-") {
			t.Errorf("name %s, labels %v; want %s", revision.Name, revision.Labels, name)
		}
	}
}

// TestCanonical: the two templates of each pair are equivalent.
func TestCanonical(t *testing.T) {
	for name, tc := range map[string]struct{ given, stored string }{
		"nothing":                        {"{}", `spec: {restartPolicy: Always, dnsPolicy: ClusterFirst, schedulerName: default-scheduler, terminationGracePeriodSeconds: 30, securityContext: {}}`},
		"K-077 creationTimestamp null":   {"metadata: {creationTimestamp: null}", "{}"},
		"empty maps and lists":           {"metadata: {labels: {}, annotations: {}}\nspec: {volumes: [], nodeSelector: {}, tolerations: [], containers: [{name: a, image: b, command: [], env: [], resources: {limits: {}}}]}", "spec: {containers: [{name: a, image: b}]}"},
		"the old name of serviceAccount": {"spec: {serviceAccount: a}", "spec: {serviceAccountName: a, serviceAccount: a}"},
		"serviceAccountName goes first":  {"spec: {serviceAccountName: a, serviceAccount: b}", "spec: {serviceAccountName: a}"},
		"termination message":            {"spec: {containers: [{name: a, image: b}]}", "spec: {containers: [{name: a, image: b, terminationMessagePath: /dev/termination-log, terminationMessagePolicy: File}]}"},
		"init container":                 {"spec: {initContainers: [{name: a, image: b}]}", "spec: {initContainers: [{name: a, image: b, imagePullPolicy: Always, terminationMessagePath: /dev/termination-log, terminationMessagePolicy: File}]}"},
		"port":                           {"spec: {containers: [{name: a, image: b, ports: [{containerPort: 80}]}]}", "spec: {containers: [{name: a, image: b, ports: [{containerPort: 80, protocol: TCP}]}]}"},
		"field reference":                {"spec: {containers: [{name: a, env: [{name: N, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]}]}", "spec: {containers: [{name: a, env: [{name: N, valueFrom: {fieldRef: {apiVersion: v1, fieldPath: spec.nodeName}}}]}]}"},
		"file key reference":             {"spec: {containers: [{name: a, env: [{name: N, valueFrom: {fileKeyRef: {key: k, path: p, volumeName: v}}}]}]}", "spec: {containers: [{name: a, env: [{name: N, valueFrom: {fileKeyRef: {key: k, path: p, volumeName: v, optional: false}}}]}]}"},
		"quantities":                     {"spec: {containers: [{name: a, resources: {requests: {cpu: 1000m, memory: 1024Mi}, limits: {cpu: 0.0001}}}]}", "spec: {containers: [{name: a, resources: {requests: {cpu: 1, memory: 1Gi}, limits: {cpu: 1m}}}]}"},
		"probe":                          {"spec: {containers: [{name: a, livenessProbe: {exec: {command: [x]}}}]}", "spec: {containers: [{name: a, livenessProbe: {exec: {command: [x]}, timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3}}]}"},
		"HTTP probe":                     {"spec: {containers: [{name: a, readinessProbe: {httpGet: {port: 80}}}]}", "spec: {containers: [{name: a, readinessProbe: {httpGet: {port: 80, path: /, scheme: HTTP}, timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3}}]}"},
		"gRPC probe":                     {"spec: {containers: [{name: a, startupProbe: {grpc: {port: 80}}}]}", "spec: {containers: [{name: a, startupProbe: {grpc: {port: 80, service: ''}, timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3}}]}"},
		"lifecycle":                      {"spec: {containers: [{name: a, lifecycle: {postStart: {httpGet: {port: 80}}}}]}", "spec: {containers: [{name: a, lifecycle: {postStart: {httpGet: {port: 80, path: /, scheme: HTTP}}}}]}"},
		"volume without a source":        {"spec: {volumes: [{name: a}]}", "spec: {volumes: [{name: a, emptyDir: {}}]}"},
		"host path":                      {"spec: {volumes: [{name: a, hostPath: {path: /}}]}", "spec: {volumes: [{name: a, hostPath: {path: /, type: ''}}]}"},
		"secret":                         {"spec: {volumes: [{name: a, secret: {secretName: s}}]}", "spec: {volumes: [{name: a, secret: {secretName: s, defaultMode: 420}}]}"},
		"config map":                     {"spec: {volumes: [{name: a, configMap: {name: c}}]}", "spec: {volumes: [{name: a, configMap: {name: c, defaultMode: 420}}]}"},
		"downward API":                   {"spec: {volumes: [{name: a, downwardAPI: {items: [{path: p, fieldRef: {fieldPath: f}}]}}]}", "spec: {volumes: [{name: a, downwardAPI: {defaultMode: 420, items: [{path: p, fieldRef: {apiVersion: v1, fieldPath: f}}]}}]}"},
		"projected": {
			"spec: {volumes: [{name: a, projected: {sources: [{serviceAccountToken: {path: t}}, {downwardAPI: {items: [{path: p, fieldRef: {fieldPath: f}}]}}]}}]}",
			"spec: {volumes: [{name: a, projected: {defaultMode: 420, sources: [{serviceAccountToken: {path: t, expirationSeconds: 3600}}, {downwardAPI: {items: [{path: p, fieldRef: {apiVersion: v1, fieldPath: f}}]}}]}}]}",
		},
		"image volume": {"spec: {volumes: [{name: a, image: {reference: 'x:1'}}]}", "spec: {volumes: [{name: a, image: {reference: 'x:1', PullPolicy: IfNotPresent}}]}"},
		"ephemeral":    {"spec: {volumes: [{name: a, ephemeral: {volumeClaimTemplate: {spec: {}}}}]}", "spec: {volumes: [{name: a, ephemeral: {volumeClaimTemplate: {spec: {volumeMode: Filesystem}}}}]}"},
		"iSCSI":        {"spec: {volumes: [{name: a, iscsi: {targetPortal: t, iqn: i, lun: 0}}]}", "spec: {volumes: [{name: a, iscsi: {targetPortal: t, iqn: i, lun: 0, iscsiInterface: default}}]}"},
		"RBD":          {"spec: {volumes: [{name: a, rbd: {monitors: [m], image: i}}]}", "spec: {volumes: [{name: a, rbd: {monitors: [m], image: i, pool: rbd, user: admin, keyring: /etc/ceph/keyring}}]}"},
		"Azure disk":   {"spec: {volumes: [{name: a, azureDisk: {diskName: d, diskURI: u}}]}", "spec: {volumes: [{name: a, azureDisk: {diskName: d, diskURI: u, cachingMode: ReadWrite, fsType: ext4, readOnly: false, kind: Shared}}]}"},
		"ScaleIO":      {"spec: {volumes: [{name: a, scaleIO: {gateway: g, system: s, secretRef: {name: secret}}}]}", "spec: {volumes: [{name: a, scaleIO: {gateway: g, system: s, secretRef: {name: secret}, storageMode: ThinProvisioned, fsType: xfs}}]}"},
	} {
		t.Run(name, func(t *testing.T) {
			given, stored := Canonical(readTemplate(t, tc.given)), Canonical(readTemplate(t, tc.stored))
			want, err := json.Marshal(stored)
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(given)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("(-stored +given):\n%s", diff)
			}
		})
	}
}

// TestCanonicalDiffers: explicit values are not mistaken for defaults.
func TestCanonicalDiffers(t *testing.T) {
	for name, change := range map[string]func(*corev1.PodTemplateSpec){
		"image":         func(p *corev1.PodTemplateSpec) { p.Spec.Containers[0].Image = "web:2" },
		"pull policy":   func(p *corev1.PodTemplateSpec) { p.Spec.Containers[0].ImagePullPolicy = corev1.PullAlways },
		"grace period":  func(p *corev1.PodTemplateSpec) { p.Spec.TerminationGracePeriodSeconds = ptr.To[int64](0) },
		"account":       func(p *corev1.PodTemplateSpec) { p.Spec.ServiceAccountName = "web" },
		"a label":       func(p *corev1.PodTemplateSpec) { p.Labels["tier"] = "front" },
		"an annotation": func(p *corev1.PodTemplateSpec) { p.Annotations = map[string]string{"restartedAt": "now"} },
		"host network":  func(p *corev1.PodTemplateSpec) { p.Spec.HostNetwork = true },
	} {
		t.Run(name, func(t *testing.T) {
			set := webSet("web:1")
			revision := recorded(set, 1)
			if !Matches(set, revision) {
				t.Fatal("a set does not match its own revision")
			}
			if change(&set.Spec.Template); Matches(set, revision) {
				t.Error("the change is not seen")
			}
		})
	}
}

func TestPullPolicy(t *testing.T) {
	const digest = "@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	for image, want := range map[string]corev1.PullPolicy{
		"nginx":                           corev1.PullAlways,
		"nginx:latest":                    corev1.PullAlways,
		"nginx:1":                         corev1.PullIfNotPresent,
		"registry.example:5000/nginx":     corev1.PullAlways,
		"registry.example:5000/a/nginx:1": corev1.PullIfNotPresent,
		"nginx" + digest:                  corev1.PullIfNotPresent,
		"nginx:latest" + digest:           corev1.PullAlways,
		"nginx:1" + digest:                corev1.PullIfNotPresent,
		"":                                corev1.PullIfNotPresent,
	} {
		t.Run(image, func(t *testing.T) {
			if got := PullPolicy(image); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
}
