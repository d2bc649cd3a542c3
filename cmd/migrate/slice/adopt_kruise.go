package slice

import (
	"cmp"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/slices/decide"
)

// kruiseVersion is the version of OpenKruise's Advanced StatefulSet; kruiseName is its value of --from.
var kruiseVersion = schema.GroupVersion{Group: "apps.kruise.io", Version: "v1beta1"}

const kruiseName = "kruise"

// convertKruise converts the fields that have another meaning in our kind.
func convertKruise(spec map[string]any) {
	if strategy, isMap := spec["volumeClaimUpdateStrategy"].(map[string]any); isMap && len(strategy) == 0 {
		delete(spec, "volumeClaimUpdateStrategy") // it is not a pointer there, and always set
	}
	path := []string{"updateStrategy", "rollingUpdate", "partition"}
	kept, found, err := unstructured.NestedInt64(spec, path...)
	if !found || err != nil || kept <= 0 {
		return
	}
	// There it is the number of pods that are kept, counted from the first ordinal that is not reserved. Here it is the
	// ordinal after the last of them.
	set, err := sliceOf(map[string]any{"spec": spec})
	if err != nil {
		return // the checks reject it
	}
	set.Spec.Replicas = new(int32(min(kept, int64(cmp.Or(replicasOf(set), mostReplicas)))))
	if known, err := decide.SpecOf(set); err == nil {
		ordinals := known.Ordinals()
		_ = unstructured.SetNestedField(spec, int64(ordinals[len(ordinals)-1])+1, path...) // the path was found
	}
}

// mostReplicas is the maximum of replicas in our kind.
const mostReplicas = 1_000_000

func replicasOf(set *slicesapi.StatefulSet) int32 {
	if set.Spec.Replicas == nil {
		return 1
	}
	return *set.Spec.Replicas
}

// sliceOf decodes an object as our kind, and ignores unknown fields.
func sliceOf(object map[string]any) (*slicesapi.StatefulSet, error) {
	set := &slicesapi.StatefulSet{}
	return set, runtime.DefaultUnstructuredConverter.FromUnstructured(object, set)
}

// kruiseReady is a readiness gate that only OpenKruise opens.
const kruiseReady = "KruisePodReady"

// warnKruise prints what OpenKruise continues to do, or does differently.
func (a *adoption) warnKruise() {
	set, err := sliceOf(a.new.Object)
	if err != nil {
		return
	}
	template := &set.Spec.Template
	for _, keys := range []map[string]string{template.Annotations, template.Labels} {
		for _, key := range ofKruise(keys) {
			fmt.Fprintf(a.ErrOut, "warning: %s stays in the template, because its removal would recreate every pod; OpenKruise acts on it only while it is installed\n", key)
		}
	}
	for _, gate := range template.Spec.ReadinessGates {
		if gate.ConditionType == kruiseReady {
			fmt.Fprintf(a.ErrOut, "warning: the template has the readiness gate %s: new pods become Ready only while OpenKruise is installed; remove it before you uninstall OpenKruise\n", kruiseReady)
		}
	}
	if rolling := set.Spec.UpdateStrategy.RollingUpdate; rolling != nil && rolling.MaxUnavailable != nil && strings.HasSuffix(rolling.MaxUnavailable.StrVal, "%") {
		fmt.Fprintf(a.ErrOut, "warning: maxUnavailable %s is rounded up here, and down by OpenKruise: give a number where one pod more is too many\n", rolling.MaxUnavailable.StrVal)
	}
}
