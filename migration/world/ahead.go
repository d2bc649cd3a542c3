package world

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/sliceshift/sliceshift/migration/dependencies"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/volumes"
)

// listing is a consistent list of the pods of a side, requested before it is needed. The API server may take 100 ms
// for it (see planner.Reads), and other reads and writes can run in parallel.
type listing struct {
	found observed
	// read waits for the list. A panic during the read is raised again in every caller.
	read func() error
	// done is closed when the list was read, or the read failed.
	done chan struct{}
}

// aheadAtMost limits how long a list may take.
const aheadAtMost = time.Minute

// listAhead starts the list, and keeps the pods that are used. It may be used by the next pass, after the context of this
// one has ended.
func listAhead(ctx context.Context, of endpoint.Endpoint, keep func(*observed)) *listing {
	l := &listing{found: observed{endpoint: of}, done: make(chan struct{})}
	reading, cancel := context.WithTimeout(context.WithoutCancel(ctx), aheadAtMost)
	l.read = sync.OnceValue(func() error {
		err := l.found.listPods(reading, of.Live)
		keep(&l.found)
		return err
	})
	go func() {
		defer close(l.done)
		defer cancel()
		defer func() { _ = recover() }() // it is raised again in the pass that uses the list
		_ = l.read()
	}()
	return l
}

// keepAll keeps all pods, because budgets may select pods of others.
func keepAll(*observed) {}

// keepOwn keeps the pods of the set, and those that mount its claims. Each ordinal that is down has such a list, and a
// namespace may have thousands of pods of others.
func keepOwn(f *observed) {
	var own []corev1.Pod
	for i := range f.pods {
		pod := &f.pods[i]
		_, is := dependencies.OrdinalOf(f.endpoint.Set, pod.Name)
		if is || slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
			return v.PersistentVolumeClaim != nil && isClaimOf(f.endpoint.Set, v.PersistentVolumeClaim.ClaimName)
		}) {
			own = append(own, *pod)
		}
	}
	f.pods = own
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

// ahead holds the lists in progress.
type ahead struct {
	// gate holds lists of both sides, started when the ordinal's volumes were secured, for its stop in the next pass.
	// If that pass does something else, the lists are too old for a later one.
	gate map[plan.SideName]*listing
	// left holds, by ordinal, a list of the side that the ordinal's volumes were detached from, started right after that,
	// for its start. It stays valid while others of the ordinals in flight are stopped, moved and started.
	left map[int32]*listing
}

// before discards, before a write, the lists that the write would outdate: the write may allow pods to use the volumes
// again on that side, or detaches another volume there. A write for another ordinal does neither.
func (a *ahead) before(effect plan.Effect, sameCluster bool) {
	maps.DeleteFunc(a.left, func(ordinal int32, l *listing) bool {
		concerns := !effect.OfOrdinal() || effect.Ordinal == ordinal
		return concerns && (effect.Side == l.found.endpoint.Side || effect.TakesAway(sameCluster))
	})
}

// LookAhead starts the reads that are needed next, after a write, and caches the result of the write.
func (e *Observer) LookAhead(ctx context.Context, effect plan.Effect) {
	switch {
	case effect.Does(volumes.Creates, plan.KindNamespace):
		e.namespaceSeen = e.Clock.Now()
	case effect.Secures():
		e.ahead.gate = map[plan.SideName]*listing{plan.SourceSide: listAhead(ctx, e.Source, keepAll), plan.DestinationSide: listAhead(ctx, e.Destination, keepAll)}
	case effect.TakesAway(e.SameCluster()):
		of := e.At(effect.Side)
		if effect.Gives() { // the volume is detached from the other side than the one written
			of = e.At(effect.Side.Other())
		}
		if e.ahead.left == nil {
			e.ahead.left = map[int32]*listing{}
		}
		e.ahead.left[effect.Ordinal] = listAhead(ctx, of, keepOwn)
	case effect.Starts():
		delete(e.ahead.left, effect.Ordinal)
	}
}

// BeforeWrite discards cached reads that the effect outdates.
func (e *Observer) BeforeWrite(effect plan.Effect) {
	e.ahead.before(effect, e.SameCluster())
	if effect.Writer.Kind != "" {
		e.seenWriters = seenWriters{}
	}
	if effect.Kind != "" {
		e.copies.stale = staleOf(e.copies.stale, effect)
	}
}

// EndPass discards the lists that are valid in one pass only.
func (e *Observer) EndPass() { e.ahead.gate = nil }

// gateOf returns the list for a stop: the one started after the last write, or else a new one. It may be older than
// the StatefulSets and budgets of the same pass.
func (a *ahead) gateOf(ctx context.Context, of endpoint.Endpoint) *listing {
	if l := a.gate[of.Side]; l != nil {
		return l
	}
	return listAhead(ctx, of, keepAll)
}

// leftOf returns the list for the start of an ordinal; nil if there is none of that side.
func (a *ahead) leftOf(side plan.SideName, sc planner.Reads) *listing {
	if sc.Ordinal == nil || sc.Left != side {
		return nil
	}
	if l := a.left[*sc.Ordinal]; l != nil && l.found.endpoint.Side == side {
		return l
	}
	return nil
}

// shows reports whether the list proves that, when no pod could start to use the ordinal's claims any more, the
// ordinal had no pod and no pod used its claims. Otherwise pods must be listed again, because those in the list may
// have ended.
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
		if len(users[plan.ClaimName(template, set, ordinal)]) > 0 { // the ordinal's own pod was excluded above
			return false
		}
	}
	return true
}
