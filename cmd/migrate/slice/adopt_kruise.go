package slice

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/slices/decide"
	"github.com/sliceshift/sliceshift/slices/history"
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
	set.Spec.Replicas = new(int32(min(kept, int64(cmp.Or(ptr.Deref(set.Spec.Replicas, 1), mostReplicas)))))
	if known, err := decide.SpecOf(set); err == nil {
		ordinals := known.Ordinals()
		_ = unstructured.SetNestedField(spec, int64(ordinals[len(ordinals)-1])+1, path...) // the path was found
	}
}

// mostReplicas is the maximum of replicas in our kind.
const mostReplicas = 1_000_000

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

// Keys and values that OpenKruise writes on pods.
const (
	kruiseDeleteKey = "apps.kruise.io/specified-delete"
	kruiseStateKey  = "lifecycle.apps.kruise.io/state"
	kruiseSettled   = "Normal"
)

// kruiseRemedies maps labels and annotations of a StatefulSet that have no counterpart here to remedies.
var kruiseRemedies = map[string]string{
	"policy.kruise.io/delete-protection":                      "OpenKruise would refuse the deletion of the old object, and does not protect the new one: remove it",
	"apps.kruise.io/image-predownload-parallelism":            noPrePull,
	"apps.kruise.io/image-predownload-timeout-seconds":        noPrePull,
	"apps.kruise.io/image-predownload-min-updated-ready-pods": noPrePull,
}

const noPrePull = "remove it, and set updateStrategy.rollingUpdate.prePull afterwards to have images pulled before a pod is deleted"

// kruiseProblems returns the settings of an Advanced StatefulSet that our kind does not support, and the causes for
// which a pod would be recreated.
func (a *adoption) kruiseProblems(ctx context.Context) []string {
	type strictly slicesapi.StatefulSet // avoids its UnmarshalJSON, which is not strict
	read := &strictly{}
	problems := unknownFields(a.new, slicesapi.GroupVersion, read)
	set := (*slicesapi.StatefulSet)(read)
	if _, err := decide.SpecOf(set); err != nil {
		problems = append(problems, fmt.Sprintf("it cannot be read: %v: correct it", err))
	}
	problems = append(problems, a.kruiseOnly(set)...)
	pods, err := a.ownPods(ctx)
	if err != nil {
		return append(problems, err.Error())
	}
	return append(append(problems, unsettledPods(pods)...), a.recreated(ctx, set, pods)...)
}

// kruiseOnly returns settings that have a meaning only in OpenKruise.
func (a *adoption) kruiseOnly(set *slicesapi.StatefulSet) []string {
	var problems []string
	for what, keys := range map[string]map[string]string{"annotation": a.new.GetAnnotations(), "label": a.new.GetLabels()} {
		for _, key := range ofKruise(keys) {
			remedy := kruiseRemedies[key]
			if remedy == "" {
				remedy = "no controller acts on it here: remove it"
			}
			problems = append(problems, fmt.Sprintf("its %s %s: %s", what, key, remedy))
		}
	}
	slices.Sort(problems)
	rolling := set.Spec.UpdateStrategy.RollingUpdate
	kept, _, _ := unstructured.NestedInt64(a.old.Object, "spec", "updateStrategy", "rollingUpdate", "partition")
	if rolling != nil && rolling.UnorderedUpdate != nil && kept > 0 && kept < int64(ptr.Deref(set.Spec.Replicas, 1)) {
		problems = append(problems, fmt.Sprintf(
			"its updateStrategy.rollingUpdate.partition keeps %d pods of any ordinal, because it has unorderedUpdate; ours is an ordinal: set partition to 0, or remove unorderedUpdate", kept))
	}
	return problems
}

// ofKruise returns the keys of OpenKruise among labels or annotations.
func ofKruise(keys map[string]string) []string {
	var found []string
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		domain, _, _ := strings.Cut(key, "/")
		if domain == "kruise.io" || strings.HasSuffix(domain, ".kruise.io") {
			found = append(found, key)
		}
	}
	return found
}

// ownPods returns the pods that the old object controls.
func (a *adoption) ownPods(ctx context.Context) ([]corev1.Pod, error) {
	var list corev1.PodList
	if err := a.live.List(ctx, &list, client.InNamespace(a.namespace)); err != nil {
		return nil, fmt.Errorf("the pods of namespace %s cannot be listed: %w", a.namespace, err)
	}
	return slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool { return !metav1.IsControlledBy(&pod, a.old) }), nil
}

// unsettledPods returns pods with unfinished work of OpenKruise, which no controller would complete.
func unsettledPods(pods []corev1.Pod) []string {
	var problems []string
	for i := range pods {
		pod := &pods[i]
		if _, asked := pod.Labels[kruiseDeleteKey]; asked {
			problems = append(problems, fmt.Sprintf("pod %s has a label that requests its deletion (%s): wait until it is recreated, or remove the label; after the adoption use label %s",
				pod.Name, kruiseDeleteKey, slicesapi.SpecifiedDeleteKey))
		}
		if state := pod.Labels[kruiseStateKey]; state != "" && state != kruiseSettled {
			problems = append(problems, fmt.Sprintf("pod %s is in the state %s (label %s): wait until it is %s", pod.Name, state, kruiseStateKey, kruiseSettled))
		}
	}
	return problems
}

// recreated returns pods that our controller would take for pods of another revision. It identifies the revision by the
// label, and the ControllerRevision of that name.
func (a *adoption) recreated(ctx context.Context, set *slicesapi.StatefulSet, pods []corev1.Pod) []string {
	name, _, _ := unstructured.NestedString(a.old.Object, "status", "updateRevision")
	if name == "" || len(pods) == 0 {
		return nil
	}
	var problems []string
	for i := range pods {
		if label := pods[i].Labels[appsv1.StatefulSetRevisionLabel]; label != name {
			problems = append(problems, fmt.Sprintf("pod %s has the revision %q, not %s, and would be recreated: let OpenKruise update it first", pods[i].Name, label, name))
		}
	}
	var revision appsv1.ControllerRevision
	err := a.live.Get(ctx, client.ObjectKey{Namespace: a.namespace, Name: name}, &revision)
	switch {
	case apierrors.IsNotFound(err):
		problems = append(problems, fmt.Sprintf("its ControllerRevision %s does not exist, and every pod would be recreated: restart the manager of OpenKruise, which writes it", name))
	case err != nil:
		problems = append(problems, fmt.Sprintf("its ControllerRevision %s cannot be read: %v", name, err))
	case !history.Matches(set, &revision):
		problems = append(problems, fmt.Sprintf("its template is not the one of its ControllerRevision %s, and every pod would be recreated: check that the manager of OpenKruise runs, and let it update the pods first", name))
	}
	return problems
}
