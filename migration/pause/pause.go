// Package pause knows the documented settings with which controllers that write StatefulSets are paused:
// operators, GitOps tools, autoscalers.
package pause

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Setting is the documented setting of a resource that stops its controller from writing the objects that it
// created. A setting that deletes the pods is not a pause.
type Setting struct {
	// Group is the resource's API group; with a leading dot, any group with that suffix.
	Group string
	// Path is the path of the setting, and Value is the value that pauses the controller.
	Path  []string
	Value any
	// Source is the URL of its documentation.
	Source string
}

// Settings lists the known settings.
var Settings = []Setting{
	{"kafka.strimzi.io", annotation("strimzi.io/pause-reconciliation"), "true", "https://strimzi.io/docs/operators/latest/deploying#proc-pausing-reconciliation-str"},
	{"core.strimzi.io", annotation("strimzi.io/pause-reconciliation"), "true", "https://strimzi.io/docs/operators/latest/deploying#proc-pausing-reconciliation-str"},
	{".k8s.elastic.co", annotation("eck.k8s.elastic.co/managed"), "false", "https://www.elastic.co/docs/troubleshoot/deployments/cloud-on-k8s/troubleshooting-methods"},
	{"rabbitmq.com", []string{"metadata", "labels", "rabbitmq.com/pauseReconciliation"}, "true", "https://www.rabbitmq.com/kubernetes/operator/using-operator#pause"},
	{"platform.confluent.io", annotation("platform.confluent.io/block-reconcile"), "true", "https://docs.confluent.io/operator/current/co-manage-overview.html"},
	{"stackgres.io", annotation("stackgres.io/reconciliation-pause"), "true", "https://stackgres.io/doc/latest/administration/"},
	{"monitoring.coreos.com", []string{"spec", "paused"}, true, "https://prometheus-operator.dev/docs/api-reference/api/"},
	{"operator.victoriametrics.com", []string{"spec", "paused"}, true, "https://docs.victoriametrics.com/operator/api/"},
	{"pingcap.com", []string{"spec", "paused"}, true, "https://docs.pingcap.com/tidb-in-kubernetes/stable/pause-sync-of-tidb-cluster"},
	{"k8s.mariadb.com", []string{"spec", "suspend"}, true, "https://github.com/mariadb-operator/mariadb-operator/blob/main/docs/suspend.md"},
	{keda, annotation(KEDAPaused), "true", "https://keda.sh/docs/latest/concepts/scaling-deployments/#pausing-autoscaling"},
	{argo, annotation("argocd.argoproj.io/skip-reconcile"), "true", "https://argo-cd.readthedocs.io/en/stable/user-guide/skip_reconcile/"},
	{kustomize, []string{"spec", "suspend"}, true, "https://fluxcd.io/flux/components/kustomize/kustomizations/#suspend"},
	{helm, []string{"spec", "suspend"}, true, "https://fluxcd.io/flux/components/helm/helmreleases/#suspend"},
}

// API groups of tools whose resources do not own a StatefulSet.
const (
	keda      = "keda.sh"
	argo      = "argoproj.io"
	kustomize = "kustomize.toolkit.fluxcd.io"
	helm      = "helm.toolkit.fluxcd.io"
)

// Annotations of KEDA: KEDAPaused pauses a ScaledObject at its current replicas. KEDAPausedAt scales it to a
// number of replicas, and pauses it there.
const (
	KEDAPaused   = "autoscaling.keda.sh/paused"
	KEDAPausedAt = "autoscaling.keda.sh/paused-replicas"
)

func annotation(key string) []string { return []string{"metadata", "annotations", key} }

// Of returns the setting of a group's resources; nil: none is known.
func Of(group string) *Setting {
	for i, each := range Settings {
		if each.Group == group || strings.HasPrefix(each.Group, ".") && strings.HasSuffix(group, each.Group) {
			return &Settings[i]
		}
	}
	return nil
}

// Text returns the value that pauses, in JSON.
func (s Setting) Text() string { return text(s.Value) }

func text(value any) string {
	encoded, err := json.Marshal(value)
	if err != nil {
		panic(err) // the value was read from JSON, or is a string or a boolean
	}
	return string(encoded)
}

// Read returns the value of a resource's setting in JSON; empty: it has none.
func (s Setting) Read(object *unstructured.Unstructured) string {
	value, found, err := unstructured.NestedFieldNoCopy(object.Object, s.Path...)
	if !found || err != nil {
		return ""
	}
	return text(value)
}

// Patch returns the merge patch that sets the setting to a JSON value; nil removes it.
func (s Setting) Patch(value *string) (map[string]any, error) {
	var content any
	if value != nil {
		if err := json.Unmarshal([]byte(*value), &content); err != nil {
			return nil, fmt.Errorf("the value of %s: %w", strings.Join(s.Path, "."), err)
		}
	}
	for _, key := range slices.Backward(s.Path) {
		content = map[string]any{key: content}
	}
	patch, _ := content.(map[string]any)
	return patch, nil
}

// Pausing returns the merge patch, in JSON, that pauses the controller.
func (s Setting) Pausing() string {
	value := s.Text()
	patch, err := s.Patch(&value)
	if err != nil {
		panic(err) // the value is JSON
	}
	return text(patch)
}

// Target names a resource whose controller writes a StatefulSet.
type Target struct {
	schema.GroupKind
	// Version is the named version; empty: any version that is served.
	Version         string
	Namespace, Name string
}

// instance is the label by which Argo CD tracks its objects by default. helmRelease is the annotation of an object
// that a user has installed with Helm, which does not write it again.
const (
	instance    = "app.kubernetes.io/instance"
	helmRelease = "meta.helm.sh/release-name"
)

// Targets returns the writers of a StatefulSet that have a setting: its owner, and the GitOps tool that tracks it.
// set may be any object with the StatefulSet's metadata. An autoscaler leaves no mark.
func Targets(set metav1.Object) []Target {
	var found []Target
	if owner := metav1.GetControllerOf(set); owner != nil {
		kinds := schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind)
		if Of(kinds.Group) != nil {
			found = append(found, Target{kinds.GroupKind(), kinds.Version, set.GetNamespace(), owner.Name})
		}
	}
	labels, annotations := set.GetLabels(), set.GetAnnotations()
	flux := func(group, kind string) {
		if name := labels[group+"/name"]; name != "" && annotations[group+"/reconcile"] != "disabled" {
			found = append(found, Target{schema.GroupKind{Group: group, Kind: kind}, "", or(labels[group+"/namespace"], set.GetNamespace()), name})
		}
	}
	flux(kustomize, "Kustomization")
	flux(helm, "HelmRelease")
	tracked := or(annotations["argocd.argoproj.io/tracking-id"], or(annotations["argocd.argoproj.io/instance"], labels["argocd.argoproj.io/instance"]))
	if annotations[helmRelease] == "" && len(found) == 0 { // by default Argo CD uses the label that charts set, too
		tracked = or(tracked, labels[instance])
	}
	if tracked != "" {
		app, _, _ := strings.Cut(tracked, ":")
		namespace := "argocd"
		if own, name, found := strings.Cut(app, "_"); found {
			namespace, app = own, name
		}
		found = append(found, Target{schema.GroupKind{Group: argo, Kind: "Application"}, "", namespace, app})
	}
	return found
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// ScaledObject is the kind of KEDA's autoscalers.
var ScaledObject = schema.GroupKind{Group: keda, Kind: "ScaledObject"}

// Scales reports whether a ScaledObject targets a StatefulSet and is not paused at a number of replicas.
func Scales(object *unstructured.Unstructured, apiVersion, set string) bool {
	field := func(name string) string {
		value, _, _ := unstructured.NestedString(object.Object, "spec", "scaleTargetRef", name)
		return value
	}
	version := field("apiVersion")
	_, fixed := object.GetAnnotations()[KEDAPausedAt]
	return field("kind") == "StatefulSet" && field("name") == set && (version == "" && apiVersion == "apps/v1" || version == apiVersion) && !fixed
}
