package slice

import (
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
	"sigs.k8s.io/controller-runtime/pkg/client"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/slices/decide"
	"github.com/sliceshift/sliceshift/slices/history"
)

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
	if rolling != nil && rolling.UnorderedUpdate != nil && kept > 0 && kept < int64(replicasOf(set)) {
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
