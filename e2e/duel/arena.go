package duel

import (
	"context"
	"fmt"
	"sync"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/internal/clusters"
	sliceapi "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// arena is the cluster on which scripts are played.
type arena struct {
	client client.Client
	cache  cache.Cache

	mu sync.Mutex
	// sides maps each namespace to the side that receives the events of its pods.
	sides map[string]*side
}

// newArena prepares a cluster for that many concurrent scripts. Both controllers must already run.
func newArena(ctx context.Context, config *rest.Config, lanes int) (*arena, error) {
	unthrottled := rest.CopyConfig(config)
	unthrottled.QPS = -1
	scheme := clusters.NewScheme()
	if err := admissionregistrationv1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	a := &arena{sides: map[string]*side{}}
	var err error
	if a.client, err = client.New(unthrottled, client.Options{Scheme: scheme}); err != nil {
		return nil, err
	}
	namespaces := map[string]cache.Config{}
	for lane := range lanes {
		for _, native := range []bool{true, false} {
			namespaces[namespaceOf(lane, native)] = cache.Config{}
		}
	}
	if a.cache, err = cache.New(unthrottled, cache.Options{Scheme: scheme, DefaultNamespaces: namespaces}); err != nil {
		return nil, err
	}
	if err := a.prepare(ctx, namespaces); err != nil {
		return nil, err
	}
	return a, a.start(ctx)
}

func namespaceOf(lane int, native bool) string {
	if native {
		return fmt.Sprintf("duel-%d-native", lane)
	}
	return fmt.Sprintf("duel-%d-ours", lane)
}

func (a *arena) prepare(ctx context.Context, namespaces map[string]cache.Config) error {
	objects := []client.Object{&storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: storageClass}, Provisioner: "kubernetes.io/no-provisioner",
	}}
	for _, kind := range refusals {
		objects = append(objects, kind.policy(), kind.binding())
	}
	for name := range namespaces {
		objects = append(objects, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	for _, object := range objects {
		if err := a.client.Create(ctx, object); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating %T %s: %w", object, object.GetName(), err)
		}
	}
	for name := range namespaces {
		err := wait.PollUntilContextTimeout(ctx, lookAgain, time.Minute, true, func(ctx context.Context) (bool, error) {
			return a.client.Get(ctx, client.ObjectKey{Namespace: name, Name: "default"}, &corev1.ServiceAccount{}) == nil, nil
		})
		if err != nil {
			return fmt.Errorf("namespace %s has no ServiceAccount: %w", name, err)
		}
	}
	return nil
}

// start fills the cache and starts recording the events of pods.
func (a *arena) start(ctx context.Context) error {
	pods, err := a.cache.GetInformer(ctx, &corev1.Pod{}, cache.BlockUntilSynced(false))
	if err != nil {
		return err
	}
	if _, err := pods.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { a.record(object, false) },
		UpdateFunc: func(_, object any) { a.record(object, false) },
		DeleteFunc: func(object any) { a.record(object, true) },
	}); err != nil {
		return err
	}
	others := []client.Object{&corev1.PersistentVolumeClaim{}, &appsv1.ControllerRevision{}, &appsv1.StatefulSet{}, &sliceapi.StatefulSet{}}
	for _, object := range others {
		if _, err := a.cache.GetInformer(ctx, object, cache.BlockUntilSynced(false)); err != nil {
			return err
		}
	}
	go func() { _ = a.cache.Start(ctx) }()
	if !a.cache.WaitForCacheSync(ctx) {
		return fmt.Errorf("the caches of the duel were not filled: %w", context.Cause(ctx))
	}
	return nil
}

func (a *arena) record(object any, gone bool) {
	if tombstone, is := object.(toolscache.DeletedFinalStateUnknown); is {
		object = tombstone.Obj
	}
	pod, is := object.(*corev1.Pod)
	if !is {
		return
	}
	a.mu.Lock()
	side := a.sides[pod.Namespace]
	a.mu.Unlock()
	if side != nil {
		side.events.see(pod, gone)
	}
}

func (a *arena) enter(s *side) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sides[s.namespace] = s
}

// lookAgain is the interval between two reads of an awaited state, from a cache.
const lookAgain = 50 * time.Millisecond

// storageClass is the class of all claims. Only provide creates volumes for it.
const storageClass = "duel"
