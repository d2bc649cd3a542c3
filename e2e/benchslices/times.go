package main

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
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/e2e/fixture"
)

// many is the number of pods of a timed set.
const many = 200

// sample is what one contender took in one round.
type sample struct{ create, ordered, tenPercent, down, writes, refused float64 }

// times lets all contenders do the same operations in turn. Ours runs in this
// process, so that its requests can be counted; events are not.
func (b *bench) times(ctx context.Context, rounds int) error {
	counts := &counter{}
	running, stop := context.WithCancel(ctx)
	defer stop()
	counted := rest.CopyConfig(b.cluster.RESTConfig())
	counted.Wrap(func(next http.RoundTripper) http.RoundTripper { return &counting{counts, next} })
	if err := fixture.RunSlices(running, counted); err != nil {
		return err
	}
	b.say("warming up: a new resource definition keeps the API server busy")
	if err := b.warmUp(ctx); err != nil {
		return err
	}
	samples := map[string][]sample{}
	for round := range rounds {
		first := round % len(contenders)
		for _, c := range slices.Concat(contenders[first:], contenders[:first]) {
			s, err := b.sample(ctx, c, round, counts)
			if err != nil {
				return err
			}
			samples[c.name] = append(samples[c.name], s)
			b.say("round %d of %d, %-12s create %.1f s, ordered %.1f s, 10%% %.1f s, down %.1f s, %.2f writes an update", round+1, rounds, c.name, s.create, s.ordered, s.tenPercent, s.down, s.writes)
		}
	}
	b.settle(ctx, counts)
	b.medians(samples)
	return nil
}

// warmUp lets all contenders do what is measured later.
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

// settledFor is how long nothing may be written once all is done.
const settledFor = 30 * time.Second

func (b *bench) settle(ctx context.Context, counts *counter) {
	pass(ctx, time.Second) // the last counts of a status come together
	b.say("does our controller write anything in the next %s?", settledFor)
	before := counts.writes.Load()
	pass(ctx, settledFor)
	b.figures.SettledWrites = counts.writes.Load() - before
}

// pass waits for a span of the world's time.
func pass(ctx context.Context, span time.Duration) {
	timer := time.NewTimer(span)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

func (b *bench) sample(ctx context.Context, c contender, round int, counts *counter) (sample, error) {
	name := fmt.Sprintf("%s-%d", c.name, round)
	if err := b.namespace(ctx, name); err != nil {
		return sample{}, err
	}
	parallel := subject{b, c, client.ObjectKey{Namespace: name, Name: "parallel"}}
	ordered := subject{b, c, client.ObjectKey{Namespace: name, Name: "ordered"}}
	var s sample
	err := measure(
		step{&s.create, func() error { return parallel.create(ctx, many, appsv1.ParallelPodManagement) }},
		step{&s.tenPercent, func() error {
			return parallel.patch(ctx, `{"spec":{"updateStrategy":{"rollingUpdate":{"maxUnavailable":"10%"}},"template":{"metadata":{"annotations":{"revision":"2"}}}}}`, many)
		}},
		step{&s.down, func() error { return parallel.patch(ctx, `{"spec":{"replicas":0}}`, 0) }},
		step{new(float64), func() error { return ordered.create(ctx, many, appsv1.OrderedReadyPodManagement) }},
	)
	if err != nil {
		return s, err
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	changes, err := b.watch(watching, ordered)
	if err != nil {
		return s, err
	}
	writes, refused := counts.writes.Load(), counts.refused.Load()
	if s.ordered, err = timed(func() error {
		return ordered.patch(ctx, `{"spec":{"template":{"metadata":{"annotations":{"revision":"2"}}}}}`, many)
	}); err != nil {
		return s, err
	}
	if c != native {
		s.writes = float64(counts.writes.Load()-writes) / many
	} else {
		// Each change of the set but ours is a status that was written; each update of a
		// pod is a deletion and a creation.
		s.writes = float64(changes.Load()-1+2*many) / many
	}
	s.refused = float64(counts.refused.Load()-refused) / many
	return s, measure(step{new(float64), func() error { return ordered.patch(ctx, `{"spec":{"replicas":0}}`, 0) }})
}

type step struct {
	took *float64
	do   func() error
}

func measure(steps ...step) error {
	for _, step := range steps {
		var err error
		if *step.took, err = timed(step.do); err != nil {
			return err
		}
	}
	return nil
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

// medians fills the figures in.
func (b *bench) medians(samples map[string][]sample) {
	figure := func(of func(sample) float64) pair {
		return pair{Ours: median(samples[ours.name], of), Never: median(samples[never.name], of), Native: median(samples[native.name], of)}
	}
	b.figures.Create = figure(func(s sample) float64 { return s.create })
	b.figures.RollOrdered = figure(func(s sample) float64 { return s.ordered })
	b.figures.RollTenPercent = figure(func(s sample) float64 { return s.tenPercent })
	b.figures.ScaleDown = figure(func(s sample) float64 { return s.down })
	b.figures.WritesPerUpdate = figure(func(s sample) float64 { return s.writes })
	b.figures.RefusedOurs = median(samples[ours.name], func(s sample) float64 { return s.refused })
}

func median(samples []sample, of func(sample) float64) float64 {
	values := make([]float64, 0, len(samples))
	for _, s := range samples {
		values = append(values, of(s))
	}
	slices.Sort(values)
	at := len(values) / 2
	if len(values)%2 == 0 {
		return (values[at-1] + values[at]) / 2
	}
	return values[at]
}

// counter counts the writes of our controller, other than events.
type counter struct{ writes, refused atomic.Int64 }

type counting struct {
	*counter
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (c *counting) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := c.next.RoundTrip(request)
	if request.Method != http.MethodGet && !strings.HasSuffix(request.URL.Path, "/events") && !strings.Contains(request.URL.Path, "/events/") {
		if err == nil && response.StatusCode < http.StatusBadRequest {
			c.writes.Add(1)
		} else {
			c.refused.Add(1)
		}
	}
	return response, err
}
