package clusters

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/workload"
)

// View is a cached, watched view of one namespace and of the cluster's volumes, for one subscriber. All views of the
// namespace share its objects. All views of the connection share the volumes.
type View struct {
	connection *Connection
	subscriber *subscriber
	space      *store
	volumes    *store
}

// Scope is the content of a view.
type Scope struct {
	Namespace string
	// Kind is the apiVersion of the StatefulSets in addition to those of apps/v1. The cluster must serve it. Empty means
	// none.
	Kind string
}

func (s Scope) part() part {
	if s == clusterWide {
		return part{shown: []client.Object{&corev1.PersistentVolume{}, &storagev1.VolumeAttachment{}}}
	}
	of := part{namespace: s.Namespace, shown: []client.Object{
		&appsv1.StatefulSet{}, &corev1.Pod{}, &policyv1.PodDisruptionBudget{}, &corev1.PersistentVolumeClaim{}, &corev1.Service{},
	}}
	if kind := workload.Of(s.Kind); kind.APIVersion() != workload.NativeVersion {
		of.shown = append(of.shown, kind.New(metav1.ObjectMeta{}))
	}
	return of
}

// clusterWide is the scope of the objects without a namespace. It is part of every view.
var clusterWide = Scope{}

// Watch returns a filled view of a namespace, and notifies the subscriber of changes until leave is called.
func (c *Connection) Watch(ctx context.Context, scope Scope, subscription Subscription) (view *View, leave func(), err error) {
	view = &View{
		connection: c, space: c.core.enter(ctx, scope), volumes: c.core.enter(ctx, clusterWide),
		subscriber: &subscriber{Subscription: subscription, namespace: scope.Namespace, asked: map[uint64]struct{}{}},
	}
	// Changes after this point notify the subscriber. Earlier changes are in the first lists.
	c.core.hub.join(view.subscriber)
	leave = sync.OnceFunc(func() {
		c.core.hub.leave(view.subscriber)
		c.core.exit(scope, view.space)
		c.core.exit(clusterWide, view.volumes)
	})
	if err := cmp.Or(view.space.wait(ctx), view.volumes.wait(ctx), view.full()); err != nil {
		leave()
		return nil, nil, fmt.Errorf("cluster %s: watching namespace %s: %w", c.name, scope.Namespace, err)
	}
	return view, leave, nil
}

// trusted returns an error if a part of the view could not be kept, because the view then shows nothing.
func (v *View) trusted() error {
	if err := v.full(); err != nil {
		return fmt.Errorf("cluster %s: %w", v.connection.name, err)
	}
	return nil
}

func (v *View) full() error {
	return cmp.Or(v.space.trusted(), v.volumes.trusted(), v.connection.core.share.pays(v.connection.payer))
}

// Get implements client.Reader.
func (v *View) Get(ctx context.Context, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
	if err := v.trusted(); err != nil {
		return err
	}
	v.connection.core.hub.ask(v.subscriber, questionAt(object, key))
	switch object.(type) {
	case *corev1.PersistentVolume, *storagev1.VolumeAttachment:
		return v.volumes.Get(ctx, key, object, opts...)
	default:
		if err := v.space.Get(ctx, key, object, opts...); err != nil {
			return err
		}
		return whole(v.connection.name, key, object)
	}
}

// List implements client.Reader.
func (v *View) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if err := v.trusted(); err != nil {
		return err
	}
	v.note(list, opts)
	switch list.(type) {
	case *corev1.PersistentVolumeList, *storagev1.VolumeAttachmentList:
		return v.volumes.List(ctx, list, opts...)
	default:
		if err := v.space.List(ctx, list, opts...); err != nil {
			return err
		}
		return whole(v.connection.name, client.ObjectKey{Namespace: v.subscriber.namespace}, list)
	}
}

// note subscribes to the objects of a list that the name of the set does not imply.
func (v *View) note(list client.ObjectList, opts []client.ListOption) {
	var options client.ListOptions
	options.ApplyOptions(opts)
	field := func(name string) (value string, found bool) {
		if options.FieldSelector == nil {
			return "", false
		}
		return options.FieldSelector.RequiresExactMatch(name)
	}
	switch list.(type) {
	case *corev1.PersistentVolumeList:
		if disk, found := field(DiskField); found {
			v.connection.core.hub.ask(v.subscriber, questionOfDisk(disk))
			return
		}
	case *storagev1.VolumeAttachmentList:
		if volume, found := field(VolumeField); found {
			v.connection.core.hub.ask(v.subscriber, questionAt(&corev1.PersistentVolume{}, client.ObjectKey{Name: volume}))
			return
		}
	case *corev1.ServiceList:
	default:
		return
	}
	v.connection.core.hub.wonder(v.subscriber)
}
