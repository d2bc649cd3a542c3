package duel

import (
	"context"
	"fmt"
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
