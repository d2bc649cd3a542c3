package observe

import (
	"context"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/scope"
	"github.com/sliceshift/sliceshift/volumes"
)

// listing is an exact list of the pods of a side that was asked for before it is needed: the
// API server may take 100 ms for it (see scope.Reads), and much else can be read and written
// meanwhile.
type listing struct {
	found observed
	// read waits for it. A panic while it was read is one of each caller.
	read func() error
	// done is closed when it has come, or failed.
	done chan struct{}
}

// aheadAtMost bounds how long a list is waited for.
const aheadAtMost = time.Minute

// listAhead asks for it. The pass that takes it may be the next one, when the context of this one has ended.
func listAhead(ctx context.Context, of endpoint.Endpoint) *listing {
	l := &listing{found: observed{endpoint: of}, done: make(chan struct{})}
	reading, cancel := context.WithTimeout(context.WithoutCancel(ctx), aheadAtMost)
	l.read = sync.OnceValue(func() error { return l.found.listPods(reading, of.Live) })
	go func() {
		defer close(l.done)
		defer cancel()
		defer func() { _ = recover() }() // it is one of the pass that takes the list
		_ = l.read()
	}()
	return l
}

// pods waits for the list.
func (l *listing) pods(ctx context.Context) ([]corev1.Pod, error) {
	select {
	case <-l.done:
		return l.found.pods, l.read()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// ahead are the lists that are on their way.
type ahead struct {
	// gate is of both sides, asked for when the ordinal's volumes were secured, for its stop by
	// the next pass. If that does something else, the lists are too old for another one.
	gate map[plan.SideName]*listing
	// left is of the side that the ordinal's volumes were taken from, asked for as soon as
	// they were, for its start.
	left    *listing
	ordinal int32
}

// before forgets, before a write, the list that the write would make untrue: it may let
// somebody use the volumes again where they were taken from, or takes one more from there.
func (a *ahead) before(effect plan.Effect, sameCluster bool) {
	if a.left != nil && (effect.Side == a.left.found.endpoint.Side || effect.TakesAway(sameCluster)) {
		a.left = nil
	}
}

// LookAhead asks for what is needed next, after a write, and remembers what the write has shown.
func (e *Observer) LookAhead(ctx context.Context, effect plan.Effect) {
	switch {
	case effect.Verb == plan.CreateNamespace:
		e.namespaceSeen = e.Clock.Now()
	case effect.Verb == plan.CarryVolume && effect.Volume.Verb == volumes.Secure:
		e.ahead.gate = map[plan.SideName]*listing{plan.SourceSide: listAhead(ctx, e.Source), plan.DestinationSide: listAhead(ctx, e.Destination)}
	case effect.TakesAway(e.SameCluster()):
		of := e.At(effect.Side)
		if effect.Volume.Verb == volumes.Point { // it is given to the side that is written
			of = e.At(effect.Side.Other())
		}
		e.ahead.left, e.ahead.ordinal = listAhead(ctx, of), effect.Ordinal
	}
}

// BeforeWrite forgets what an effect that is about to be written would make untrue.
func (e *Observer) BeforeWrite(effect plan.Effect) {
	e.ahead.before(effect, e.SameCluster())
	if effect.Writer.Kind != "" {
		e.seenWriters = seenWriters{}
	}
	if effect.Kind != "" {
		e.copies.stale = staleOf(e.copies.stale, effect)
	}
}

// EndPass forgets what was only for the pass that ends.
func (e *Observer) EndPass() { e.ahead.gate = nil }

// gateOf is the list for a stop: the one that was asked for after the last write, or else a new
// one. What it shows may be older than the StatefulSets and budgets that are read besides.
func (a *ahead) gateOf(ctx context.Context, of endpoint.Endpoint) *listing {
	if l := a.gate[of.Side]; l != nil {
		return l
	}
	return listAhead(ctx, of)
}

// leftOf is the list for the start of an ordinal; nil when there is none of that side.
func (a *ahead) leftOf(side plan.SideName, sc scope.Reads) *listing {
	if a.left == nil || sc.Left != side || a.left.found.endpoint.Side != side || *sc.Ordinal != a.ordinal {
		return nil
	}
	return a.left
}

// shows says whether the ordinal had no pod, and nobody used its claims, when no pod could begin to any
// more. Where the list does not show that, pods must be listed again: they may be gone since.
func (l *listing) shows(ctx context.Context, ordinal int32, templates []string) bool {
	if l == nil {
		return false
	}
	if _, err := l.pods(ctx); err != nil {
		return false
	}
	set := l.found.endpoint.Set
	own := func(pod corev1.Pod) bool { return pod.Name == plan.PodName(set, ordinal) }
	if slices.ContainsFunc(l.found.pods, own) {
		return false
	}
	users := l.found.users()
	for _, template := range templates {
		if len(users[plan.ClaimName(template, set, ordinal)]) > 0 { // its own pod is not among them
			return false
		}
	}
	return true
}
