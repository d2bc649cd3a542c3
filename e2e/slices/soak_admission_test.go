package slices

import (
	"context"
	"fmt"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Interference with the writes of a set's pods. A label of the namespace, with the set's name as suffix, enables it.
const (
	refusesPods    = "refuses-pods-"
	refusesChanges = "refuses-changes-"
	rewritesPods   = "rewrites-pods-"
)

// admissions creates the policies for one namespace.
func (p *play) admissions() {
	p.t.Helper()
	name := p.set.Namespace
	in := &admissionregistrationv1.MatchResources{
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: name}},
		ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
		}}},
	}
	off := func(what string) string {
		// namespaceObject is not available in the match conditions of a policy, only in its other expressions.
		return fmt.Sprintf("!(('%s' + object.metadata.labels['app']) in namespaceObject.metadata.labels)", what)
	}
	refuses := &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name + "-refuses"},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{MatchConstraints: in, Validations: []admissionregistrationv1.Validation{
			{Expression: "request.operation != 'CREATE' || " + off(refusesPods), Message: "no pods are made"},
			{Expression: "request.operation != 'UPDATE' || " + off(refusesChanges), Message: "no pods are changed"},
		}},
	}
	rewrites := &admissionregistrationv1.MutatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name + "-rewrites"},
		Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
			MatchConstraints: in, ReinvocationPolicy: admissionregistrationv1.NeverReinvocationPolicy,
			Mutations: []admissionregistrationv1.Mutation{
				mutation(off(rewritesPods) + ` || object.spec.containers[0].image.startsWith('mirror/') ? [] : [
					JSONPatch{op: 'replace', path: '/spec/containers/0/image', value: 'mirror/' + object.spec.containers[0].image}]`),
				mutation(off(rewritesPods) + ` || request.operation != 'CREATE' ? [] : [
					JSONPatch{op: 'add', path: '/spec/containers/-', value: Object.spec.containers{name: 'proxy', image: 'proxy:1'}},
					JSONPatch{op: 'add', path: '/metadata/labels/injected', value: 'yes'}]`),
			},
		},
	}
	for _, object := range []client.Object{
		refuses, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
			ObjectMeta: metav1.ObjectMeta{Name: refuses.Name},
			Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
				PolicyName: refuses.Name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
			},
		},
		rewrites, &admissionregistrationv1.MutatingAdmissionPolicyBinding{
			ObjectMeta: metav1.ObjectMeta{Name: rewrites.Name}, Spec: admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{PolicyName: rewrites.Name},
		},
	} {
		p.must(api.Create(p.ctx, object))
	}
}

func mutation(expression string) admissionregistrationv1.Mutation {
	return admissionregistrationv1.Mutation{PatchType: admissionregistrationv1.PatchTypeJSONPatch, JSONPatch: &admissionregistrationv1.JSONPatch{Expression: expression}}
}

// admit enables the given interference for the set, and disables all other.
func (s *soak) admit(ctx context.Context, on ...string) error {
	labels := map[string]string{refusesPods: "null", refusesChanges: "null", rewritesPods: "null"}
	for _, what := range on {
		labels[what] = `"yes"`
	}
	words := make([]string, 0, len(labels))
	for what, value := range labels {
		words = append(words, fmt.Sprintf("%q:%s", what+s.name, value))
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}
	return api.Patch(ctx, namespace, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{`+strings.Join(words, ",")+`}}}`)))
}

// TestAdmissions: each interference has its effect on the API server.
func TestAdmissions(t *testing.T) {
	p := newPlay(t, slice(1))
	p.admissions()
	s := &soak{namespace: p.set.Namespace, name: p.set.Name}
	pod := func() *corev1.Pod {
		pod := &corev1.Pod{ObjectMeta: p.set.Spec.Template.ObjectMeta, Spec: p.set.Spec.Template.Spec}
		pod.Namespace, pod.Name = p.set.Namespace, "web-9"
		return pod
	}
	try := func() (*corev1.Pod, error) {
		made := pod()
		return made, api.Create(p.ctx, made, client.DryRunAll)
	}
	p.must(s.admit(p.ctx, refusesPods))
	p.eventually("pods are refused", func() bool { _, err := try(); return err != nil && strings.Contains(err.Error(), "no pods are made") })
	p.must(s.admit(p.ctx, rewritesPods))
	p.eventually("pods are rewritten", func() bool {
		made, err := try()
		return err == nil && made.Labels["injected"] == "yes" && len(made.Spec.Containers) == 2 && made.Spec.Containers[0].Image == "mirror/web:1"
	})
	p.must(s.admit(p.ctx, refusesChanges))
	made := pod()
	p.must(api.Create(p.ctx, made))
	p.eventually("changes are refused", func() bool {
		err := api.Patch(p.ctx, made, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"a":"b"}}}`)))
		return err != nil && strings.Contains(err.Error(), "no pods are changed")
	})
}
