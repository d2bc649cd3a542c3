package downtime

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/sliceshift/sliceshift/e2e/fixture"
)

// sight is one observation of a pod of the ordinal.
type sight struct {
	at  time.Time
	uid types.UID
	// serves is true while the pod is Ready and not terminating.
	serves bool
}

// errNotOver is the error of an outage that has not ended, or not begun.
var errNotOver = errors.New("the outage is not over")

// outage returns the one time in which no pod served, after a pod had served and until a pod served again. Sights are in
// the order of their times. It is an error if there is no such time, or more than one: then the figure is not that of a
// move.
func outage(sights []sight) (time.Duration, error) {
	serving := map[types.UID]bool{}
	var since time.Time
	var gaps []time.Duration
	begun := false
	for _, s := range sights {
		if s.serves {
			serving[s.uid] = true
		} else {
			delete(serving, s.uid)
		}
		switch up := len(serving) > 0; {
		case up && !since.IsZero():
			gaps, since = append(gaps, s.at.Sub(since)), time.Time{}
		case up:
			begun = true
		case begun && since.IsZero():
			since = s.at
		}
	}
	switch {
	case !since.IsZero():
		return 0, fmt.Errorf("%w: no pod of the ordinal is Ready", errNotOver)
	case len(gaps) == 0:
		return 0, fmt.Errorf("%w: a pod of the ordinal was Ready all the time", errNotOver)
	case len(gaps) > 1:
		return 0, fmt.Errorf("no pod of the ordinal was Ready %d times: %v", len(gaps), gaps)
	}
	return gaps[0], nil
}

// watcher observes the pods of one ordinal in both clusters.
type watcher struct {
	stop    context.CancelFunc
	running []informers.SharedInformerFactory

	mu     sync.Mutex
	sights []sight
}

// watch begins to observe the pods of a name in a namespace, and returns when it has seen the existing ones.
func watch(ctx context.Context, namespace, pod string, clusters ...kubernetes.Interface) (*watcher, error) {
	ctx, stop := context.WithCancel(ctx)
	w := &watcher{stop: stop}
	for _, client := range clusters {
		factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace), informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, pod).String()
		}))
		handled, err := factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(o any) { w.see(o, false) },
			UpdateFunc: func(_, o any) { w.see(o, false) },
			DeleteFunc: func(o any) { w.see(o, true) },
		})
		if err != nil {
			stop()
			return nil, err
		}
		w.running = append(w.running, factory)
		factory.Start(ctx.Done())
		if !cache.WaitForCacheSync(ctx.Done(), handled.HasSynced) {
			stop()
			return nil, fmt.Errorf("the pods of namespace %s were not read: %w", namespace, ctx.Err())
		}
	}
	return w, nil
}

func (w *watcher) see(o any, gone bool) {
	if unknown, is := o.(cache.DeletedFinalStateUnknown); is {
		o = unknown.Obj
	}
	pod, is := o.(*corev1.Pod)
	if !is {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sights = append(w.sights, sight{time.Now(), pod.UID, !gone && pod.DeletionTimestamp == nil && fixture.IsReady(pod)})
}

// outage waits until a pod serves again after an outage, and returns the outage. It ends the watch.
func (w *watcher) outage(ctx context.Context) (time.Duration, error) {
	defer w.close()
	for {
		w.mu.Lock()
		sights := append([]sight(nil), w.sights...)
		w.mu.Unlock()
		lasted, err := outage(sights)
		if !errors.Is(err, errNotOver) {
			return lasted, err
		}
		if passed := fixture.Pass(ctx, lookAgain); passed != nil {
			return 0, fmt.Errorf("%w: %w", err, passed)
		}
	}
}

// close ends the watch.
func (w *watcher) close() {
	w.stop()
	for _, factory := range w.running {
		factory.Shutdown()
	}
}

// lookAgain is the poll interval for conditions that are not measured.
const lookAgain = 20 * time.Millisecond
