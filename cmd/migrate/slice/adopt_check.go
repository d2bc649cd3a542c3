package slice

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
)

// check returns an error with all problems that make the adoption unsafe.
func (a *adoption) check(ctx context.Context) error {
	problems := append(a.drivers(), a.changesUnderWay()...)
	switch {
	case a.into == appsv1.SchemeGroupVersion:
		problems = append(problems, a.unsupportedFields()...)
	case a.from == kruiseVersion:
		problems = append(problems, a.kruiseProblems(ctx)...)
	}
	if len(problems) == 0 {
		problems = append(problems, a.dryRunCreate(ctx)...)
	}
	if len(problems) > 0 {
		return command.Refusedf("cluster %s: %s is not adopted, and nothing was changed:\n  - %s",
			a.connection.Name(), a.title(a.from), strings.Join(problems, "\n  - "))
	}
	a.warn(ctx)
	return nil
}

// drivers returns other controllers of the object: an operator, or a migration.
func (a *adoption) drivers() []string {
	var problems []string
	if owner := metav1.GetControllerOf(a.old); owner != nil {
		problems = append(problems, fmt.Sprintf("it belongs to %s %s, which would recreate it: pause that operator and remove the ownerReference", owner.Kind, owner.Name))
	}
	ours := func(finalizer string) bool { return finalizer == slicesapi.Finalizer }
	if finalizers := slices.DeleteFunc(a.old.GetFinalizers(), ours); len(finalizers) > 0 && a.old.GetDeletionTimestamp() == nil {
		problems = append(problems, fmt.Sprintf("it has the finalizers %s: their controllers would clean up as if the application were deleted; remove them", strings.Join(finalizers, ", ")))
	}
	for _, key := range []string{api.FenceAnnotationKey, slicesapi.MigratingAnnotationKey} {
		if _, found := a.old.GetAnnotations()[key]; found {
			problems = append(problems, fmt.Sprintf("a migration drives it (annotation %s): wait until it is completed, or roll it back: %s", key, a.Again("status", a.name, a.namespace)))
			break
		}
	}
	return problems
}

// state holds the fields that both kinds share.
type state struct {
	Spec struct {
		Replicas       *int32 `json:"replicas"`
		UpdateStrategy struct {
			Type slicesapi.UpdateStrategyType `json:"type"`
		} `json:"updateStrategy"`
	} `json:"spec"`
	Status appsv1.StatefulSetStatus `json:"status"`
}

// changesUnderWay returns changes in progress. The status is not copied, so the current revision would be lost.
func (a *adoption) changesUnderWay() []string {
	if a.old.GetDeletionTimestamp() != nil {
		return []string{"it is being deleted"}
	}
	var s state
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(a.old.Object, &s); err != nil {
		return []string{fmt.Sprintf("its status cannot be read: %v", err)}
	}
	replicas := int32(1)
	if s.Spec.Replicas != nil {
		replicas = *s.Spec.Replicas
	}
	wait := "wait for its end, or take it back"
	// With OnDelete the current revision of apps/v1 never catches up.
	updated := s.Spec.UpdateStrategy.Type == slicesapi.OnDelete && s.Status.UpdatedReplicas == replicas
	switch {
	case s.Status.ObservedGeneration < a.old.GetGeneration():
		return []string{"its controller has not seen its latest change: see whether that controller runs"}
	case s.Status.CurrentRevision != s.Status.UpdateRevision && !updated:
		return []string{fmt.Sprintf("a roll-out is under way, from revision %s to %s: %s", s.Status.CurrentRevision, s.Status.UpdateRevision, wait)}
	case s.Status.Replicas != replicas:
		return []string{fmt.Sprintf("it is being scaled, %d pods of %d are there: %s", s.Status.Replicas, replicas, wait)}
	}
	return nil
}

// unsupportedFields returns the fields that apps/v1 does not support.
func (a *adoption) unsupportedFields() []string {
	var set appsv1.StatefulSet
	problems := unknownFields(a.new, appsv1.SchemeGroupVersion, &set)
	opened := func(g corev1.PodReadinessGate) bool { return g.ConditionType == slicesapi.InPlaceUpdateReady }
	if gate := slices.IndexFunc(set.Spec.Template.Spec.ReadinessGates, opened); gate >= 0 {
		problems = append(problems, fmt.Sprintf("its pod template has the readiness gate %s, which the controller of apps/v1 does not set: none of its pods would become Ready; "+
			"remove it, which recreates the pods in a roll-out, and repeat the command after that: %s",
			slicesapi.InPlaceUpdateReady, a.kubectl().Do("patch", "statefulsets."+a.from.Group, a.name, "-n", a.namespace, "--type", "json", "-p",
				fmt.Sprintf(`[{"op":"remove","path":"/spec/template/spec/readinessGates/%d"}]`, gate))))
	}
	if set.Spec.UpdateStrategy.Type == appsv1.StatefulSetUpdateStrategyType(slicesapi.Recreate) {
		problems = append(problems, "apps/v1 has no updateStrategy.type Recreate: set RollingUpdate or OnDelete")
	}
	return problems
}

// unknownFields decodes an object as another version, and returns the fields that this version does not have.
func unknownFields(object *unstructured.Unstructured, version schema.GroupVersion, into any) []string {
	err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, into, true)
	unknown, isStrict := runtime.AsStrictDecodingError(err)
	if err != nil && !isStrict {
		return []string{fmt.Sprintf("it cannot be read as %s: %v", version, err)}
	}
	var problems []string
	if isStrict {
		for _, field := range unknown.Errors() {
			problems = append(problems, fmt.Sprintf("%s does not have it: %v: clear it", version, field))
		}
	}
	return problems
}

// dryRunCreate makes the API server validate the new object while the old one still exists.
func (a *adoption) dryRunCreate(ctx context.Context) []string {
	if err := a.live.Create(ctx, a.new.DeepCopy(), strict, client.DryRunAll); err != nil {
		return []string{fmt.Sprintf("the API server would not create it: %v", err)}
	}
	return nil
}

// warn lists the objects that will not find the StatefulSet any more, and the differences afterwards.
func (a *adoption) warn(ctx context.Context) {
	if a.from == kruiseVersion {
		a.warnKruise()
	}
	var scalers autoscalingv2.HorizontalPodAutoscalerList
	if err := a.live.List(ctx, &scalers, client.InNamespace(a.namespace)); err != nil {
		fmt.Fprintf(a.ErrOut, "warning: the HorizontalPodAutoscalers of namespace %s cannot be listed: %v; one that names the StatefulSet will not find it\n", a.namespace, err)
		return
	}
	for i := range scalers.Items {
		ref := scalers.Items[i].Spec.ScaleTargetRef
		version, err := schema.ParseGroupVersion(ref.APIVersion)
		if err == nil && ref.Kind == "StatefulSet" && ref.Name == a.name && version.Group == a.from.Group {
			fmt.Fprintf(a.ErrOut, "warning: HorizontalPodAutoscaler %s/%s names %s and will not find it: set its spec.scaleTargetRef.apiVersion to %s\n",
				a.namespace, scalers.Items[i].Name, a.title(a.from), a.into)
		}
	}
}
