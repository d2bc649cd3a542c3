package methods

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/volumes"
)

// staying returns the pod template by which a mover is placed for an ordinal that starts again among the pods of its own set,
// and the node selectors of its place. The ordinal's own pod satisfies the rules that keep those pods apart or together where
// it is now, and would satisfy them nowhere else. For a mover they would count it, too. So a mover goes to the domains of that
// pod instead, unless the class provisions no volumes there.
func (w writer) staying(ctx context.Context, known *volumes.Copying, template *corev1.PodTemplateSpec) (*corev1.PodTemplateSpec, []corev1.NodeSelector, error) {
	if known == nil || !known.Stays || known.Pod.Node == "" || len(domains(template.Spec)) == 0 {
		return template, nil, nil
	}
	var nodes corev1.NodeList // a role for moves lists nodes, and gets none
	err := w.at.List(ctx, &nodes, client.MatchingFields{metav1.ObjectNameField: known.Pod.Node})
	if apierrors.IsForbidden(err) || err == nil && len(nodes.Items) == 0 {
		return template, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	at := nodes.Items[0].Labels
	if provides, err := w.providesAt(ctx, at); err != nil || !provides {
		return template, nil, err
	}
	free := template.DeepCopy()
	free.Spec.TopologySpreadConstraints = nil
	if free.Spec.Affinity != nil {
		free.Spec.Affinity.PodAffinity, free.Spec.Affinity.PodAntiAffinity = nil, nil
	}
	var near []corev1.NodeSelector
	for _, key := range domains(template.Spec) {
		if value, has := at[key]; has {
			near = append(near, corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}}},
			}}})
		}
	}
	return free, near, nil
}

// domains returns the node labels of the rules by which the scheduler must keep pods apart or together.
func domains(pod corev1.PodSpec) []string {
	var keys []string
	if pod.Affinity != nil && pod.Affinity.PodAffinity != nil {
		for _, term := range pod.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
			keys = append(keys, term.TopologyKey)
		}
	}
	if pod.Affinity != nil && pod.Affinity.PodAntiAffinity != nil {
		for _, term := range pod.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
			keys = append(keys, term.TopologyKey)
		}
	}
	for _, spread := range pod.TopologySpreadConstraints {
		if spread.WhenUnsatisfiable == corev1.DoNotSchedule {
			keys = append(keys, spread.TopologyKey)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// providesAt reports whether the class of the new volume provisions one that nodes with these labels reach.
func (w writer) providesAt(ctx context.Context, labels map[string]string) (bool, error) {
	var claim corev1.PersistentVolumeClaim
	if err := w.at.Get(ctx, client.ObjectKey{Namespace: w.action.Ref.Namespace, Name: w.action.Ref.Name}, &claim); err != nil {
		return true, client.IgnoreNotFound(err)
	}
	name := volumes.ClassNamed(&claim)
	if name == nil {
		return true, nil
	}
	class := storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: *name}}
	if err := w.at.Get(ctx, client.ObjectKeyFromObject(&class), &class); err != nil {
		if apierrors.IsForbidden(err) {
			err = nil
		}
		return true, client.IgnoreNotFound(err)
	}
	return volumes.Provides(&class, labels), nil
}
