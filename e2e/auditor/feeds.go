package auditor

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/sliceshift/sliceshift/e2e/auditor/feed"
	"github.com/sliceshift/sliceshift/e2e/auditor/judge"
)

// follower is a feed of any kind of object.
type follower interface {
	Run(context.Context)
	Relist(context.Context) error
}

// feeds returns a feed for everything that can break an invariant. Two sides in
// one cluster share the feed of its volumes.
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
	pods := s.core.CoreV1().Pods(s.Namespace)
	return &feed.Feed[*corev1.Pod]{
		Name: "pods of " + s.String(),
		List: func(ctx context.Context, o metav1.ListOptions) ([]*corev1.Pod, string, error) {
			list, err := pods.List(ctx, o)
			if err != nil {
				return nil, "", err
			}
			return pointers(list.Items), list.ResourceVersion, nil
		},
		Watch:       pods.Watch,
		Interrupted: a.ledger.interrupted,
		Handle:      func(ch feed.Change[*corev1.Pod]) { a.onPod(s, ch) },
	}
}

func (a *Auditor) claimFeed(s *side) follower {
	claims := s.core.CoreV1().PersistentVolumeClaims(s.Namespace)
	return &feed.Feed[*corev1.PersistentVolumeClaim]{
		Name: "claims of " + s.String(),
		List: func(ctx context.Context, o metav1.ListOptions) ([]*corev1.PersistentVolumeClaim, string, error) {
			list, err := claims.List(ctx, o)
			if err != nil {
				return nil, "", err
			}
			return pointers(list.Items), list.ResourceVersion, nil
		},
		Watch:       claims.Watch,
		Interrupted: a.ledger.interrupted,
		Handle:      func(ch feed.Change[*corev1.PersistentVolumeClaim]) { a.onClaim(s, ch) },
	}
}

func (a *Auditor) volumeFeed(s *side, watcher *volumeWatch) follower {
	volumes := s.core.CoreV1().PersistentVolumes()
	return &feed.Feed[*corev1.PersistentVolume]{
		Name: "volumes in " + s.Name,
		List: func(ctx context.Context, o metav1.ListOptions) ([]*corev1.PersistentVolume, string, error) {
			list, err := volumes.List(ctx, o)
			if err != nil {
				return nil, "", err
			}
			return pointers(list.Items), list.ResourceVersion, nil
		},
		Watch:       volumes.Watch,
		Interrupted: a.ledger.interrupted,
		Handle:      watcher.onVolume,
	}
}

func (a *Auditor) attachmentFeed(s *side, watcher *volumeWatch) follower {
	attachments := s.core.StorageV1().VolumeAttachments()
	return &feed.Feed[*storagev1.VolumeAttachment]{
		Name: "attachments in " + s.Name,
		List: func(ctx context.Context, o metav1.ListOptions) ([]*storagev1.VolumeAttachment, string, error) {
			list, err := attachments.List(ctx, o)
			if err != nil {
				return nil, "", err
			}
			return pointers(list.Items), list.ResourceVersion, nil
		},
		Watch:       attachments.Watch,
		Interrupted: a.ledger.interrupted,
		Handle:      watcher.onAttachment,
	}
}

func (a *Auditor) budgetFeed(s *side) follower {
	budgets := s.core.PolicyV1().PodDisruptionBudgets(s.Namespace)
	return &feed.Feed[*policyv1.PodDisruptionBudget]{
		Name: "disruption budgets of " + s.String(),
		List: func(ctx context.Context, o metav1.ListOptions) ([]*policyv1.PodDisruptionBudget, string, error) {
			list, err := budgets.List(ctx, o)
			if err != nil {
				return nil, "", err
			}
			return pointers(list.Items), list.ResourceVersion, nil
		},
		Watch:       budgets.Watch,
		Interrupted: a.ledger.interrupted,
		Handle:      func(ch feed.Change[*policyv1.PodDisruptionBudget]) { a.onBudget(s, ch) },
	}
}

func (a *Auditor) setFeed(s *side) follower {
	only := func(o metav1.ListOptions) metav1.ListOptions {
		o.FieldSelector = fields.OneTermEqualSelector("metadata.name", s.Set).String()
		return o
	}
	return &feed.Feed[*unstructured.Unstructured]{
		Name: "set " + s.String(),
		List: func(ctx context.Context, o metav1.ListOptions) ([]*unstructured.Unstructured, string, error) {
			list, err := s.sets.List(ctx, only(o))
			if err != nil {
				return nil, "", err
			}
			return pointers(list.Items), list.GetResourceVersion(), nil
		},
		Watch: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return s.sets.Watch(ctx, only(o))
		},
		Interrupted: a.ledger.interrupted,
		Handle:      func(ch feed.Change[*unstructured.Unstructured]) { a.onSet(s, ch) },
	}
}

func pointers[T any](items []T) []*T {
	all := make([]*T, len(items))
	for i := range items {
		all[i] = &items[i]
	}
	return all
}
