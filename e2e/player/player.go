// Package player simulates, for the pods of movers in an embedded cluster, the components that the cluster lacks: the
// kubelet that runs them, and the load balancer in front of them. kwok, which simulates the other kubelets, ignores
// these pods (e2e/cluster/stages/config.yaml). So a move by method Copy copies real bytes. Pods with ProgramKey as a
// label and as an annotation are run as well: they are applications that write during a move.
//
// The cluster's own scheduler assigns a node to a pod, and its own binder binds the claims. From then on the player
// acts like a kubelet:
//
//   - a claim is mounted only when it and its volume are bound to each other, by name and UID. The mount
//     is the folder of a hostPath or local volume, the device of a local volume, or a mount of a CSI
//     driver (Options.Volumes). Of other kinds there are emptyDir and downwardAPI: a pod with any other
//     volume fails, such as one with the token of its ServiceAccount;
//   - the init container runs first; each container is the real program, started with the arguments and
//     variables of the pod; paths below a mount and the listening address are replaced by those of this
//     machine;
//   - annotations that a downwardAPI volume names are files, rewritten when they change;
//   - states, exit codes and termination messages are in the pod's status; a deleted pod gets SIGTERM,
//     after its grace period SIGKILL, and its object is deleted after its process has ended;
//   - a pod that has run for activeDeadlineSeconds fails. No container is restarted or probed: a pod
//     whose process runs is Ready.
//
// Every pod has an address 10.x.y.z, and listens on 127.x.y.z: the machine is one network for both clusters. A Service
// of type LoadBalancer gets an address of that network in its status. Senders of the own cluster reach a Service of
// type ClusterIP. Both forward to the pod that is currently behind them.
//
// Ports of the movers' pods are forwarded through the API server, as with any kubelet, to the address on which the pod
// listens.
//
// A test injects faults by On, at the steps of a pod.
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
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes/copy/manifest"
)

// ProgramKey is a label and an annotation of additional pods that the player runs. It finds them by the label; kwok
// ignores them because of the annotation. The value is the program of their one container.
const ProgramKey = "e2e.sliceshift.io/program"

// Options configure the player of a cluster.
type Options struct {
	// Config reaches the cluster as its administrator.
	Config *rest.Config
	// Program is the path of the mover.
	Program string
	// Programs are the paths of the programs of other pods, by the value of their ProgramKey.
	Programs map[string]string
	// Dir is the folder for the pods' folders, with their logs, and the player's own log, player.log. They remain.
	Dir string
	// Volumes mounts the volumes of a CSI driver; nil if there is no driver.
	Volumes Volumes
	// Enforces reports whether NetworkPolicies are enforced, as by a network plugin: a pod in a namespace with one that
	// restricts its connections starts without any network. nil is a cluster without such a plugin.
	Enforces func() bool
}

// Volumes serves the volumes of a CSI driver on the node of the cluster.
type Volumes interface {
	// Serves reports whether a volume belongs to the driver.
	Serves(volume *corev1.PersistentVolume) bool
	// Mount returns the path at which a volume is mounted for a pod. After an error the caller should try again.
	Mount(ctx context.Context, pod *corev1.Pod, volume *corev1.PersistentVolume) (string, error)
	// Unmount unmounts everything that is mounted for a pod. After an error the caller should try again.
	Unmount(ctx context.Context, pod *corev1.Pod) error
}

// Player runs for one cluster until it is stopped.
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

// Start starts a player. It returns when the existing pods and Services have been seen.
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

// Stop kills all processes of the pods, and leaves the pods' objects unchanged, like a machine that loses power.
func (p *Player) Stop() {
	p.stop()
	p.running.Wait()
	_ = p.file.Close()
}

// watch follows the pods of movers and of programs, and the Services of migrations, and starts the port-forwarding.
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

// follow passes all objects of a kind that have a label to tell, and returns when the existing objects have been
// passed.
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

// gone returns the object of a deletion; after an interrupted watch it is the object's last known state.
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

// On calls do at each step of each pod, before the step happens. do may block, which delays the step. off unregisters
// do.
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

// retry is the interval between two requests to an API server that does not answer.
const retry = 100 * time.Millisecond

// Step is a stage in the life of a pod.
type Step string

// The steps of a pod, in their order. Each is reported before it happens, except Started, which is reported when the
// process runs.
const (
	StepMount   Step = "mount"   // before its volumes are mounted
	StepKey     Step = "key"     // before the init container starts
	StepStart   Step = "start"   // before the mover, or another program, starts
	StepStarted Step = "started" // it runs
	StepEnded   Step = "ended"   // its process has ended; before its status is written
	StepDelete  Step = "delete"  // the pod was deleted and its process has ended; before its object is deleted
)

// Moment is a step of a pod. With it a test injects faults, then or later.
type Moment struct {
	Step Step
	// Pod is the last state that its kubelet saw.
	Pod     *corev1.Pod
	kubelet *kubelet
}

// Kill kills the pod's process (SIGKILL). If none runs, the next process is not started, and counts as ended with 137.
func (m Moment) Kill() { m.kubelet.kill() }

// Silence cuts the node off until Speak: no state of the pod is written to the API server, and no change there is
// seen. The process continues to run.
func (m Moment) Silence() { m.kubelet.silence(true) }

// Speak ends Silence.
func (m Moment) Speak() { m.kubelet.silence(false) }

// Freeze freezes the whole node, including the pod's process, until Thaw.
func (m Moment) Freeze() {
	m.Silence()
	m.kubelet.signal(syscall.SIGSTOP)
}

// Thaw ends Freeze.
func (m Moment) Thaw() {
	m.kubelet.signal(syscall.SIGCONT)
	m.Speak()
}
