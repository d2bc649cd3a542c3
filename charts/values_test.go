package charts

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// deployment returns the manager's Deployment.
func deployment(t *testing.T, of objects) *appsv1.Deployment {
	t.Helper()
	found := &appsv1.Deployment{}
	of.into(t, "Deployment sliceshift-manager", found)
	return found
}

// container returns the manager's container.
func container(t *testing.T, of objects) corev1.Container {
	t.Helper()
	return deployment(t, of).Spec.Template.Spec.Containers[0]
}

// TestValues: each value changes its part of the objects.
func TestValues(t *testing.T) {
	digest := "sha256:" + strings.Repeat("a", 64)
	for name, tc := range map[string]struct {
		set  []string
		look func(*testing.T, objects) any
		want any
	}{
		"image": {[]string{"image.repository=r.example.com/m,image.tag=v1,image.pullPolicy=Always,imagePullSecrets[0].name=r"}, func(t *testing.T, o objects) any {
			c := container(t, o)
			return []any{c.Image, c.ImagePullPolicy, deployment(t, o).Spec.Template.Spec.ImagePullSecrets[0].Name}
		}, []any{"r.example.com/m:v1", corev1.PullAlways, "r"}},
		"digest": {[]string{"image.tag=v1,image.digest=" + digest}, func(t *testing.T, o objects) any { return container(t, o).Image }, "sliceshift-manager@" + digest},
		"one replica": {[]string{"replicas=1,config.leaderElection.enabled=false"}, func(t *testing.T, o objects) any {
			return *deployment(t, o).Spec.Replicas
		}, int32(1)},
		"nodes": {[]string{"nodeSelector.pool=infra,priorityClassName=high,tolerations[0].key=infra,affinity.nodeAffinity=null,topologySpreadConstraints=null"}, func(t *testing.T, o objects) any {
			pod := deployment(t, o).Spec.Template.Spec
			return []any{pod.NodeSelector["pool"], pod.PriorityClassName, pod.Tolerations[0].Key, len(pod.TopologySpreadConstraints)}
		}, []any{"infra", "high", "infra", 0}},
		"resources": {[]string{"resources.limits.memory=1Gi,goMemoryLimit=900MiB"}, func(t *testing.T, o objects) any {
			c := container(t, o)
			return []any{c.Resources.Limits.Memory().String(), c.Resources.Requests.Cpu().String(), c.Env[0].Value}
		}, []any{"1Gi", "50m", "900MiB"}},
		"certificate": {[]string{"metrics.certificateSecret=tls,extraEnv[0].name=HTTPS_PROXY,extraEnv[0].value=http://p:1"}, func(t *testing.T, o objects) any {
			c, pod := container(t, o), deployment(t, o).Spec.Template.Spec
			return []any{c.Env[1], c.Env[2].Name, c.VolumeMounts[0].MountPath, pod.Volumes[0].Secret.SecretName}
		}, []any{corev1.EnvVar{Name: "SLICESHIFT_METRICS_CERT_DIR", Value: "/metrics-certs"}, "HTTPS_PROXY", "/metrics-certs", "tls"}},
		"no metrics": {[]string{`config.metricsBindAddress="0"`}, func(t *testing.T, o objects) any {
			return []any{o.has("Service sliceshift-manager-metrics"), container(t, o).Ports}
		}, []any{false, []corev1.ContainerPort{{Name: "health", ContainerPort: 8081}}}},
		"other ports": {[]string{`config.metricsBindAddress=127.0.0.1:9443,config.healthProbeBindAddress=":9081"`}, func(t *testing.T, o objects) any {
			return []any{o.has("Service sliceshift-manager-metrics"), container(t, o).Ports}
		}, []any{true, []corev1.ContainerPort{{Name: "metrics", ContainerPort: 9443}, {Name: "health", ContainerPort: 9081}}}},
		"no probes": {[]string{`config.healthProbeBindAddress="0"`}, func(t *testing.T, o objects) any {
			c := container(t, o)
			return c.LivenessProbe == nil && c.ReadinessProbe == nil && len(c.Ports) == 1
		}, true},
		"monitor": {[]string{"metrics.serviceMonitor.enabled=true,metrics.serviceMonitor.labels.release=prometheus"}, func(_ *testing.T, o objects) any {
			monitor := o["ServiceMonitor sliceshift-manager"]
			return []any{monitor["metadata"].(map[string]any)["labels"].(map[string]any)["release"], monitor["spec"].(map[string]any)["endpoints"]}
		}, []any{"prometheus", []any{map[string]any{
			"port": "metrics", "path": "/metrics", "interval": "30s", "honorLabels": true, "scheme": "https",
			"bearerTokenFile": "/var/run/secrets/kubernetes.io/serviceaccount/token", "tlsConfig": map[string]any{"insecureSkipVerify": true},
		}}}},
		"monitor in the clear": {[]string{"metrics.serviceMonitor.enabled=true,config.metricsSecure=false"}, func(_ *testing.T, o objects) any {
			return o["ServiceMonitor sliceshift-manager"]["spec"].(map[string]any)["endpoints"]
		}, []any{map[string]any{"port": "metrics", "path": "/metrics", "interval": "30s", "honorLabels": true}}},
		"alerts": {[]string{"metrics.prometheusRule.enabled=true,metrics.prometheusRule.labels.release=prometheus"}, func(t *testing.T, o objects) any {
			data, err := os.ReadFile("../config/monitoring/prometheusrule.yaml")
			if err != nil {
				t.Fatal(err)
			}
			var want map[string]any
			if err := yaml.Unmarshal(data, &want); err != nil {
				t.Fatal(err)
			}
			rule := o["PrometheusRule "+want["metadata"].(map[string]any)["name"].(string)]
			return []any{rule["metadata"].(map[string]any)["labels"].(map[string]any)["release"], cmp.Diff(want["spec"], rule["spec"])}
		}, []any{"prometheus", ""}},
		"no definitions": {[]string{"crds.enabled=false"}, func(_ *testing.T, o objects) any {
			return o.has("CustomResourceDefinition migrations.migration.sliceshift.io")
		}, false},
		"definitions that go": {[]string{"crds.keep=false"}, func(_ *testing.T, o objects) any {
			_, kept := o["CustomResourceDefinition migrations.migration.sliceshift.io"]["metadata"].(map[string]any)["annotations"].(map[string]any)[keep]
			return kept
		}, false},
		"no policy": {[]string{"policies.authors=false"}, func(_ *testing.T, o objects) any { return o.has("ValidatingAdmissionPolicy sliceshift-authors") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			var args []string
			for _, each := range tc.set {
				args = append(args, "--set", each)
			}
			for i, arg := range args {
				args[i] = strings.ReplaceAll(arg, `"`, "")
			}
			if strings.Contains(strings.Join(tc.set, ""), `"`) { // a string that could be parsed as another type
				args[0] = "--set-string"
			}
			if diff := cmp.Diff(tc.want, tc.look(t, render(t, args...))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestOldKubernetes: a default object whose kind the cluster does not have is omitted, and the notes report it. An
// object that a value requests is refused.
func TestOldKubernetes(t *testing.T) {
	if got := render(t, "--kube-version", "1.29.0"); got.has("ValidatingAdmissionPolicy sliceshift-authors") || !got.has("Deployment sliceshift-manager") {
		t.Error("the policy is not what alone is left out")
	}
	_, complaints, err := helm(t, "template", "sliceshift", chart, "--kube-version", "1.29.0", "--set", "policies.fence=true")
	if err == nil || !strings.Contains(complaints, "leave out policies.fence") {
		t.Errorf("got %v: %s", err, complaints)
	}
}

// TestRefusedValues: values without a valid meaning are refused before anything is written.
func TestRefusedValues(t *testing.T) {
	for name, tc := range map[string]struct{ set, want string }{
		"no such value":          {"replica=3", "replica"},
		"no number":              {"replicas=many", "replicas"},
		"no such setting":        {"config.concurency=3", "concurency"},
		"a setting's type":       {"config.slices.enabled=perhaps", "config/slices/enabled"},
		"a duration":             {"config.leaderElection.retryPeriod=soon", "retryPeriod"},
		"a policy to pull":       {"image.pullPolicy=Sometimes", "pullPolicy"},
		"two leaders":            {"config.leaderElection.enabled=false", "2 replicas without leader election"},
		"a monitor of nothing":   {"metrics.serviceMonitor.enabled=true,metrics.service.enabled=false", "leave metrics.service.enabled on"},
		"a digest that is a tag": {"image.digest=v1", "digest"},
	} {
		t.Run(name, func(t *testing.T) {
			_, complaints, err := helm(t, "template", "sliceshift", chart, "--set", tc.set)
			if err == nil || !strings.Contains(complaints, tc.want) {
				t.Errorf("got %v, want %q: %s", err, tc.want, complaints)
			}
		})
	}
}

// TestLint: helm lint finds no fault, with everything enabled.
func TestLint(t *testing.T) {
	for _, set := range []string{"", "policies.fence=true,policies.volumes=true,metrics.serviceMonitor.enabled=true,metrics.certificateSecret=a,config.logLevel=debug"} {
		args := []string{"lint", "--strict", chart}
		if set != "" {
			args = append(args, "--set", set)
		}
		if out, complaints, err := helm(t, args...); err != nil {
			t.Errorf("%s: %v: %s %s", set, err, out, complaints)
		}
	}
}
