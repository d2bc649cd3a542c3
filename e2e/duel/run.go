// Package duel plays the same script against Kubernetes' StatefulSet controller and ours: edits of a set, faults of
// its pods and claims, writes that the API server refuses. Both controllers run on one cluster, in two namespaces,
// with the same kubelet.
//
// A script is drawn from a seed. After each step both sides settle. Then pods, claims, ControllerRevisions and status
// must be equal, and so must the events of the pods since the previous step:
//
//	of each ordinal    which pods were created, of which revision, got Ready, were deleted
//	in OrderedReady    also the order of all these events; with maxUnavailable above 1 pods
//	                   are deleted at the same time, in any order
//
// A rushed script does not wait, so that edits meet rollouts at any moment: only its end is compared.
//
// The intended differences are in one list, the explanations. Each defines when it applies, to which versions of
// Kubernetes, and where it is documented. Any other difference fails the script.
package duel

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sliceapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters"
)

// Options configure a run.
type Options struct {
	// For is how long new scripts are started.
	For time.Duration
	// Seed is the seed of the first drawn script; each later script increments it.
	Seed int
	// Lanes is the number of concurrent scripts.
	Lanes int
	// Scripts is the number of scripts, all of them drawn. 0 means the staged scripts, and then as many as time
	// allows.
	Scripts int
	// Say receives the progress each minute.
	Say func(string)
}

// replays is how often a script whose sides differed is repeated.
const replays = 2

// Run plays scripts on a cluster on which both controllers run. A script whose sides differ is repeated at the end,
// alone. The effect of a step during a rollout depends on its timing, which differs between the two sides on a loaded
// machine. Run returns the scripts that differ again.
func Run(ctx context.Context, config *rest.Config, o Options) (Report, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a, err := newArena(ctx, config, o.Lanes)
	if err != nil {
		return Report{}, err
	}
	t := newTally()
	t.total.Kubernetes = a.version
	end := time.Now().Add(o.For)
	var group sync.WaitGroup
	for lane := range o.Lanes {
		group.Go(func() {
			for {
				script, goOn := t.next(o, time.Now().After(end))
				if !goOn || ctx.Err() != nil {
					return
				}
				t.begin(lane, script)
				if err := a.play(ctx, lane, script, t); err != nil {
					o.Say(fmt.Sprintf("%s\n%s", script, err))
					t.doubt(script)
				}
				t.end(lane, script)
			}
		})
	}
	telling, told := context.WithCancel(ctx)
	var teller sync.WaitGroup
	teller.Go(func() { t.tell(telling, o.Say) })
	group.Wait()
	for _, script := range t.doubtful {
		a.playAgain(ctx, script, o, t)
	}
	told()
	teller.Wait()
	return t.report(), errors.Join(t.failures...)
}

// playAgain repeats a script whose sides differed, with no other script at the same time.
func (a *arena) playAgain(ctx context.Context, script Script, o Options, t *tally) {
	for range replays {
		if err := a.play(ctx, 0, script, newTally()); err != nil {
			err = fmt.Errorf("once more: %s\n%w", script, err)
			o.Say(err.Error())
			t.fail(err)
			return
		}
	}
	t.acquit(script)
}

// arena is the cluster on which scripts are played.
type arena struct {
	client client.Client
	cache  cache.Cache
	// version is the version of the API server, of which minor is the second number.
	version string
	minor   uint

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
	if a.version, a.minor, err = versionServed(unthrottled); err != nil {
		return nil, err
	}
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

// versionServed returns the version of an API server, and its second number: it decides which differences are expected.
func versionServed(config *rest.Config) (text string, minor uint, err error) {
	d, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return "", 0, err
	}
	info, err := d.ServerVersion()
	if err != nil {
		return "", 0, fmt.Errorf("reading the version of the API server: %w", err)
	}
	v, err := version.ParseSemantic(info.GitVersion)
	if err != nil {
		return "", 0, fmt.Errorf("the version of the API server: %w", err)
	}
	return v.String(), v.Minor(), nil
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
