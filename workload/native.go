package workload

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// NativeVersion is the apiVersion of Kubernetes' own kind.
const NativeVersion = "apps/v1"

// Native is the StatefulSet of Kubernetes, and the base of every other kind.
type Native struct{}

// APIVersion implements Kind.
func (Native) APIVersion() string { return NativeVersion }

// Resource implements Kind.
func (Native) Resource() string { return "sts" }

// AddToScheme implements Kind.
func (Native) AddToScheme(scheme *runtime.Scheme) error { return appsv1.AddToScheme(scheme) }

// New implements Kind.
func (Native) New(meta metav1.ObjectMeta) client.Object { return &appsv1.StatefulSet{ObjectMeta: meta} }

// Unsupported implements Kind. It returns fields of our kind, unless their value matches what apps/v1 does anyway.
func (Native) Unsupported(set *slicesapi.StatefulSet) []string {
	spec, rolling := set.Spec, slicesapi.RollingUpdateStrategy{}
	if spec.UpdateStrategy.RollingUpdate != nil {
		rolling = *spec.UpdateStrategy.RollingUpdate
	}
	const deadline = 600 // the default
	var names []string
	for _, field := range []struct {
		name string
		set  bool
	}{
		{"spec.paused", spec.Paused},
		{"spec.progressDeadlineSeconds", spec.ProgressDeadlineSeconds != nil && *spec.ProgressDeadlineSeconds != deadline},
		{"spec.scaleStrategy", spec.ScaleStrategy != nil},
		{"spec.volumeClaimUpdateStrategy", spec.VolumeClaimUpdateStrategy != nil && spec.VolumeClaimUpdateStrategy.Type != slicesapi.OnClaimDelete},
		{"spec.lifecycle", spec.Lifecycle != nil},
		{"spec.revisionInputs", len(spec.RevisionInputs) > 0},
		{"spec.terminationReasonGraceSeconds", spec.TerminationReasonGraceSeconds != 0},
		{"spec.updateStrategy.type", spec.UpdateStrategy.Type == slicesapi.Recreate},
		{"spec.updateStrategy.rollingUpdate", !equality.Semantic.DeepEqual(rolling, slicesapi.RollingUpdateStrategy{Partition: rolling.Partition, MaxUnavailable: rolling.MaxUnavailable})},
	} {
		if field.set {
			names = append(names, field.name)
		}
	}
	return names
}

// KeepsStart implements Kind. API servers before Kubernetes 1.27 drop the field.
func (Native) KeepsStart() bool { return false }

// UpdatesTemplates implements Kind. The API server refuses every change of them.
func (Native) UpdatesTemplates() bool { return false }

// OpensGate implements Kind.
func (Native) OpensGate() bool { return false }

// Fenced implements Kind.
func (Native) Fenced() map[string]any { return nil }

// Released implements Kind.
func (Native) Released(bool) map[string]any { return nil }

// Observe implements Kind. A partition of apps/v1 counts pods from the first one.
func (Native) Observe(object client.Object, _ []corev1.Pod) Facts {
	set, is := object.(*appsv1.StatefulSet)
	if !is {
		return Facts{}
	}
	facts := Facts{ByHand: set.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType}
	if rolling := set.Spec.UpdateStrategy.RollingUpdate; rolling != nil && rolling.Partition != nil && *rolling.Partition > 0 && !facts.ByHand {
		facts.KeepsBelow = *rolling.Partition
		if set.Spec.Ordinals != nil {
			facts.KeepsBelow += set.Spec.Ordinals.Start
		}
	}
	return facts
}

// Updating implements Kind.
func (Native) Updating(*corev1.Pod) bool { return false }
