package slice

import (
	"cmp"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sliceshift/sliceshift/slices/decide"
	slicesapi "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// kruiseVersion is the version of OpenKruise's Advanced StatefulSet; kruiseName is what --from
// calls it.
var kruiseVersion = schema.GroupVersion{Group: "apps.kruise.io", Version: "v1beta1"}

const kruiseName = "kruise"

// convertKruise changes what the same field says otherwise in ours.
func convertKruise(spec map[string]any) {
	if strategy, isMap := spec["volumeClaimUpdateStrategy"].(map[string]any); isMap && len(strategy) == 0 {
		delete(spec, "volumeClaimUpdateStrategy") // it is no pointer there, and always written
	}
	path := []string{"updateStrategy", "rollingUpdate", "partition"}
	kept, found, err := unstructured.NestedInt64(spec, path...)
	if !found || err != nil || kept <= 0 {
		return
	}
	// There it is a number of pods that are kept, counted from the first ordinal that is not
	// reserved; here it is the ordinal after the last one of them.
	set, err := sliceOf(map[string]any{"spec": spec})
	if err != nil {
		return // the checks refuse it
	}
	set.Spec.Replicas = new(int32(min(kept, int64(cmp.Or(replicasOf(set), mostReplicas)))))
	if known, err := decide.SpecOf(set); err == nil {
		ordinals := known.Ordinals()
		_ = unstructured.SetNestedField(spec, int64(ordinals[len(ordinals)-1])+1, path...) // the path was found
	}
}

// mostReplicas is how many ours can have.
const mostReplicas = 1_000_000

func replicasOf(set *slicesapi.StatefulSet) int32 {
	if set.Spec.Replicas == nil {
		return 1
	}
	return *set.Spec.Replicas
}

// sliceOf is an object as one of ours, whatever it has besides.
func sliceOf(object map[string]any) (*slicesapi.StatefulSet, error) {
	set := &slicesapi.StatefulSet{}
	return set, runtime.DefaultUnstructuredConverter.FromUnstructured(object, set)
}

// kruiseReady is a readiness gate that OpenKruise alone opens.
const kruiseReady = "KruisePodReady"

// warnKruise tells what OpenKruise goes on doing, or does otherwise.
func (a *adoption) warnKruise() {
	set, err := sliceOf(a.new.Object)
	if err != nil {
		return
	}
	template := &set.Spec.Template
	for _, keys := range []map[string]string{template.Annotations, template.Labels} {
		for _, key := range ofKruise(keys) {
			fmt.Fprintf(a.ErrOut, "warning: %s stays in the template, for without it every pod would be made anew; OpenKruise acts on it only while it is installed\n", key)
		}
	}
	for _, gate := range template.Spec.ReadinessGates {
		if gate.ConditionType == kruiseReady {
			fmt.Fprintf(a.ErrOut, "warning: the template has the readiness gate %s: new pods get Ready only while OpenKruise is installed; remove it before OpenKruise goes\n", kruiseReady)
		}
	}
	if rolling := set.Spec.UpdateStrategy.RollingUpdate; rolling != nil && rolling.MaxUnavailable != nil && strings.HasSuffix(rolling.MaxUnavailable.StrVal, "%") {
		fmt.Fprintf(a.ErrOut, "warning: maxUnavailable %s is rounded up here, and down by OpenKruise: give a number where one pod more is too many\n", rolling.MaxUnavailable.StrVal)
	}
}
