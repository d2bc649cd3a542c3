// Package pause knows by which documented setting a controller leaves alone what it otherwise writes, for
// those that write StatefulSets: operators, GitOps tools, autoscalers.
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

// Setting is the documented setting of a resource under which its controller leaves alone what it has made.
// What takes the pods away is no pause.
type Setting struct {
	// Group is the resource's API group; with a dot before it, each one that ends like this.
	Group string
	// Path leads to the setting, and Value switches the controller off.
	Path  []string
	Value any
	// Source is where its authors say so.
	Source string
}

// Settings are those that are known.
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

// The groups of tools whose resources do not own a StatefulSet.
const (
	keda      = "keda.sh"
	argo      = "argoproj.io"
	kustomize = "kustomize.toolkit.fluxcd.io"
	helm      = "helm.toolkit.fluxcd.io"
)

// Annotations of KEDA: KEDAPaused pauses a ScaledObject as it is, and KEDAPausedAt at a number of replicas, to
// which it is scaled.
const (
	KEDAPaused   = "autoscaling.keda.sh/paused"
	KEDAPausedAt = "autoscaling.keda.sh/paused-replicas"
)

func annotation(key string) []string { return []string{"metadata", "annotations", key} }

// Of is the setting of a group's resources; nil: none is known.
func Of(group string) *Setting {
	for i, each := range Settings {
		if each.Group == group || strings.HasPrefix(each.Group, ".") && strings.HasSuffix(group, each.Group) {
			return &Settings[i]
		}
	}
	return nil
}

// Text is the value that pauses, in JSON.
func (s Setting) Text() string { return text(s.Value) }

func text(value any) string {
	encoded, err := json.Marshal(value)
	if err != nil {
		panic(err) // it was read from JSON, or is a string or a boolean
	}
	return string(encoded)
}

// Read is the value of a resource's setting in JSON; empty: it has none.
func (s Setting) Read(object *unstructured.Unstructured) string {
	value, found, err := unstructured.NestedFieldNoCopy(object.Object, s.Path...)
	if !found || err != nil {
		return ""
	}
	return text(value)
}

// Patch is the merge patch that gives the setting a value in JSON; nil takes it away.
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

// Target is a resource whose controller writes a StatefulSet, by name.
type Target struct {
	schema.GroupKind
	// Version is the one that is named; empty: whichever is served.
	Version         string
	Namespace, Name string
}

// instance is the label by which Argo CD knows its objects by default, and helmRelease is the annotation of an object that a person
// has installed with Helm, which writes nothing again.
const (
	instance    = "app.kubernetes.io/instance"
	helmRelease = "meta.helm.sh/release-name"
)

// Targets are the writers of a StatefulSet, or of whatever bears its metadata, that have a setting: who owns it, and the
// GitOps tool that tracks it. An autoscaler does not leave a mark.
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
	if annotations[helmRelease] == "" && len(found) == 0 { // by default Argo CD marks with the label that charts have, too
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

// Scales says whether a ScaledObject is over a StatefulSet and is not paused at a number of replicas.
func Scales(object *unstructured.Unstructured, apiVersion, set string) bool {
	field := func(name string) string {
		value, _, _ := unstructured.NestedString(object.Object, "spec", "scaleTargetRef", name)
		return value
	}
	version := field("apiVersion")
	_, fixed := object.GetAnnotations()[KEDAPausedAt]
	return field("kind") == "StatefulSet" && field("name") == set && (version == "" && apiVersion == "apps/v1" || version == apiVersion) && !fixed
}
