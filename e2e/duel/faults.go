package duel

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// holdFinalizer keeps a deleted pod Terminating.
	holdFinalizer = "duel.sliceshift.io/hold"
	// unreadyReason is the reason of the Ready condition of a pod that a step made not Ready.
	unreadyReason = "Duel"
)

// harm applies a fault to the pod of one side. The pod of its ordinal exists on both sides.
func (s *side) harm(ctx context.Context, step Step, pod *corev1.Pod) error {
	switch step.Kind {
	case stepDelete:
		return s.delete(ctx, pod)
	case stepDeleteHeld:
		if err := s.patch(ctx, pod, `{"metadata":{"finalizers":["`+holdFinalizer+`"]}}`); err != nil {
			return err
		}
		return s.delete(ctx, pod)
	case stepFail:
		return s.patchStatus(ctx, pod, ended(corev1.PodFailed))
	case stepSucceed:
		return s.patchStatus(ctx, pod, ended(corev1.PodSucceeded))
	case stepUnready:
		return s.patchStatus(ctx, pod, readiness(corev1.ConditionFalse, unreadyReason))
	case stepRelease:
		return s.patch(ctx, pod, `{"metadata":{"labels":{"`+appLabel+`":null}}}`)
	case stepOrphan:
		return s.patch(ctx, pod, `{"metadata":{"ownerReferences":null}}`)
	case stepUnname:
		return s.patch(ctx, pod, `{"metadata":{"labels":{"statefulset.kubernetes.io/pod-name":null}}}`)
	}
	return nil
}

func readiness(is corev1.ConditionStatus, reason string) string {
	return fmt.Sprintf(`{"conditions":[{"type":"Ready","status":%q,"reason":%q,"lastTransitionTime":%q}]}`, is, reason, time.Now().UTC().Format(time.RFC3339))
}

// ended returns the status of a finished pod, as a kubelet writes it: not Ready.
func ended(phase corev1.PodPhase) string {
	return fmt.Sprintf(`{"phase":%q,%s`, phase, strings.TrimPrefix(readiness(corev1.ConditionFalse, "Pod"+string(phase)), "{"))
}

// harmClaim applies a fault to an ordinal's first claim.
func (s *side) harmClaim(ctx context.Context, step Step, ordinal int32) error {
	claim := &corev1.PersistentVolumeClaim{}
	if err := s.client.Get(ctx, s.key(fmt.Sprintf("data-%s-%d", s.set, ordinal)), claim); err != nil {
		return client.IgnoreNotFound(err)
	}
	if err := s.delete(ctx, claim); err != nil {
		return err
	}
	if step.Kind == stepClaimGone {
		return client.IgnoreNotFound(s.patch(ctx, claim, `{"metadata":{"finalizers":null}}`))
	}
	if pod := s.pod(ctx, ordinal); pod != nil && step.Kind == stepClaimAndPod {
		return s.delete(ctx, pod)
	}
	return nil
}

// mend reverts the faults of a kind of step.
func (s *side) mend(ctx context.Context, kind string) error {
	var list corev1.PodList
	if err := s.client.List(ctx, &list, client.InNamespace(s.namespace)); err != nil {
		return err
	}
	for i := range list.Items {
		pod := &list.Items[i]
		var err error
		switch {
		case kind == stepLetGo && len(pod.Finalizers) > 0:
			err = s.patch(ctx, pod, `{"metadata":{"finalizers":null}}`)
		case kind == stepReady && unreadyBy(pod) && pod.Status.Phase == corev1.PodRunning:
			err = s.patchStatus(ctx, pod, readiness(corev1.ConditionTrue, ""))
		case kind == stepRelease && pod.Labels[appLabel] == "":
			err = s.patch(ctx, pod, `{"metadata":{"labels":{"`+appLabel+`":"`+s.set+`"}}}`)
		}
		if client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

func unreadyBy(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady && condition.Reason == unreadyReason {
			return true
		}
	}
	return false
}

// stray creates a pod with the set's labels, as another user might.
func (s *side) stray(ctx context.Context, ordinal int32) error {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: fmt.Sprintf("%s-%d", s.set, ordinal), Labels: map[string]string{appLabel: s.set}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "stray:1"}}},
	}
	if err := s.client.Create(ctx, pod); err != nil {
		return err
	}
	s.awaitVersion(pod)
	return nil
}

func (s *side) patch(ctx context.Context, object client.Object, patch string) error {
	err := s.client.Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte(patch)))
	if err == nil {
		s.awaitVersion(object)
	}
	return err
}

func (s *side) patchStatus(ctx context.Context, pod *corev1.Pod, status string) error {
	err := s.client.Status().Patch(ctx, pod, client.RawPatch(types.StrategicMergePatchType, []byte(`{"status":`+status+`}`)))
	if err == nil {
		s.awaitVersion(pod)
	}
	return err
}

func (s *side) delete(ctx context.Context, object client.Object) error {
	uid := object.GetUID()
	if err := s.client.Delete(ctx, object, client.Preconditions{UID: &uid}); err != nil {
		return client.IgnoreNotFound(err)
	}
	s.awaitObject(object, func(have client.Object) bool { return have.GetDeletionTimestamp() != nil })
	return nil
}

// awaitVersion waits until the cache shows a written object.
func (s *side) awaitVersion(object client.Object) {
	written := versionOf(object)
	s.awaitObject(object, func(have client.Object) bool { return versionOf(have) >= written })
}

func (s *side) awaitObject(object client.Object, shown func(client.Object) bool) {
	uid, key := object.GetUID(), client.ObjectKeyFromObject(object)
	have := object.DeepCopyObject().(client.Object)
	s.await(func(ctx context.Context) bool {
		err := s.cache.Get(ctx, key, have)
		return apierrors.IsNotFound(err) || err == nil && (have.GetUID() != uid || shown(have))
	})
}

func versionOf(object client.Object) uint64 {
	version, _ := strconv.ParseUint(object.GetResourceVersion(), 10, 64)
	return version
}

// refusal is a kind of write that the API server refuses in namespaces with a label. It also refuses ConfigMaps there,
// which shows whether it is in force.
type refusal struct {
	step, name, resource string
	operation            admissionregistrationv1.OperationType
	// allows is the exception: the writes that it accepts all the same.
	allows string
}

var refusals = []refusal{
	{stepRefusePods, "pods", "pods", admissionregistrationv1.Create, "false"},
	{stepRefuseClaims, "claims", "persistentvolumeclaims", admissionregistrationv1.Create, "false"},
	// The kubelet completes a deletion that was accepted before.
	{stepRefuseDeletions, "deletions", "pods", admissionregistrationv1.Delete, `request.operation == "DELETE" && has(oldObject.metadata.deletionTimestamp)`},
}

func (r refusal) label() string { return "duel/refuse-" + r.name }

func (r refusal) policy() *admissionregistrationv1.ValidatingAdmissionPolicy {
	rule := func(resource string, operation admissionregistrationv1.OperationType) admissionregistrationv1.NamedRuleWithOperations {
		return admissionregistrationv1.NamedRuleWithOperations{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
			Operations: []admissionregistrationv1.OperationType{operation},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{resource}},
		}}
	}
	return &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "duel-" + r.name},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{r.label(): "yes"}},
				ResourceRules:     []admissionregistrationv1.NamedRuleWithOperations{rule(r.resource, r.operation), rule("configmaps", admissionregistrationv1.Create)},
			},
			Validations: []admissionregistrationv1.Validation{{Expression: r.allows, Message: "the duel refuses " + r.name}},
		},
	}
}

func (r refusal) binding() *admissionregistrationv1.ValidatingAdmissionPolicyBinding {
	return &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "duel-" + r.name},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: "duel-" + r.name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		},
	}
}

// refuse enables one refusal; nil disables all.
func (s *side) refuse(ctx context.Context, wanted *refusal) error {
	labels := make([]string, 0, len(refusals))
	for _, kind := range refusals {
		value := "null"
		if wanted != nil && kind.name == wanted.name {
			value = `"yes"`
		}
		labels = append(labels, fmt.Sprintf("%q:%s", kind.label(), value))
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}
	if err := s.client.Patch(ctx, namespace, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{`+strings.Join(labels, ",")+`}}}`))); err != nil {
		return err
	}
	return wait.PollUntilContextTimeout(ctx, lookAgain, time.Minute, true, func(ctx context.Context) (bool, error) {
		probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "probe"}}
		err := s.client.Create(ctx, probe, client.DryRunAll)
		return (wanted != nil) == (apierrors.IsInvalid(err) || apierrors.IsForbidden(err)), nil
	})
}
