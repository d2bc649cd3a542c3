package clusters

import (
	"context"
	"fmt"
	"reflect"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// shallow returns objects of one namespace from memory by index and without a deep copy, as a store does.
type shallow struct {
	client.Reader
	of    map[reflect.Type][]client.Object
	named map[string]client.Object
	ofSet map[string][]client.Object
}

func (s shallow) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	if object := s.named[reflect.TypeOf(into).String()+key.Name]; object != nil {
		reflect.ValueOf(into).Elem().Set(reflect.ValueOf(object).Elem())
		return nil
	}
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

func (s shallow) List(_ context.Context, into client.ObjectList, opts ...client.ListOption) error {
	var options client.ListOptions
	options.ApplyOptions(opts)
	kind := reflect.TypeFor[*corev1.Pod]()
	if _, budgets := into.(*policyv1.PodDisruptionBudgetList); budgets {
		kind = reflect.TypeFor[*policyv1.PodDisruptionBudget]()
	}
	all := s.of[kind]
	if options.FieldSelector != nil {
		set, _ := options.FieldSelector.RequiresExactMatch(SetField)
		all = s.ofSet[set]
	}
	var found []runtime.Object
	for _, object := range all {
		if options.LabelSelector == nil || options.LabelSelector.Matches(labels.Set(object.GetLabels())) {
			found = append(found, object)
		}
	}
	return meta.SetList(into, found)
}

// BenchmarkWake measures the event of a budget, and that of a created pod, in a namespace with subscribers for each set.
func BenchmarkWake(b *testing.B) {
	for _, sets := range []int{10, 100} {
		there, hub := shallow{of: map[reflect.Type][]client.Object{}, named: map[string]client.Object{}, ofSet: map[string][]client.Object{}}, newHub()
		add := func(object client.Object) {
			kind := reflect.TypeOf(object)
			there.of[kind] = append(there.of[kind], object)
			there.named[kind.String()+object.GetName()] = object
			if _, is := object.(*corev1.Pod); is {
				there.ofSet[setOf(object.GetName())] = append(there.ofSet[setOf(object.GetName())], object)
			}
		}
		for i := range sets {
			name := fmt.Sprint("web", i)
			app := map[string]string{"app": name}
			set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
			set.Spec.Template.Labels = app
			budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
			budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: app}
			add(set)
			add(budget)
			for k := range 10 {
				add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprint(name, "-", k), Labels: app}})
			}
			hub.join(&subscriber{Subscription: Subscription{Set: name, Notify: func() {}}, namespace: "shop", asked: map[uint64]struct{}{}})
		}
		w := waker{hub, there, []client.Object{&appsv1.StatefulSet{}}}
		budget := there.of[reflect.TypeFor[*policyv1.PodDisruptionBudget]()][0]
		pod := there.of[reflect.TypeFor[*corev1.Pod]()][0]
		for name, event := range map[string]func() audience{
			"budget": func() audience { return w.about(budget, budget) },
			"pod":    func() audience { return w.about(nil, pod) },
		} {
			b.Run(fmt.Sprint(name, "/", sets), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					hub.wake(event())
				}
			})
		}
	}
}
