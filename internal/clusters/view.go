package clusters

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slicesapi "github.com/sliceshift/sliceshift/slices/v1alpha1"
	"github.com/sliceshift/sliceshift/workload"
)

// syncFor bounds the first filling of a view.
const syncFor = 20 * time.Second

// View is a cached, watched view of one namespace and of the cluster's volumes. It
// is shared: it stops when its last subscriber leaves.
type View struct {
	client.Reader
	connection *Connection
	scope      Scope
	stop       context.CancelFunc

	mu          sync.Mutex
	subscribers map[*subscription]struct{}
	// kept is what is kept of the cluster's objects, and weights what each weighs.
	kept    *tab
	weights map[string]int64
	// full is true once there was no room for one: then nothing is shown any more.
	full bool
}

// Scope is what a view shows.
type Scope struct {
	Namespace string
	// Kind is the apiVersion of the StatefulSets that are shown beside those of apps/v1; the
	// cluster must serve it. Empty: none.
	Kind string
}

type subscription struct{ notify func() }

// Watch returns the view of a namespace, filled, and calls notify after every
// change in it until leave is called. notify must not block.
func (c *Connection) Watch(ctx context.Context, scope Scope, notify func()) (view *View, leave func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	view, found := c.views[scope]
	if !found {
		if view, err = c.newView(ctx, scope); err != nil {
			return nil, nil, fmt.Errorf("cluster %s: watching namespace %s: %w", c.name, scope.Namespace, err)
		}
		c.views[scope] = view
	}
	entry := &subscription{notify}
	view.mu.Lock()
	view.subscribers[entry] = struct{}{}
	view.mu.Unlock()
	return view, func() { c.unsubscribe(view, entry) }, nil
}

func (c *Connection) unsubscribe(view *View, entry *subscription) {
	c.mu.Lock()
	defer c.mu.Unlock()
	view.mu.Lock()
	defer view.mu.Unlock()
	delete(view.subscribers, entry)
	if len(view.subscribers) == 0 {
		view.close()
		if c.views[view.scope] == view {
			delete(c.views, view.scope)
		}
	}
}

func (c *Connection) newView(ctx context.Context, scope Scope) (*View, error) {
	// The view outlives the call that made it: it belongs to its subscribers.
	running, stop := context.WithCancel(unheld(context.WithoutCancel(ctx)))
	view := &View{connection: c, scope: scope, stop: stop, subscribers: map[*subscription]struct{}{}, kept: &tab{of: c.guard.allowance}, weights: map[string]int64{}}
	objects, err := cache.New(c.config, cache.Options{
		HTTPClient: c.http, Scheme: c.scheme, Mapper: c.mapper,
		DefaultNamespaces: map[string]cache.Config{scope.Namespace: {}},
		// What is watched is never changed in place by us, and it may be large.
		DefaultTransform:             view.keep,
		DefaultUnsafeDisableDeepCopy: new(true),
		ReaderFailOnMissingInformer:  true,
	})
	if err != nil {
		stop()
		return nil, err
	}
	if err := objects.IndexField(ctx, &corev1.PersistentVolume{}, DiskField, disks); err != nil {
		stop()
		return nil, err
	}
	view.Reader = objects
	shown := []client.Object{
		&appsv1.StatefulSet{}, &corev1.Pod{}, &policyv1.PodDisruptionBudget{}, &corev1.PersistentVolumeClaim{},
		&corev1.PersistentVolume{}, &storagev1.VolumeAttachment{}, &corev1.Service{},
	}
	if kind := workload.Of(scope.Kind); kind.APIVersion() != workload.NativeVersion {
		shown = append(shown, kind.New(metav1.ObjectMeta{}))
	}
	for _, object := range shown {
		informer, err := objects.GetInformer(ctx, object, cache.BlockUntilSynced(false))
		if err == nil {
			_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
				AddFunc: func(any) { view.changed() }, UpdateFunc: func(any, any) { view.changed() }, DeleteFunc: view.dropped,
			})
		}
		if err != nil {
			view.close()
			return nil, err
		}
	}
	go func() { _ = objects.Start(running) }() // it returns when the view is stopped
	waiting, cancel := context.WithTimeout(ctx, syncFor)
	defer cancel()
	defer context.AfterFunc(running, cancel)()
	filled := objects.WaitForCacheSync(waiting)
	if err := view.shown(); err != nil {
		view.close()
		return nil, err
	}
	if !filled {
		view.close()
		return nil, errors.Join(errors.New("the first lists were not answered"), waiting.Err())
	}
	return view, nil
}

// DiskField is the field by which a view finds the volumes of one disk, as Disk names it.
const DiskField = "disk"

// Disk names the disk of a CSI volume: its driver and handle. Of other kinds it is empty: what
// they say may be another disk on every machine.
func Disk(volume *corev1.PersistentVolume) string {
	if volume.Spec.CSI == nil {
		return ""
	}
	return volume.Spec.CSI.Driver + "/" + volume.Spec.CSI.VolumeHandle
}

func disks(object client.Object) []string {
	volume, _ := object.(*corev1.PersistentVolume)
	if volume == nil || Disk(volume) == "" {
		return nil
	}
	return []string{Disk(volume)}
}

// close ends the view and returns what it has kept.
func (v *View) close() {
	v.stop()
	v.kept.close()
}

func (v *View) changed() {
	v.mu.Lock()
	defer v.mu.Unlock()
	for entry := range v.subscribers {
		entry.notify()
	}
}

// slimStatuses keeps what says why a container does not run.
func slimStatuses(statuses []corev1.ContainerStatus) {
	for i := range statuses {
		s := &statuses[i]
		statuses[i] = corev1.ContainerStatus{
			Name:                 s.Name,
			State:                corev1.ContainerState{Waiting: s.State.Waiting, Terminated: slimEnd(s.State.Terminated)},
			LastTerminationState: corev1.ContainerState{Terminated: slimEnd(s.LastTerminationState.Terminated)},
		}
	}
}

func slimEnd(ended *corev1.ContainerStateTerminated) *corev1.ContainerStateTerminated {
	if ended == nil {
		return nil
	}
	return &corev1.ContainerStateTerminated{Reason: ended.Reason, ExitCode: ended.ExitCode}
}

// slim drops what no decision reads from an object before it is cached. The
// StatefulSet and the PodDisruptionBudget keep their managed fields: they name the
// foreign writer.
func slim(in any) any {
	object, err := meta.Accessor(in)
	if err != nil {
		return in // a tombstone has no metadata and nothing to drop
	}
	switch object := in.(type) {
	case *appsv1.StatefulSet, *slicesapi.StatefulSet, *policyv1.PodDisruptionBudget:
		return in
	case *corev1.Pod:
		object.Spec.Containers, object.Spec.InitContainers = nil, nil
		slimStatuses(object.Status.InitContainerStatuses)
		slimStatuses(object.Status.ContainerStatuses)
	}
	object.SetManagedFields(nil)
	if annotations := object.GetAnnotations(); annotations != nil {
		delete(annotations, corev1.LastAppliedConfigAnnotation)
	}
	return in
}
