package main

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
	"sigs.k8s.io/controller-runtime/pkg/client"

	stsslices "github.com/sliceshift/sliceshift/slices"
	"github.com/sliceshift/sliceshift/slices/history"
	slicesapi "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// kruiseVersion is the version of OpenKruise's Advanced StatefulSet; kruiseName is what --from
// calls it.
var kruiseVersion = schema.GroupVersion{Group: "apps.kruise.io", Version: "v1beta1"}

const kruiseName = "kruise"

// What OpenKruise writes on pods.
const (
	kruiseDeleteKey = "apps.kruise.io/specified-delete"
	kruiseStateKey  = "lifecycle.apps.kruise.io/state"
	kruiseSettled   = "Normal"
	// kruiseReady is a readiness gate that OpenKruise alone opens.
	kruiseReady = "KruisePodReady"
)

// kruiseRemedies are what to do about a label or an annotation of a StatefulSet that has no
// counterpart here.
var kruiseRemedies = map[string]string{
	"policy.kruise.io/delete-protection":                      "OpenKruise would refuse the deletion of the one, and does not protect the other: remove it",
	"apps.kruise.io/image-predownload-parallelism":            noPrePull,
	"apps.kruise.io/image-predownload-timeout-seconds":        noPrePull,
	"apps.kruise.io/image-predownload-min-updated-ready-pods": noPrePull,
}

const noPrePull = "remove it, and set updateStrategy.rollingUpdate.prePull afterwards to have images pulled before a pod is deleted"

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
	if known, err := stsslices.SpecOf(set); err == nil {
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

// kruise finds what ours cannot say of an Advanced StatefulSet, and what would have a pod made
// anew.
func (a *adoption) kruise(ctx context.Context) []string {
	set := &slicesapi.StatefulSet{}
	problems := unknownFields(a.new, slicesapi.GroupVersion, set)
	if _, err := stsslices.SpecOf(set); err != nil {
		problems = append(problems, fmt.Sprintf("it cannot be read: %v: correct it", err))
	}
	problems = append(problems, a.unsaid(set)...)
	pods, err := a.ownPods(ctx)
	if err != nil {
		return append(problems, err.Error())
	}
	return append(append(problems, unsettled(pods)...), a.madeAnew(ctx, set, pods)...)
}

// unsaid finds what has a meaning there and none here.
func (a *adoption) unsaid(set *slicesapi.StatefulSet) []string {
	var problems []string
	for what, keys := range map[string]map[string]string{"annotation": a.new.GetAnnotations(), "label": a.new.GetLabels()} {
		for _, key := range ofKruise(keys) {
			remedy := kruiseRemedies[key]
			if remedy == "" {
				remedy = "nobody acts on it here: remove it"
			}
			problems = append(problems, fmt.Sprintf("its %s %s: %s", what, key, remedy))
		}
	}
	slices.Sort(problems)
	rolling := set.Spec.UpdateStrategy.RollingUpdate
	kept, _, _ := unstructured.NestedInt64(a.old.Object, "spec", "updateStrategy", "rollingUpdate", "partition")
	if rolling != nil && rolling.UnorderedUpdate != nil && kept > 0 && kept < int64(replicasOf(set)) {
		problems = append(problems, fmt.Sprintf(
			"its updateStrategy.rollingUpdate.partition keeps %d pods of any ordinal, for it has unorderedUpdate; ours is an ordinal: set partition to 0, or remove unorderedUpdate", kept))
	}
	return problems
}

// ofKruise are the keys of OpenKruise among labels or annotations.
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

// ownPods are the pods that the old object controls.
func (a *adoption) ownPods(ctx context.Context) ([]corev1.Pod, error) {
	var list corev1.PodList
	if err := a.live.List(ctx, &list, client.InNamespace(a.namespace)); err != nil {
		return nil, fmt.Errorf("the pods of namespace %s cannot be listed: %w", a.namespace, err)
	}
	return slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool { return !metav1.IsControlledBy(&pod, a.old) }), nil
}

// unsettled finds pods with which OpenKruise is not at an end: nobody would go on with it.
func unsettled(pods []corev1.Pod) []string {
	var problems []string
	for i := range pods {
		pod := &pods[i]
		if _, asked := pod.Labels[kruiseDeleteKey]; asked {
			problems = append(problems, fmt.Sprintf("pod %s is asked to go (label %s): wait until it is made anew, or remove the label; %s is what asks for it afterwards",
				pod.Name, kruiseDeleteKey, slicesapi.SpecifiedDeleteKey))
		}
		if state := pod.Labels[kruiseStateKey]; state != "" && state != kruiseSettled {
			problems = append(problems, fmt.Sprintf("pod %s is in the state %s (label %s): wait until it is %s", pod.Name, state, kruiseStateKey, kruiseSettled))
		}
	}
	return problems
}

// madeAnew finds pods that the controller of ours would take for those of another revision:
// what tells their revision is the label, and the ControllerRevision of that name.
func (a *adoption) madeAnew(ctx context.Context, set *slicesapi.StatefulSet, pods []corev1.Pod) []string {
	name, _, _ := unstructured.NestedString(a.old.Object, "status", "updateRevision")
	if name == "" || len(pods) == 0 {
		return nil
	}
	var problems []string
	for i := range pods {
		if label := pods[i].Labels[appsv1.StatefulSetRevisionLabel]; label != name {
			problems = append(problems, fmt.Sprintf("pod %s has the revision %q, not %s, and would be made anew: let OpenKruise update it first", pods[i].Name, label, name))
		}
	}
	var revision appsv1.ControllerRevision
	err := a.live.Get(ctx, client.ObjectKey{Namespace: a.namespace, Name: name}, &revision)
	switch {
	case apierrors.IsNotFound(err):
		problems = append(problems, fmt.Sprintf("its ControllerRevision %s is gone, and every pod would be made anew: restart the manager of OpenKruise, which writes it", name))
	case err != nil:
		problems = append(problems, fmt.Sprintf("its ControllerRevision %s cannot be read: %v", name, err))
	case !history.Matches(set, &revision):
		problems = append(problems, fmt.Sprintf("its template is not the one of its ControllerRevision %s, and every pod would be made anew: see whether the manager of OpenKruise runs, and let it update the pods first", name))
	}
	return problems
}

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
