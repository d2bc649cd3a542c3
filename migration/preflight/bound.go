package preflight

import (
	"context"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// spans lists words in node labels that denote more than one node.
var spans = []string{"zone", "region", "rack", "datacenter", "arch", "os"}

// boundToNodes finds a volume that is bound to single nodes by a label whose name does not show that. The label's
// value is the name of a node, or each node has a different value.
func (e *Inspector) boundToNodes(ctx context.Context, m *api.Migration, source *appsv1.StatefulSet, pvs []corev1.PersistentVolume) ([]plan.Finding, error) {
	unclear := func(key string, _ []string) bool {
		return !slices.ContainsFunc(spans, func(word string) bool { return strings.Contains(strings.ToLower(key), word) })
	}
	of := func(pv *corev1.PersistentVolume) string { return templateOf(source, pv.Spec.ClaimRef.Name) }
	pvs = slices.DeleteFunc(slices.Clone(pvs), func(pv corev1.PersistentVolume) bool {
		return volumes.Binding(&pv, unclear) == "" || volumes.OfOneNode(&pv) != "" || api.AskedOf(m.Spec.Volumes, of(&pv)).Shared
	})
	if len(pvs) == 0 {
		return nil, nil
	}
	var nodes metav1.PartialObjectMetadataList
	nodes.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NodeList"))
	err := e.Source.Live.List(ctx, &nodes)
	if apierrors.IsForbidden(err) {
		return unread(e.Source, "list nodes", "no volume is bound to single nodes by a label of theirs"), nil
	}
	if err != nil {
		return nil, err
	}
	for i := range pvs {
		named := func(key string, values []string) bool {
			return unclear(key, nil) && slices.ContainsFunc(nodes.Items, func(n metav1.PartialObjectMetadata) bool { return slices.Contains(values, n.Name) })
		}
		alone := func(key string, _ []string) bool { return unclear(key, nil) && eachItsOwn(nodes.Items, key) }
		if key := volumes.Binding(&pvs[i], named); key != "" {
			return []plan.Finding{localTo(e.Source, &pvs[i], key, of(&pvs[i]), false)}, nil
		}
		if key := volumes.Binding(&pvs[i], alone); key != "" {
			return []plan.Finding{localTo(e.Source, &pvs[i], key, of(&pvs[i]), true)}, nil
		}
	}
	return nil, nil
}

func localTo(at endpoint.Endpoint, pv *corev1.PersistentVolume, key, template string, warning bool) plan.Finding {
	problem := volumes.LocalTo(pv, key, template)
	return plan.Finding{Reason: problem.Reason, Object: "volume " + pv.Name, Message: "cluster " + at.Cluster + ": " + problem.Message, Remedy: problem.Remedy, Warning: warning}
}

// eachItsOwn reports whether several nodes have the label, each with a different value.
func eachItsOwn(nodes []metav1.PartialObjectMetadata, key string) bool {
	seen, has := map[string]bool{}, 0
	for _, node := range nodes {
		if value, is := node.Labels[key]; is {
			seen[value] = true
			has++
		}
	}
	return has > 1 && len(seen) == has
}
