package clusters

import (
	"context"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/disk"
	"github.com/sliceshift/sliceshift/workload"
)

// audience lists the subscribers that an event concerns. In doubt it is larger: a subscriber that is woken without need
// reads once more, but a missed subscriber waits until its next periodic pass.
type audience struct {
	everyone   bool
	namespaces map[string]bool
	sets       []client.ObjectKey
	questions  []question
}

func (a *audience) add(namespace string, sets ...string) {
	for _, set := range sets {
		a.sets = append(a.sets, client.ObjectKey{Namespace: namespace, Name: set})
	}
}

func (a *audience) all(namespace string) {
	if a.namespaces == nil {
		a.namespaces = map[string]bool{}
	}
	a.namespaces[namespace] = true
}

// waker finds the audience of an event.
type waker struct {
	hub *hub
	// known reads the kept objects, and kinds lists the kinds of StatefulSets among them. A read of another kind would ask
	// the cluster whether it is served.
	known client.Reader
	kinds []client.Object
}

// about returns the audience of a change. nil means that the object did not exist, or no longer exists.
func (w waker) about(before, after client.Object) audience {
	var a audience
	for _, object := range []client.Object{before, after} {
		if object != nil {
			a.questions = append(a.questions, questionOf(object))
			w.named(&a, object)
		}
	}
	switch either(before, after).(type) {
	case *corev1.Pod:
		w.pod(&a, as[corev1.Pod](before), as[corev1.Pod](after))
	case *policyv1.PodDisruptionBudget:
		w.budget(&a, as[policyv1.PodDisruptionBudget](before), as[policyv1.PodDisruptionBudget](after))
	}
	return a
}

func either(before, after client.Object) client.Object {
	if after != nil {
		return after
	}
	return before
}

// as returns an object as a type, or nil.
func as[T any](object client.Object) *T {
	typed, _ := any(object).(*T)
	return typed
}

// named adds the subscribers that an object's names refer to.
func (w waker) named(a *audience, object client.Object) {
	switch object := object.(type) {
	case *corev1.Pod:
		a.add(object.Namespace, setsOfPod(object)...)
	case *corev1.PersistentVolumeClaim:
		a.add(object.Namespace, setsOf(object)...)
	case *corev1.Service:
		a.add(object.Namespace, setOf(object.Name))
	case *corev1.PersistentVolume:
		w.volume(a, object)
	case *storagev1.VolumeAttachment:
		w.attachment(a, object)
	case *policyv1.PodDisruptionBudget:
	default:
		if workload.Is(object) {
			a.add(object.GetNamespace(), object.GetName())
		} else {
			a.everyone = true
		}
	}
}

func (w waker) volume(a *audience, volume *corev1.PersistentVolume) {
	if ref := volume.Spec.ClaimRef; ref != nil {
		a.add(ref.Namespace, setsOfClaim(ref.Name)...)
	}
	for _, key := range disk.Filed(volume) {
		a.questions = append(a.questions, questionOfDisk(key))
	}
}

func questionOfDisk(key string) question { return question{key: client.ObjectKey{Name: key}} }

func (w waker) attachment(a *audience, attachment *storagev1.VolumeAttachment) {
	name := attachment.Spec.Source.PersistentVolumeName
	if name == nil {
		return // an inline volume of a pod
	}
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: *name}}
	a.questions = append(a.questions, questionOf(volume))
	if err := w.known.Get(context.Background(), client.ObjectKeyFromObject(volume), volume); err != nil {
		a.everyone = true
		return
	}
	w.volume(a, volume)
}

// presence holds the properties of a pod, of any set, that PodDisruptionBudgets and their shares depend on.
type presence struct {
	uid           types.UID
	labels        map[string]string
	ended, marked bool
}

func presenceOf(pod *corev1.Pod) presence {
	if pod == nil {
		return presence{}
	}
	return presence{
		uid: pod.UID, labels: pod.Labels, ended: pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed,
		marked: slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue
		}),
	}
}

func (p presence) equal(other presence) bool {
	return p.uid == other.uid && p.ended == other.ended && p.marked == other.marked && maps.Equal(p.labels, other.labels)
}

// pod also adds the sets whose budgets select the pod, because the pod counts for these budgets.
func (w waker) pod(a *audience, before, after *corev1.Pod) {
	was, is := presenceOf(before), presenceOf(after)
	if before != nil && after != nil && was.equal(is) {
		return
	}
	namespace, name := namespaceAndName(before, after)
	var budgets policyv1.PodDisruptionBudgetList
	if err := w.known.List(context.Background(), &budgets, client.InNamespace(namespace)); err != nil {
		a.all(namespace)
		return
	}
	for i := range budgets.Items {
		budget := &budgets.Items[i]
		_, evicted := budget.Status.DisruptedPods[name]
		if of := budget.Spec.Selector; !evicted && !MaySelect(of, was.labels) && !MaySelect(of, is.labels) {
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
		if err != nil {
			continue // it selects nothing
		}
		if evicted || before != nil && selector.Matches(labels.Set(was.labels)) || after != nil && selector.Matches(labels.Set(is.labels)) {
			a.add(namespace, w.selected(namespace, selector)...)
		}
	}
}

func namespaceAndName(before, after *corev1.Pod) (namespace, name string) {
	if after == nil {
		return before.Namespace, before.Name
	}
	return after.Namespace, after.Name
}

// budget adds the sets that a PodDisruptionBudget selects. If the budget is created or deleted, or its selector changes, the
// selection of every set in the namespace may change. All are added then.
func (w waker) budget(a *audience, before, after *policyv1.PodDisruptionBudget) {
	switch {
	case before == nil:
		a.all(after.Namespace)
		return
	case after == nil || !equality.Semantic.DeepEqual(before.Spec.Selector, after.Spec.Selector):
		a.all(before.Namespace)
		return
	}
	if selector, err := metav1.LabelSelectorAsSelector(after.Spec.Selector); err == nil {
		a.add(after.Namespace, w.selected(after.Namespace, selector)...)
	}
}

// MaySelect reports whether a selector can select an object with these labels. If not, the selector need not be compiled,
// which costs more than anything else where a namespace has hundreds of budgets.
func MaySelect(selector *metav1.LabelSelector, of labels.Set) bool {
	if selector == nil {
		return false
	}
	for key, value := range selector.MatchLabels {
		if has, found := of[key]; !found || has != value {
			return false
		}
	}
	return true
}

// selected returns the sets with subscribers whose existing or future pods the selector matches, and possibly others.
func (w waker) selected(namespace string, selector labels.Selector) []string {
	var pods corev1.PodList
	if err := w.known.List(context.Background(), &pods, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return w.hub.setsIn(namespace)
	}
	var found []string
	for i := range pods.Items {
		found = append(found, setsOfPod(&pods.Items[i])...)
	}
	for _, set := range w.hub.setsIn(namespace) {
		templates := w.templates(client.ObjectKey{Namespace: namespace, Name: set})
		// If no set exists here, its pods will be like those of the other cluster.
		if len(templates) == 0 || slices.ContainsFunc(templates, func(of labels.Set) bool { return selector.Matches(of) }) {
			found = append(found, set)
		}
	}
	return found
}

// templates returns the labels of the pod templates of a set, of each kind that exists under the name. It returns none if
// they are unknown.
func (w waker) templates(key client.ObjectKey) []labels.Set {
	var found []labels.Set
	for _, kind := range w.kinds {
		set, isObject := kind.DeepCopyObject().(client.Object)
		if !isObject {
			return nil
		}
		switch err := w.known.Get(context.Background(), key, set); {
		case err == nil:
			of, known := templateLabels(set)
			if !known {
				return nil
			}
			found = append(found, of)
		case !apierrors.IsNotFound(err):
			return nil
		}
	}
	return found
}

func templateLabels(set client.Object) (of labels.Set, known bool) {
	switch set := set.(type) {
	case *appsv1.StatefulSet:
		return set.Spec.Template.Labels, true
	case *slicesapi.StatefulSet:
		return set.Spec.Template.Labels, true
	default:
		return nil, false
	}
}
