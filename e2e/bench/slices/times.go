package slices

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/measure"
	"github.com/sliceshift/sliceshift/internal/heap"
)

// many is the number of pods of a timed set.
const many = 200

// sample holds the times of one contender for each repetition of an operation.
type sample struct{ create, ordered, tenPercent, down, writes, refused []float64 }

func (s *sample) add(o *sample) {
	s.create, s.ordered = append(s.create, o.create...), append(s.ordered, o.ordered...)
	s.tenPercent, s.down = append(s.tenPercent, o.tenPercent...), append(s.down, o.down...)
	s.writes, s.refused = append(s.writes, o.writes...), append(s.refused, o.refused...)
}

// times lets all contenders perform the same operations in turn. Ours runs in this process, so that its requests can
// be counted; events are not.
func (b *bench) times(ctx context.Context) error {
	running, stop := context.WithCancel(ctx)
	defer stop()
	sent := &measure.Requests{Skip: isEvent}
	defer heap.Bound()() // as in the manager
	if err := fixture.RunSlices(running, sent.Watching(b.cluster.RESTConfig())); err != nil {
		return err
	}
	b.Say("warming up: a new resource definition keeps the API server busy")
	if err := b.warmUp(ctx); err != nil {
		return err
	}
	samples := map[string]*sample{}
	for _, c := range contenders {
		samples[c.name] = &sample{}
	}
	for round := range b.rounds {
		taken, err := b.round(ctx, round, sent)
		if err != nil {
			return err
		}
		for name, s := range taken {
			samples[name].add(s)
			b.Say("round %d of %d, %-12s create %.2f s, ordered %.1f s, 10%% %.1f s, down %.2f s, %.2f writes an update", round+1, b.rounds, name,
				median(s.create), median(s.ordered), median(s.tenPercent), median(s.down), median(s.writes))
		}
	}
	b.medians(samples)
	return b.settle(ctx, sent)
}

// warmUp lets all contenders perform the measured operations once.
func (b *bench) warmUp(ctx context.Context) error {
	if err := b.namespace(ctx, "warm-up"); err != nil {
		return err
	}
	for _, c := range contenders {
		set := subject{b, c, client.ObjectKey{Namespace: "warm-up", Name: c.name}}
		if err := set.create(ctx, many, appsv1.ParallelPodManagement); err != nil {
			return err
		}
		if err := set.patch(ctx, `{"spec":{"replicas":0}}`, 0); err != nil {
			return err
		}
	}
	return nil
}

// settledFor is how long nothing may be written after all operations.
const settledFor = 30 * time.Second

func (b *bench) settle(ctx context.Context, sent *measure.Requests) error {
	if err := fixture.Pass(ctx, time.Second); err != nil { // the last counts of a status come together
		return err
	}
	b.Say("does our controller write anything in the next %s?", settledFor)
	before := sent.Counts()
	err := fixture.Pass(ctx, settledFor)
	since := sent.Counts().Sub(before)
	b.figures.SettledWrites = int64(since.Writes - since.Refused)
	return err
}

// cycles is how often a set is created and scaled to 0 in one round. Each cycle takes about a second, and other load
// in that second must not decide the result. A multiple of three lets each contender be first equally often, because
// the previous contender leaves work behind.
const cycles = 6

// turn returns the order of the contenders in their n-th turn.
func turn(n int) []contender {
	begin := n % len(contenders)
	return slices.Concat(contenders[begin:], contenders[:begin])
}

// round lets each contender perform all operations. All contenders perform one operation before the next one, because
// the speed of the machine may change within a minute.
func (b *bench) round(ctx context.Context, round int, sent *measure.Requests) (map[string]*sample, error) {
	taken := map[string]*sample{}
	for _, c := range contenders {
		taken[c.name] = &sample{}
		if err := b.namespace(ctx, fmt.Sprintf("%s-%d", c.name, round)); err != nil {
			return nil, err
		}
	}
	each := func(name string, order []contender, do func(subject, *sample) error) error {
		for _, c := range order {
			set := subject{b, c, client.ObjectKey{Namespace: fmt.Sprintf("%s-%d", c.name, round), Name: name}}
			if err := do(set, taken[c.name]); err != nil {
				return err
			}
		}
		return nil
	}
	for cycle := range cycles {
		name, order := fmt.Sprintf("parallel-%d", cycle), turn(round+cycle)
		if err := each(name, order, func(set subject, s *sample) error {
			return timed(ctx, &s.create, func() error { return set.create(ctx, many, appsv1.ParallelPodManagement) })
		}); err != nil {
			return nil, err
		}
		if err := each(name, order, func(set subject, s *sample) error {
			return timed(ctx, &s.down, func() error { return set.patch(ctx, toZero, 0) })
		}); err != nil {
			return nil, err
		}
	}
	if err := each("rolled", turn(round), func(set subject, s *sample) error { return b.roll(ctx, set, s) }); err != nil {
		return nil, err
	}
	return taken, each("ordered", turn(round), func(set subject, s *sample) error { return b.rollOrdered(ctx, set, s, sent) })
}

const (
	tenPercent = `{"spec":{"updateStrategy":{"rollingUpdate":{"maxUnavailable":"10%"}},"template":{"metadata":{"annotations":{"revision":"2"}}}}}`
	oneByOne   = `{"spec":{"template":{"metadata":{"annotations":{"revision":"2"}}}}}`
	toZero     = `{"spec":{"replicas":0}}`
)

// roll times the rollout of a set of which a tenth of the pods may be down.
func (b *bench) roll(ctx context.Context, set subject, s *sample) error {
	if err := set.create(ctx, many, appsv1.ParallelPodManagement); err != nil {
		return err
	}
	if err := timed(ctx, &s.tenPercent, func() error { return set.patch(ctx, tenPercent, many) }); err != nil {
		return err
	}
	return set.patch(ctx, toZero, 0)
}

// rollOrdered times the rollout of a set whose pods are replaced one after another, and counts its writes.
func (b *bench) rollOrdered(ctx context.Context, set subject, s *sample, sent *measure.Requests) error {
	if err := set.create(ctx, many, appsv1.OrderedReadyPodManagement); err != nil {
		return err
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	changes, err := b.watch(watching, set)
	if err != nil {
		return err
	}
	before := sent.Counts()
	if err := timed(ctx, &s.ordered, func() error { return set.patch(ctx, oneByOne, many) }); err != nil {
		return err
	}
	since := sent.Counts().Sub(before)
	if set.contender != native {
		s.writes = append(s.writes, float64(since.Writes-since.Refused)/many)
	} else {
		// Each change of the set except ours is a status write; each update of a pod is a deletion and a creation.
		s.writes = append(s.writes, float64(changes.Load()-1+2*many)/many)
	}
	s.refused = append(s.refused, float64(since.Refused)/many)
	return set.patch(ctx, toZero, 0)
}

// watch counts the changes of a set until ctx ends.
func (b *bench) watch(ctx context.Context, s subject) (*atomic.Int64, error) {
	watcher, err := b.client.Watch(ctx, s.list(), s.only())
	if err != nil {
		return nil, err
	}
	changes := &atomic.Int64{}
	go func() {
		defer watcher.Stop()
		for event := range watcher.ResultChan() {
			if event.Type == watch.Modified {
				changes.Add(1)
			}
		}
	}()
	return changes, nil
}

// medians fills in the figures.
func (b *bench) medians(samples map[string]*sample) {
	figure := func(of func(*sample) []float64) pair {
		return pair{Ours: median(of(samples[ours.name])), Never: median(of(samples[never.name])), Native: median(of(samples[native.name]))}
	}
	b.figures.Create = figure(func(s *sample) []float64 { return s.create })
	b.figures.RollOrdered = figure(func(s *sample) []float64 { return s.ordered })
	b.figures.RollTenPercent = figure(func(s *sample) []float64 { return s.tenPercent })
	b.figures.ScaleDown = figure(func(s *sample) []float64 { return s.down })
	b.figures.WritesPerUpdate = figure(func(s *sample) []float64 { return s.writes })
	b.figures.RefusedOurs = median(samples[ours.name].refused)
}

func median(values []float64) float64 { return measure.SpreadOf(values).Median }

// isEvent reports whether a request is about an event.
func isEvent(request *http.Request) bool {
	return strings.HasSuffix(request.URL.Path, "/events") || strings.Contains(request.URL.Path, "/events/")
}
