package config

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	sliceapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// The format of kube-state-metrics' file for custom resources: types Metrics, Resource, Generator and Metric of its package
// pkg/customresourcestate (config.go and config_metrics_types.go of v2.17), as far as our file uses it. They are written down
// here, so that the tests need no dependency on its module.
type (
	ksmFile struct {
		Kind string `json:"kind"`
		Spec struct {
			Resources []ksmResource `json:"resources"`
		} `json:"spec"`
	}
	ksmResource struct {
		GroupVersionKind ksmKind             `json:"groupVersionKind"`
		ResourcePlural   string              `json:"resourcePlural"`
		MetricNamePrefix string              `json:"metricNamePrefix"`
		LabelsFromPath   map[string][]string `json:"labelsFromPath"`
		Metrics          []ksmMetric         `json:"metrics"`
	}
	ksmKind struct {
		Group   string `json:"group"`
		Version string `json:"version"`
		Kind    string `json:"kind"`
	}
	ksmMetric struct {
		Name      string `json:"name"`
		Help      string `json:"help"`
		ErrorLogV int    `json:"errorLogV"`
		Each      struct {
			Type  string `json:"type"`
			Gauge *struct {
				Path      []string `json:"path"`
				NilIsZero bool     `json:"nilIsZero"`
			} `json:"gauge"`
			Info *struct {
				LabelsFromPath map[string][]string `json:"labelsFromPath"`
			} `json:"info"`
		} `json:"each"`
	}
)

// nativeMetrics lists the metrics of StatefulSets of apps/v1, without their prefix (kube-state-metrics v2.17,
// internal/store/statefulset.go). The annotations are left out: kube-state-metrics serves none by default, either.
var nativeMetrics = []string{
	"created", "deletion_timestamp", "labels", "metadata_generation", "ordinals_start", "persistentvolumeclaim_retention_policy", "replicas",
	"status_current_revision", "status_observed_generation", "status_replicas", "status_replicas_available", "status_replicas_current",
	"status_replicas_ready", "status_replicas_updated", "status_update_revision",
}

func ksmConfig(t *testing.T) ksmResource {
	t.Helper()
	data, err := os.ReadFile("monitoring/kube-state-metrics.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file ksmFile
	if err := yaml.UnmarshalStrict(data, &file); err != nil {
		t.Fatal(err)
	}
	if file.Kind != "CustomResourceStateMetrics" || len(file.Spec.Resources) != 1 {
		t.Fatalf("kind %s, %d resources", file.Kind, len(file.Spec.Resources))
	}
	return file.Spec.Resources[0]
}

// paths returns the fields of a metric.
func (m ksmMetric) paths() [][]string {
	if m.Each.Gauge != nil {
		return [][]string{m.Each.Gauge.Path}
	}
	return slices.Collect(maps.Values(m.Each.Info.LabelsFromPath))
}

// TestY8KubeStateMetrics: kube-state-metrics reads our kind, and serves the metrics of apps/v1 for it, from fields that
// exist.
func TestY8KubeStateMetrics(t *testing.T) {
	resource := ksmConfig(t)
	want := ksmKind{sliceapi.GroupVersion.Group, sliceapi.GroupVersion.Version, "StatefulSet"}
	if resource.GroupVersionKind != want || resource.ResourcePlural != "statefulsets" || resource.MetricNamePrefix != "kube_statefulset" {
		t.Errorf("%+v, %s, %s", resource.GroupVersionKind, resource.ResourcePlural, resource.MetricNamePrefix)
	}
	var names []string
	schema := newAdmission(t, sliceapi.GroupVersion.Group).structural
	for _, metric := range resource.Metrics {
		names = append(names, metric.Name)
		if metric.Help == "" || (metric.Each.Type == "Gauge") != (metric.Each.Gauge != nil) || (metric.Each.Type == "Info") != (metric.Each.Info != nil) {
			t.Errorf("%s: help %q, type %s", metric.Name, metric.Help, metric.Each.Type)
			continue
		}
		for _, path := range metric.paths() {
			if !hasField(schema, path) {
				t.Errorf("%s: a StatefulSet has no %s", metric.Name, strings.Join(path, "."))
			}
		}
	}
	slices.Sort(names)
	if diff := cmp.Diff(nativeMetrics, names); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

// hasField reports whether an object has a field. The fields of metadata are those of every object.
func hasField(schema *structuralschema.Structural, path []string) bool {
	if path[0] == "metadata" {
		return slices.Contains([]string{"creationTimestamp", "deletionTimestamp", "generation", "labels"}, path[1])
	}
	for _, name := range path {
		field, found := schema.Properties[name]
		if !found {
			return false
		}
		schema = &field
	}
	return true
}

// TestY8KubeStateMetricsValues: for a StatefulSet of our kind, the metrics have the values and labels that those of apps/v1
// have, and the labels that name our kind.
func TestY8KubeStateMetricsValues(t *testing.T) {
	for name, tc := range map[string]struct {
		object string
		want   []string
	}{
		"a roll-out": {
			`{
			"metadata": {"namespace": "shop", "name": "web", "generation": 7, "creationTimestamp": "2026-01-01T00:00:00Z", "deletionTimestamp": "2026-01-01T00:01:00Z", "labels": {"app.kubernetes.io/name": "web"}},
			"spec": {"replicas": 5, "ordinals": {"start": 3}, "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Delete"}},
			"status": {"observedGeneration": 6, "replicas": 4, "readyReplicas": 3, "availableReplicas": 2, "currentReplicas": 3, "updatedReplicas": 1, "currentRevision": "web-1", "updateRevision": "web-2"}}`,
			[]string{
				"created 1767225600", "deletion_timestamp 1767225660", `labels{label_app_kubernetes_io_name="web"} 1`, "metadata_generation 7", "ordinals_start 3",
				`persistentvolumeclaim_retention_policy{when_deleted="Retain",when_scaled="Delete"} 1`, "replicas 5", `status_current_revision{revision="web-1"} 1`,
				"status_observed_generation 6", "status_replicas 4", "status_replicas_available 2", "status_replicas_current 3", "status_replicas_ready 3",
				"status_replicas_updated 1", `status_update_revision{revision="web-2"} 1`,
			},
		},
		"not observed yet": {
			`{
			"metadata": {"namespace": "shop", "name": "web", "generation": 1, "creationTimestamp": "2026-01-01T00:00:00Z"},
			"spec": {"replicas": 0}}`,
			[]string{
				"created 1767225600", "metadata_generation 1", "replicas 0", "status_observed_generation 0", "status_replicas 0", "status_replicas_available 0",
				"status_replicas_current 0", "status_replicas_ready 0", "status_replicas_updated 0",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var object map[string]any
			if err := json.Unmarshal([]byte(tc.object), &object); err != nil {
				t.Fatal(err)
			}
			always := map[string]string{
				"customresource_group": "apps.sliceshift.io", "customresource_kind": "StatefulSet", "customresource_version": "v1alpha1",
				"namespace": "shop", "statefulset": "web",
			}
			var got []string
			for _, sample := range ksmConfig(t).render(t, object) {
				for label, value := range always {
					if sample.labels[label] != value {
						t.Errorf("%s: label %s is %q, want %q", sample.metric, label, sample.labels[label], value)
					}
					delete(sample.labels, label)
				}
				got = append(got, sample.String())
			}
			slices.Sort(got)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// ksmSample is the value of a metric for an object.
type ksmSample struct {
	metric string
	labels map[string]string
	value  any
}

// String returns a sample as Prometheus writes it.
func (s ksmSample) String() string {
	var pairs []string
	for _, key := range slices.Sorted(maps.Keys(s.labels)) {
		pairs = append(pairs, fmt.Sprintf("%s=%q", key, s.labels[key]))
	}
	labels := ""
	if len(pairs) > 0 {
		labels = "{" + strings.Join(pairs, ",") + "}"
	}
	return fmt.Sprintf("%s%s %v", s.metric, labels, s.value)
}

// render returns the samples of an object, as kube-state-metrics computes them from the file (registry_factory.go). A metric
// without a value has none.
func (r ksmResource) render(t *testing.T, object map[string]any) (samples []ksmSample) {
	t.Helper()
	for _, metric := range r.Metrics {
		sample := ksmSample{metric.Name, map[string]string{
			"customresource_group": r.GroupVersionKind.Group, "customresource_kind": r.GroupVersionKind.Kind, "customresource_version": r.GroupVersionKind.Version,
		}, 1}
		addLabels(sample.labels, object, r.LabelsFromPath)
		if gauge := metric.Each.Gauge; gauge != nil {
			sample.value = gaugeOf(t, fieldAt(object, gauge.Path), gauge.NilIsZero)
		} else if addLabels(sample.labels, object, metric.Each.Info.LabelsFromPath) == 0 {
			sample.value = nil
		}
		if sample.value != nil {
			samples = append(samples, sample)
		}
	}
	return samples
}

// gaugeOf returns a field as a number: a time in seconds since 1970, and an absent field as 0 or nil.
func gaugeOf(t *testing.T, field any, nilIsZero bool) any {
	t.Helper()
	text, is := field.(string)
	switch {
	case field == nil && nilIsZero:
		return 0
	case !is:
		return field
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at.Unix()
}

// addLabels adds the labels of fields that exist, and returns their number. A name that ends in * stands for all keys of an
// object.
func addLabels(labels map[string]string, object map[string]any, paths map[string][]string) (added int) {
	for name, path := range paths {
		value := fieldAt(object, path)
		prefix, all := strings.CutSuffix(name, "*")
		if !all {
			if value != nil {
				labels[name], added = fmt.Sprint(value), added+1
			}
			continue
		}
		if object, is := value.(map[string]any); is {
			for key, each := range object {
				labels[notInLabel.ReplaceAllString(prefix+key, "_")], added = fmt.Sprint(each), added+1
			}
		}
	}
	return added
}

// notInLabel matches the characters that kube-state-metrics replaces in the name of a label.
var notInLabel = regexp.MustCompile(`[^a-zA-Z0-9_]`)

func fieldAt(object map[string]any, path []string) any {
	var value any = object
	for _, name := range path {
		inner, is := value.(map[string]any)
		if !is {
			return nil
		}
		value = inner[name]
	}
	return value
}

// TestY8KubeStateMetricsRights: kube-state-metrics may list and watch our kind and the definitions of kinds, and no more.
func TestY8KubeStateMetricsRights(t *testing.T) {
	data, err := os.ReadFile("monitoring/kube-state-metrics-role.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var role rbacv1.ClusterRole
	var binding rbacv1.ClusterRoleBinding
	into := []any{&role, &binding}
	if err := split(data, func(document []byte) error {
		err := yaml.UnmarshalStrict(document, into[0])
		into = into[1:]
		return err
	}); err != nil || len(into) > 0 {
		t.Fatalf("%d objects are missing: %v", len(into), err)
	}
	want := []string{"customresourcedefinitions.apiextensions.k8s.io: list,watch", "statefulsets.apps.sliceshift.io: list,watch"}
	if diff := cmp.Diff(want, rights(role.Rules)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if binding.RoleRef.Name != role.Name || len(binding.Subjects) != 1 {
		t.Errorf("%s is bound to %+v", binding.RoleRef.Name, binding.Subjects)
	}
}
