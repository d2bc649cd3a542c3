package duel

import (
	"context"
	"fmt"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// refusal is a kind of write that the API server refuses in namespaces with a label. It
// refuses ConfigMaps there as well, by which it is seen whether it is in force.
type refusal struct {
	step, name, resource string
	operation            admissionv1.OperationType
	// allows is what it lets through all the same.
	allows string
}

var refusals = []refusal{
	{stepRefusePods, "pods", "pods", admissionv1.Create, "false"},
	{stepRefuseClaims, "claims", "persistentvolumeclaims", admissionv1.Create, "false"},
	// The kubelet ends a deletion that was accepted by another one.
	{stepRefuseDeletions, "deletions", "pods", admissionv1.Delete, `request.operation == "DELETE" && has(oldObject.metadata.deletionTimestamp)`},
}

func (r refusal) label() string { return "duel/refuse-" + r.name }

func (r refusal) policy() *admissionv1.ValidatingAdmissionPolicy {
	rule := func(resource string, operation admissionv1.OperationType) admissionv1.NamedRuleWithOperations {
		return admissionv1.NamedRuleWithOperations{RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: []admissionv1.OperationType{operation},
			Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{resource}},
		}}
	}
	return &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "duel-" + r.name},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{r.label(): "yes"}},
				ResourceRules:     []admissionv1.NamedRuleWithOperations{rule(r.resource, r.operation), rule("configmaps", admissionv1.Create)},
			},
			Validations: []admissionv1.Validation{{Expression: r.allows, Message: "the duel refuses " + r.name}},
		},
	}
}

func (r refusal) binding() *admissionv1.ValidatingAdmissionPolicyBinding {
	return &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "duel-" + r.name},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: "duel-" + r.name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		},
	}
}

// refuse puts one refusal in force, or with none takes all back.
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
