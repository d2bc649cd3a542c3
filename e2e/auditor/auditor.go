package auditor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/sliceshift/sliceshift/e2e/auditor/judge"
)

// storageInterval is the number of sample intervals between two full reads of all volumes. A full read is slower and
// costs more than reading the changed volumes.
const storageInterval = 4

// Auditor watches one move. Start creates it, Finish ends it.
type Auditor struct {
	options Options
	sides   [2]*side
	// sameCluster: both sides are one API server. oneNamespace: and one namespace.
	sameCluster, oneNamespace bool
	// ordinals is the application's full range when the audit began.
	ordinals []int32

	// live is set while the watches run. Only checks during that time count as checks of the move.
	live              atomic.Bool
	ledger            *ledger
	state             *state
	replicas, volumes *sampler
	storage           *sampler
	all               []follower

	// background runs a check; slots bounds how many read at once.
	background func(func(context.Context))
	slots      chan struct{}

	watching, checking         sync.WaitGroup
	stopWatching, stopChecking context.CancelFunc
	// ended returns why the watches ended before Finish.
	ended  func() error
	once   sync.Once
	report Report
}

// Start connects to both sides, records where every volume is, and watches until Finish is called or the context ends.
// It returns when the first full read is judged. The move may begin then.
func Start(ctx context.Context, o Options) (*Auditor, error) {
	o, err := o.complete()
	if err != nil {
		return nil, fmt.Errorf("audit options: %w", err)
	}
	a := &Auditor{options: o, ledger: newLedger(o.Clock), slots: make(chan struct{}, maxChecks)}
	if err := a.connect(ctx); err != nil {
		return nil, err
	}
	if err := a.untilAnswered(ctx, a.begin); err != nil {
		return nil, fmt.Errorf("first look at %s and %s: %w", a.sides[judge.Source], a.sides[judge.Destination], err)
	}
	a.replicas, a.volumes, a.storage = newSampler(a.sampleReplicas), newSampler(a.sampleChanged), newSampler(a.sampleAll)
	if err := a.watch(ctx); err != nil {
		return nil, err
	}
	return a, nil
}

func (a *Auditor) connect(ctx context.Context) error {
	for i, o := range [2]Side{a.options.Source, a.options.Destination} {
		s, err := connect(ctx, judge.SideIndex(i), o)
		if err != nil {
			return err
		}
		a.sides[i] = s
	}
	from, to := a.sides[judge.Source], a.sides[judge.Destination]
	a.sameCluster = from.cluster == to.cluster
	if a.sameCluster {
		to.store = judge.Source
	}
	a.oneNamespace = a.sameCluster && from.Namespace == to.Namespace
	if a.oneNamespace && from.Set == to.Set {
		return fmt.Errorf("source and destination are the same set %s", from)
	}
	return nil
}

// begin reads the ranges and the volumes that later reads are judged against.
func (a *Auditor) begin(ctx context.Context) error {
	ranges, err := phase(ctx, a, func(ctx context.Context, s *side) (judge.SliceState, error) { return s.slice(ctx) })
	if err != nil {
		return err
	}
	if ranges[judge.Source].UID == "" {
		return fmt.Errorf("set %s does not exist", a.sides[judge.Source])
	}
	a.ordinals = nil
	for _, r := range ranges {
		for ordinal := r.Start; r.Owns(ordinal); ordinal++ {
			a.ordinals = append(a.ordinals, ordinal)
		}
	}
	slices.Sort(a.ordinals)
	a.ordinals = slices.Compact(a.ordinals)
	for _, s := range a.sides {
		s.templates = ranges[judge.Source].Templates
	}
	a.state = newState(judge.NewServed(ranges, a.ordinals))
	if a.options.InPlace {
		a.state.inPlace = newInPlace()
	}
	// Nothing is judged yet, so one read is enough. A volume and a claim that name each other belong together.
	found, err := phase(ctx, a, func(ctx context.Context, s *side) (judge.VolumeSide, error) { return s.storage(ctx) })
	if err != nil {
		return err
	}
	for _, i := range judge.BothSides() {
		a.record(judge.Bindings(found[i], found[i]), i)
	}
	return nil
}

// watch starts everything that runs until Finish.
func (a *Auditor) watch(ctx context.Context) error {
	watching, stopWatching := context.WithCancel(ctx)
	checking, stopChecking := context.WithCancel(ctx)
	a.stopWatching, a.stopChecking = stopWatching, stopChecking
	a.background = func(check func(context.Context)) {
		a.checking.Go(func() { check(checking) })
	}
	a.all = a.feeds()
	err := errors.Join(a.relist(ctx), a.untilAnswered(ctx, a.replicas.settle), a.untilAnswered(ctx, a.storage.settle))
	if err != nil {
		stopWatching()
		stopChecking()
		a.checking.Wait()
		return fmt.Errorf("first look: %w", err)
	}
	a.state.do(func(s *state) { s.inPlace.mountInitial(s.seen[judge.Source].claims) })
	a.live.Store(true)
	a.ended = watching.Err
	for _, f := range a.all {
		a.watching.Go(func() { f.Run(watching) })
	}
	for s, interval := range map[*sampler]time.Duration{
		a.replicas: a.options.SampleInterval,
		a.volumes:  a.options.SampleInterval,
		a.storage:  storageInterval * a.options.SampleInterval,
	} {
		a.watching.Go(func() { s.run(watching, interval) })
	}
	return nil
}

// relist lists the objects of every feed again, so that no feed lags.
func (a *Auditor) relist(ctx context.Context) error {
	for _, f := range a.all {
		if err := a.untilAnswered(ctx, f.Relist); err != nil {
			return err
		}
	}
	return nil
}

// Blame records that the ordinal was broken by hand. From then on I4 does not count it as held down by the move.
func (a *Auditor) Blame(ordinal int32) {
	a.state.do(func(s *state) { s.blamed[ordinal] = true })
}

// side is one end of the move with its connection.
type side struct {
	Side
	index judge.SideIndex
	core  kubernetes.Interface
	sets  dynamic.ResourceInterface
	// cluster identifies the API server: the uid of its namespace kube-system.
	cluster types.UID
	// store is the side whose volumes and attachments are watched for this side. It is the source when both sides are
	// one cluster.
	store judge.SideIndex
	// templates are the names of the source's claim templates.
	templates []string
}

// connect opens the side's connections and reads the cluster's identity.
func connect(ctx context.Context, index judge.SideIndex, o Side) (*side, error) {
	config := rest.CopyConfig(o.Config)
	config.QPS = -1
	config.UserAgent = "sliceshift-auditor"
	// client-go shares one connection between all clients whose configurations are equal. A separate dialer keeps the
	// auditor off the engine's connection.
	dial := config.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 10 * time.Second}).DialContext
	}
	config.Dial = dial
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("connect to cluster %s: %w", o.Name, err)
	}
	sets, err := dynamic.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("connect to cluster %s: %w", o.Name, err)
	}
	typed := rest.CopyConfig(config)
	typed.ContentType = "application/vnd.kubernetes.protobuf"
	typed.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	core, err := kubernetes.NewForConfigAndClient(typed, client)
	if err != nil {
		return nil, fmt.Errorf("connect to cluster %s: %w", o.Name, err)
	}
	system, err := core.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("identify cluster %s by its namespace %s: %w", o.Name, metav1.NamespaceSystem, err)
	}
	return &side{
		Side:    o,
		index:   index,
		store:   index,
		core:    core,
		sets:    sets.Resource(o.Resource).Namespace(o.Namespace),
		cluster: system.UID,
	}, nil
}

// String names the set for messages.
func (s *side) String() string {
	return fmt.Sprintf("%s/%s in %s", s.Namespace, s.Set, s.Name)
}
