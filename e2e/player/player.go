package player

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes/copy/manifest"
)

// ProgramKey is a label and an annotation of pods besides those of movers: by the label they are found, by the
// annotation kwok leaves them alone. Its value is the program that their one container runs.
const ProgramKey = "e2e.sliceshift.io/program"

// Options say for which cluster a player plays.
type Options struct {
	// Config reaches the cluster as its administrator.
	Config *rest.Config
	// Program is the path of the mover.
	Program string
	// Programs are the paths of those that other pods run, by the value of their ProgramKey.
	Programs map[string]string
	// Dir is where the pods' folders are made, with their logs, and the player's own, player.log. They stay.
	Dir string
	// Volumes mounts the volumes of a CSI driver; nil: there is none.
	Volumes Volumes
}

// Volumes are those of a CSI driver, on the node of the cluster.
type Volumes interface {
	// Serves says whether a volume is one of the driver.
	Serves(volume *corev1.PersistentVolume) bool
	// Mount returns where a volume is mounted for a pod. An error is one to try again.
	Mount(ctx context.Context, pod *corev1.Pod, volume *corev1.PersistentVolume) (string, error)
	// Unmount gives back all that is mounted for a pod. An error is one to try again.
	Unmount(ctx context.Context, pod *corev1.Pod) error
}

// Player plays for one cluster until it is stopped.
type Player struct {
	options Options
	client  kubernetes.Interface
	movers  cache.Store
	log     *log.Logger
	file    *os.File
	stop    context.CancelFunc
	running sync.WaitGroup

	mu        sync.Mutex
	kubelets  map[types.UID]*kubelet
	balancers map[types.UID]*balancer
	watchers  []*func(Moment)
	forwards  map[net.Conn]string
	forwarded map[string]int64
}

// Start begins to play. It returns when the pods and Services that there are have been seen.
func Start(ctx context.Context, o Options) (*Player, error) {
	client, err := kubernetes.NewForConfig(o.Config)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, err
	}
	file, err := os.Create(filepath.Join(o.Dir, "player.log"))
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	p := &Player{
		options: o, client: client, log: log.New(file, "", log.Ltime|log.Lmicroseconds), file: file, stop: stop,
		kubelets: map[types.UID]*kubelet{}, balancers: map[types.UID]*balancer{}, forwards: map[net.Conn]string{}, forwarded: map[string]int64{},
	}
	if err := p.watch(ctx); err != nil {
		p.Stop()
		return nil, err
	}
	return p, nil
}

// Stop ends all processes of the pods, and leaves the pods as they are: so does a machine that loses power.
func (p *Player) Stop() {
	p.stop()
	p.running.Wait()
	_ = p.file.Close()
}

// watch follows the pods of movers and of programs, and the Services of migrations, and forwards ports.
func (p *Player) watch(ctx context.Context) error {
	onPods := cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { p.seePod(ctx, o) },
		UpdateFunc: func(_, o any) { p.seePod(ctx, o) },
		DeleteFunc: func(o any) { p.missPod(o) },
	}
	onServices := cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { p.seeService(ctx, o) },
		UpdateFunc: func(_, o any) { p.seeService(ctx, o) },
		DeleteFunc: func(o any) { p.missService(o) },
	}
	pods := func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Core().V1().Pods().Informer()
	}
	services := func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Core().V1().Services().Informer()
	}
	var err error
	if p.movers, err = p.follow(ctx, manifest.RoleLabelKey, pods, onPods); err != nil {
		return err
	}
	if _, err = p.follow(ctx, ProgramKey, pods, onPods); err != nil {
		return err
	}
	if _, err = p.follow(ctx, api.MigrationLabelKey, services, onServices); err != nil {
		return err
	}
	return p.forward(ctx)
}

// follow tells of all objects of a kind that have a label, and returns when those that there are have been told.
func (p *Player) follow(ctx context.Context, label string, of func(informers.SharedInformerFactory) cache.SharedIndexInformer, tell cache.ResourceEventHandler) (cache.Store, error) {
	factory := informers.NewSharedInformerFactoryWithOptions(p.client, 0, informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = label }))
	informer := of(factory)
	handled, err := informer.AddEventHandler(tell)
	if err != nil {
		return nil, err
	}
	factory.Start(ctx.Done())
	p.running.Go(func() {
		<-ctx.Done()
		factory.Shutdown()
	})
	if !cache.WaitForCacheSync(ctx.Done(), handled.HasSynced) {
		return nil, fmt.Errorf("the objects with label %s in %s were not read: %w", label, p.options.Config.Host, ctx.Err())
	}
	return informer.GetStore(), nil
}

func (p *Player) seePod(ctx context.Context, o any) {
	pod, ok := o.(*corev1.Pod)
	if !ok || ctx.Err() != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	k := p.kubelets[pod.UID]
	if k != nil {
		k.see(pod, false)
		return
	}
	k = newKubelet(p, pod, filepath.Join(p.options.Dir, fmt.Sprintf("%s_%s_%s", pod.Namespace, pod.Name, pod.UID)))
	p.kubelets[pod.UID] = k
	p.running.Go(func() { k.run(ctx) })
}

// gone is the object of a deletion, which a watch that broke off tells by its last state.
func gone[T any](o any) (object T, ok bool) {
	if unknown, is := o.(cache.DeletedFinalStateUnknown); is {
		o = unknown.Obj
	}
	object, ok = o.(T)
	return object, ok
}

func (p *Player) missPod(o any) {
	pod, ok := gone[*corev1.Pod](o)
	if !ok {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if k := p.kubelets[pod.UID]; k != nil {
		k.see(pod, true)
		delete(p.kubelets, pod.UID)
	}
}

// On has do called at each step of each pod, before the step is made. do may wait: then the step is late. It
// returns what ends it.
func (p *Player) On(do func(Moment)) (off func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	watcher := &do
	p.watchers = append(p.watchers, watcher)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.watchers = slices.DeleteFunc(p.watchers, func(w *func(Moment)) bool { return w == watcher })
	}
}

func (p *Player) tell(m Moment) {
	p.mu.Lock()
	watchers := slices.Clone(p.watchers)
	p.mu.Unlock()
	for _, each := range watchers {
		(*each)(m)
	}
}

// retry is how long the player waits before it asks an API server again that has not answered.
const retry = 100 * time.Millisecond
