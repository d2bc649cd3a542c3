package auditor

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"github.com/sliceshift/sliceshift/e2e/auditor/feed"
	"github.com/sliceshift/sliceshift/e2e/auditor/judge"
)

// follower is a feed of any type of object.
type follower interface {
	Run(context.Context)
	Relist(context.Context) error
}

// feeds returns a feed for everything that can break an invariant. Two sides in one cluster share the feed of its
// volumes.
func (a *Auditor) feeds() []follower {
	var all []follower
	for _, s := range a.sides {
		all = append(all, a.podFeed(s), a.claimFeed(s), a.budgetFeed(s), a.setFeed(s))
		if s.index == judge.Source || !a.sameCluster {
			watcher := a.newVolumeWatch(s)
			all = append(all, a.volumeFeed(s, watcher), a.attachmentFeed(s, watcher))
		}
	}
	return all
}

func (a *Auditor) podFeed(s *side) follower {
	pods := func(l *corev1.PodList) []corev1.Pod { return l.Items }
	return follow(a, "pods of "+s.String(), s.core.CoreV1().Pods(s.Namespace), pods, func(ch feed.Change[*corev1.Pod]) { a.onPod(s, ch) })
}

func (a *Auditor) claimFeed(s *side) follower {
	claims := func(l *corev1.PersistentVolumeClaimList) []corev1.PersistentVolumeClaim { return l.Items }
	return follow(a, "claims of "+s.String(), s.core.CoreV1().PersistentVolumeClaims(s.Namespace), claims,
		func(ch feed.Change[*corev1.PersistentVolumeClaim]) { a.onClaim(s, ch) })
}

func (a *Auditor) volumeFeed(s *side, watcher *volumeWatch) follower {
	volumes := func(l *corev1.PersistentVolumeList) []corev1.PersistentVolume { return l.Items }
	return follow(a, "volumes in "+s.Name, s.core.CoreV1().PersistentVolumes(), volumes, watcher.onVolume)
}

func (a *Auditor) attachmentFeed(s *side, watcher *volumeWatch) follower {
	attachments := func(l *storagev1.VolumeAttachmentList) []storagev1.VolumeAttachment { return l.Items }
	return follow(a, "attachments in "+s.Name, s.core.StorageV1().VolumeAttachments(), attachments, watcher.onAttachment)
}

func (a *Auditor) budgetFeed(s *side) follower {
	budgets := func(l *policyv1.PodDisruptionBudgetList) []policyv1.PodDisruptionBudget { return l.Items }
	return follow(a, "disruption budgets of "+s.String(), s.core.PolicyV1().PodDisruptionBudgets(s.Namespace), budgets,
		func(ch feed.Change[*policyv1.PodDisruptionBudget]) { a.onBudget(s, ch) })
}

func (a *Auditor) setFeed(s *side) follower {
	sets := func(l *unstructured.UnstructuredList) []unstructured.Unstructured { return l.Items }
	return follow(a, "set "+s.String(), oneSet{s.sets, s.Set}, sets, func(ch feed.Change[*unstructured.Unstructured]) { a.onSet(s, ch) })
}

// readable is the part of a typed client that a feed needs.
type readable[L metav1.ListInterface] interface {
	List(context.Context, metav1.ListOptions) (L, error)
	Watch(context.Context, metav1.ListOptions) (watch.Interface, error)
}

// object is the constraint for a pointer to an API object.
type object[T any] interface {
	*T
	metav1.Object
	runtime.Object
}

// follow returns a feed of the objects of one resource; items returns the elements of a list.
func follow[L metav1.ListInterface, T any, P object[T]](a *Auditor, name string, kind readable[L], items func(L) []T, handle func(feed.Change[P])) follower {
	list := func(ctx context.Context, o metav1.ListOptions) ([]P, string, error) {
		list, err := kind.List(ctx, o)
		if err != nil {
			return nil, "", err
		}
		listed := items(list)
		all := make([]P, len(listed))
		for i := range listed {
			all[i] = &listed[i]
		}
		return all, list.GetResourceVersion(), nil
	}
	return &feed.Feed[P]{Name: name, List: list, Watch: kind.Watch, Interrupted: a.ledger.interrupted, Handle: handle}
}

// oneSet reads the set of one name only.
type oneSet struct {
	sets dynamic.ResourceInterface
	name string
}

func (s oneSet) only(o metav1.ListOptions) metav1.ListOptions {
	o.FieldSelector = fields.OneTermEqualSelector("metadata.name", s.name).String()
	return o
}

// List implements readable.
func (s oneSet) List(ctx context.Context, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	return s.sets.List(ctx, s.only(o))
}

// Watch implements readable.
func (s oneSet) Watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	return s.sets.Watch(ctx, s.only(o))
}
