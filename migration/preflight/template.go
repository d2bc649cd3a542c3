package preflight

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/jsontree"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/slices/history"
)

// dropped finds fields of a pod template that an API server does not keep. An API server that is older, or has a
// feature gate disabled, drops them silently (kubernetes pkg/api/pod, DropDisabledTemplateFields), and a moved
// ordinal would be a different pod. Fields that it changes or adds are not reported.
func dropped(at endpoint.Endpoint, sent, kept *corev1.PodTemplateSpec) *plan.Finding {
	paths := lost("spec.template", jsontree.Of(history.Canonical(sent)), jsontree.Of(history.Canonical(kept)))
	if len(paths) == 0 {
		return nil
	}
	return &plan.Finding{
		Reason: api.ReasonKindUnsupported, Object: at.Object(),
		Message: fmt.Sprintf("the API server of cluster %s does not keep %s of a StatefulSet: a moved ordinal would be another pod", at.Cluster, plan.Listed(paths)),
		Remedy:  "let that cluster know the fields: a newer version of Kubernetes, or the feature switched on; or take them out of the source's pod template before the move",
	}
}

// droppedBeside finds fields of a StatefulSet outside of its pod template that an API server does not keep. Causes
// are an older version, a disabled feature gate, or an older CRD of our own kind, which prunes unknown fields.
func droppedBeside(at endpoint.Endpoint, sent, kept any) *plan.Finding {
	paths := lost("spec", beside(sent), beside(kept))
	if len(paths) == 0 {
		return nil
	}
	return &plan.Finding{
		Reason: api.ReasonKindUnsupported, Object: at.Object(),
		Message: fmt.Sprintf("the API server of cluster %s does not keep %s of a StatefulSet: the destination would behave otherwise than the source", at.Cluster, plan.Listed(paths)),
		Remedy:  "let that cluster know the fields: a newer version of Kubernetes or of the kind's definition (" + at.Kubectl().Do("apply", "-k", "config/crd") + "), or the feature switched on; or clear them at the source before the move",
	}
}

// beside returns the tree of a StatefulSet's spec without fields that other checks cover, and without default values.
// Newer API servers store defaults that older ones do not (kubernetes pkg/apis/apps/v1/defaults.go).
func beside(spec any) any {
	tree, _ := spec.(map[string]any)
	tree = maps.Clone(tree)
	for _, field := range []string{"template", "ordinals", "replicas"} {
		delete(tree, field)
	}
	if templates, _ := tree["volumeClaimTemplates"].([]any); templates != nil {
		tree["volumeClaimTemplates"] = asked(templates)
	}
	if strategy, _ := tree["updateStrategy"].(map[string]any); strategy != nil {
		strategy = maps.Clone(strategy)
		tree["updateStrategy"] = strategy
		if rolling, _ := strategy["rollingUpdate"].(map[string]any); rolling != nil && fmt.Sprint(rolling["maxUnavailable"]) == "1" {
			rolling = maps.Clone(rolling)
			delete(rolling, "maxUnavailable")
			strategy["rollingUpdate"] = rolling
		}
	}
	if policy, _ := tree["persistentVolumeClaimRetentionPolicy"].(map[string]any); policy["whenDeleted"] == "Retain" && policy["whenScaled"] == "Retain" {
		delete(tree, "persistentVolumeClaimRetentionPolicy")
	}
	return tree
}

// asked returns the specs of claim templates, without their kinds and statuses. Some API servers and CRDs store
// these, others do not.
func asked(claims []any) []any {
	kept := make([]any, len(claims))
	for i, claim := range claims {
		tree, _ := claim.(map[string]any)
		kept[i] = map[string]any{"spec": tree["spec"]}
	}
	return kept
}

// lost returns the paths of a JSON tree that another tree lacks, in a stable order. Empty values are never lost, and
// neither are values that differ.
func lost(path string, sent, kept any) []string {
	switch from := sent.(type) {
	case map[string]any:
		to, ok := kept.(map[string]any)
		if !ok && len(from) > 0 {
			return []string{path}
		}
		var paths []string
		for _, key := range slices.Sorted(maps.Keys(from)) {
			paths = append(paths, lost(path+"."+key, from[key], to[key])...)
		}
		return paths
	case []any:
		to, ok := kept.([]any)
		if !ok && len(from) > 0 {
			return []string{path}
		}
		var paths []string
		for i := range from {
			paths = append(paths, lostElement(fmt.Sprintf("%s[%d]", path, i), from[i], to)...)
		}
		return paths
	case nil:
		return nil
	default:
		if kept == nil {
			return []string{path}
		}
		return nil
	}
}

// lostElement compares a list element with the element of the same name. An element without a name is compared with
// the most similar one, because added elements may have moved it.
func lostElement(path string, sent any, kept []any) []string {
	from, ok := sent.(map[string]any)
	if !ok {
		return nil // a scalar in a list can only have changed
	}
	best := []string{path}
	for i, each := range kept {
		to, ok := each.(map[string]any)
		if !ok {
			continue
		}
		paths := lost(path, sent, each)
		if name := from["name"]; name != nil && name == to["name"] {
			return paths
		}
		if from["name"] == nil && (i == 0 || len(paths) < len(best)) {
			best = paths
		}
	}
	return best
}
