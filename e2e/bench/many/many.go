// Package many measures many concurrent Migrations: the real manager process, with its shipped settings, between
// embedded clusters of this machine. One run prints a table, writes out/bench-many.json, and leaves nothing running.
// It exits with 1 when a goal is missed.
//
// A run has parts, each on separate clusters, so that no part affects the next:
//
//	alone            one StatefulSet of 20 ordinals by command and one by the manager, in
//	                 turn, three times: medians
//	growth           a tenth of the Migrations, in one namespace; and the same with twice the
//	                 ordinals: the additional requests are the cost of further handoffs
//	one_namespace    all Migrations in one namespace, with one kubeconfig for each destination
//	many_namespaces  each Migration in a separate namespace, with a separate Secret that
//	                 holds the same user's kubeconfig
//
// Before the timed part, the manager moves one ordinal, so that it runs and the API servers are warm. The moves are
// observed from outside, at the API servers. An ordinal is stopped when the source's StatefulSet requests fewer
// replicas, and arrives when it is available at the destination. So the manager is timed in the same way as the
// command.
//
// Requests are those that the manager itself counts (rest_client_requests_total), from the creation of the first
// Migration to the completion of the last. They include events, and the requests before the first handoff and after
// the last. That metric counts watches as reads. It counts as writes two requests that write nothing: access reviews,
// which are created, and dry runs. All three are subtracted. FlowSchemas of each API server match only the watches and
// reviews of the manager and of its identities. The server counts the requests that it has dispatched for each
// FlowSchema. The requests stay in their original priority level. The server counts dry runs on its own. Requests a
// second include all of them.
//
// The requests of the command are counted in its process, during the handoffs only.
//
// A Migration that is not completed in time counts for the whole time. The divisor is the number of handoffs that have
// arrived by then.
package many

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/e2e/cluster"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/measure"
)

// options are the flags.
type options struct {
	migrations, ordinals, pairs int
	limit                       time.Duration
}

// usual are the options for the figures of the documentation.
var usual = options{migrations: 100, ordinals: 10, pairs: 1, limit: 8 * time.Minute}

// bench is one run.
type bench struct {
	measure.Workshop
	options options
	// manager is the path of the program.
	manager string
	figures figures
}

// Scenario declares the flags.
func Scenario(set *flag.FlagSet) *measure.Scenario {
	b := &bench{options: usual}
	o := &b.options
	set.IntVar(&o.migrations, "migrations", o.migrations, "how many Migrations run at once")
	set.IntVar(&o.ordinals, "ordinals", o.ordinals, "how many ordinals each of them moves")
	set.IntVar(&o.pairs, "pairs", o.pairs, "over how many destination clusters the Migrations are spread")
	set.DurationVar(&o.limit, "limit", o.limit, "how long the Migrations of a part may take")
	layouts := func(name string, do func(context.Context, *stage) error) measure.Part {
		return measure.Part{Name: name, Run: func(ctx context.Context) error { return b.staged(ctx, o.pairs, do) }}
	}
	return &measure.Scenario{
		Target: "bench-many", Begin: b.begin, Figures: &b.figures, Page: b.figures.page, Usual: func() bool { return *o == usual },
		Parts: []measure.Part{
			{Name: "alone", Run: func(ctx context.Context) error { return b.staged(ctx, 1, b.alone) }},
			layouts("growth", func(ctx context.Context, s *stage) (err error) {
				few := max(1, o.migrations/10)
				if b.figures.Few, err = s.layout(ctx, oneNamespace("many", few, o.ordinals)); err != nil {
					return err
				}
				b.figures.Longer, err = s.layout(ctx, oneNamespace("longer", few, 2*o.ordinals))
				return err
			}),
			layouts("one_namespace", func(ctx context.Context, s *stage) (err error) {
				b.figures.OneNamespace, err = s.layout(ctx, oneNamespace("many", o.migrations, o.ordinals))
				return err
			}),
			layouts("many_namespaces", func(ctx context.Context, s *stage) (err error) {
				b.figures.ManyNamespaces, err = s.layout(ctx, manyNamespaces(o.migrations, o.ordinals))
				return err
			}),
		},
		Done: func(seconds float64) {
			b.figures.Cores, b.figures.Seconds = runtime.NumCPU(), seconds
			b.figures.compare()
		},
		Show: func(out io.Writer) bool {
			fmt.Fprintf(out, "%d destination clusters on this machine, %d cores.\n\n", o.pairs, b.figures.Cores)
			return measure.Show(out, b.figures.rows())
		},
	}
}

func (b *bench) begin(ctx context.Context, w measure.Workshop) (end func() error, err error) {
	b.Workshop = w
	if o := b.options; o.migrations < 1 || o.ordinals < 1 || o.pairs < 1 {
		return nil, errors.New("-migrations, -ordinals and -pairs must be at least 1")
	}
	b.manager, err = w.Command(ctx, "manager")
	return func() error { return nil }, err
}

// staged measures a part on clusters of its own, of which that many are destinations.
func (b *bench) staged(ctx context.Context, destinations int, run func(context.Context, *stage) error) (err error) {
	b.Say("starting clusters")
	s, err := b.start(ctx, destinations)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	return run(ctx, s)
}

// stage holds the clusters of one part, with all shipped objects except the manager.
type stage struct {
	*bench
	source       *side
	destinations []*side
	// migrations is a client for the Migrations, which are in the source.
	migrations client.Client
}

// side is one cluster.
type side struct {
	*cluster.Cluster
	client kubernetes.Interface
	// mover is the path of the kubeconfig of the manager's identity in this cluster.
	mover string
}

// start starts a source and some destinations.
func (b *bench) start(ctx context.Context, destinations int) (*stage, error) {
	names := []string{"east"}
	for i := range destinations {
		names = append(names, fmt.Sprintf("west-%d", i))
	}
	all, err := cluster.StartAll(ctx, cluster.Options{Log: os.Stderr}, names...)
	if err != nil {
		return nil, err
	}
	s := &stage{bench: b}
	for i, at := range all {
		one := &side{Cluster: at, client: kubernetes.NewForConfigOrDie(compact(at.RESTConfig()))}
		if i == 0 {
			s.source = one
		} else {
			s.destinations = append(s.destinations, one)
		}
	}
	if err := s.install(ctx); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

// compact configures requests that cost this process and the API server little.
func compact(config *rest.Config) *rest.Config {
	config.ContentType = kruntime.ContentTypeProtobuf
	config.AcceptContentTypes = kruntime.ContentTypeProtobuf + "," + kruntime.ContentTypeJSON
	return config
}

func (s *stage) sides() []*side { return append([]*side{s.source}, s.destinations...) }

func (s *stage) stop() error {
	var all []*cluster.Cluster
	for _, one := range s.sides() {
		all = append(all, one.Cluster)
	}
	return cluster.StopAll(all)
}

func (s *stage) install(ctx context.Context) error {
	var destinations []*rest.Config
	for _, one := range s.destinations {
		destinations = append(destinations, one.RESTConfig())
	}
	var err error
	if s.migrations, err = measure.Install(ctx, s.source.RESTConfig(), destinations...); err != nil {
		return err
	}
	for _, one := range s.destinations {
		if err := measure.AllowMover(ctx, one.client); err != nil {
			return err
		}
		if one.mover, err = one.UserKubeconfig(measure.Mover); err != nil {
			return err
		}
	}
	for _, one := range s.sides() {
		if err := tellApart(ctx, one.client); err != nil {
			return fmt.Errorf("cluster %s: %w", one.Name(), err)
		}
	}
	return nil
}

// startManager runs a manager for the source, and waits until it has moved one ordinal.
func (s *stage) startManager(ctx context.Context, warmUp move) (*measure.Manager, error) {
	kubeconfig, err := s.source.UserKubeconfig(fixture.ManagerUser)
	if err != nil {
		return nil, err
	}
	manager, err := measure.StartManager(ctx, s.manager, kubeconfig, filepath.Join(s.Dir, "manager.log"))
	if err != nil {
		return nil, err
	}
	all, _, err := s.run(ctx, manager, []move{warmUp})
	if err == nil && !all[0].isCompleted() {
		err = errors.New("the manager did not move the first application")
	}
	if err != nil {
		err = manager.Explain(err)
		manager.Kill()
		return nil, err
	}
	return manager, nil
}
