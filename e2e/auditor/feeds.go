package auditor

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
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
		core := s.core.CoreV1()
		all = append(all,
			follow(a, "pods of "+s.String(), core.Pods(s.Namespace), func(ch feed.Change[*corev1.Pod]) { a.onPod(s, ch) }),
			follow(a, "claims of "+s.String(), core.PersistentVolumeClaims(s.Namespace), func(ch feed.Change[*corev1.PersistentVolumeClaim]) { a.onClaim(s, ch) }),
			follow(a, "disruption budgets of "+s.String(), s.core.PolicyV1().PodDisruptionBudgets(s.Namespace), func(ch feed.Change[*policyv1.PodDisruptionBudget]) { a.onBudget(s, ch) }),
			follow(a, "set "+s.String(), oneSet{s.sets, s.Set}, func(ch feed.Change[*unstructured.Unstructured]) { a.onSet(s, ch) }))
		if s.index == judge.Source || !a.sameCluster {
			watcher := a.newVolumeWatch(s)
			all = append(all,
				follow(a, "volumes in "+s.Name, core.PersistentVolumes(), watcher.onVolume),
				follow(a, "attachments in "+s.Name, s.core.StorageV1().VolumeAttachments(), watcher.onAttachment))
		}
	}
	return all
}

// list is a list of API objects.
type list interface {
	metav1.ListInterface
	runtime.Object
}

// readable is the part of a typed client that a feed needs.
type readable[L list] interface {
	List(context.Context, metav1.ListOptions) (L, error)
	Watch(context.Context, metav1.ListOptions) (watch.Interface, error)
}

// follow returns a feed of the objects of one resource.
func follow[L list, P feed.Object](a *Auditor, name string, kind readable[L], handle func(feed.Change[P])) follower {
	list := func(ctx context.Context, o metav1.ListOptions) (all []P, rv string, err error) {
		list, err := kind.List(ctx, o)
		if err != nil {
			return nil, "", err
		}
		err = meta.EachListItem(list, func(item runtime.Object) error {
			all = append(all, item.(P))
			return nil
		})
		return all, list.GetResourceVersion(), err
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

// maxTorn bounds how often a sample reads again because something changed. The next event starts a new sample anyway.
const maxTorn = 8

// minPause keeps the samples of a busy application from overloading its API servers.
const minPause = 2 * time.Millisecond

// sampler takes a sample at every event. Events during a sample share the next one.
type sampler struct {
	woken chan struct{}
	// take takes one sample; judged is false if the state kept changing.
	take func(context.Context) (judged bool, err error)
}

func newSampler(take func(context.Context) (bool, error)) *sampler {
	return &sampler{woken: make(chan struct{}, 1), take: take}
}

// wake requests a sample that begins after this call.
func (s *sampler) wake() {
	select {
	case s.woken <- struct{}{}:
	default:
	}
}

// run takes samples until the context ends, at least one every interval.
func (s *sampler) run(ctx context.Context, interval time.Duration) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.woken:
		case <-ticker.C:
		}
		// A failed read is tried again at the next event or tick.
		_, _ = s.take(ctx)
		feed.Pause(ctx, minPause)
	}
}

// settle takes samples until a sample is judged.
func (s *sampler) settle(ctx context.Context) error {
	for {
		judged, err := s.take(ctx)
		if judged {
			return nil
		}
		if ctx.Err() != nil {
			if err == nil {
				err = ctx.Err()
			}
			return err
		}
		if err != nil {
			feed.Pause(ctx, feed.RetryPause)
		}
	}
}
