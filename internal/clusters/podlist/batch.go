package podlist

import (
	"context"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Shared lists all pods of a namespace once for all who ask for them while such a list is under way:
// the next one begins a while after that one has come, and is for everybody who has asked by then. So no list
// is older than who asks for it, and what a hundred migrations of one namespace look at before they
// stop an ordinal costs little more than what one looks at. The pods that they get are the same: who
// changes one changes a copy.
type Shared struct {
	client.Client
	// Pods lists them.
	Pods    client.Reader
	Batches *Batches
}

// Booking has what is read under the context that it returns booked on nobody in particular, since who asked
// first may be gone before it comes. When it has come, settle returns what was booked, and pay books it on
// each who gets it, or says why there is no room.
type Booking func(ctx context.Context) (reading context.Context, settle func() (pay Pay))

// Pay books what has come on who reads under a context.
type Pay func(ctx context.Context) error

// Batches are the lists of one connection. They are safe for concurrent use.
type Batches struct {
	booking Booking

	mu     sync.Mutex
	queues map[queueKey]*queue
}

// NewBatches are of a connection whose answers are booked so.
func NewBatches(booking Booking) *Batches {
	return &Batches{booking: booking, queues: map[queueKey]*queue{}}
}

// queueKey is what is listed: all pods of a namespace, exactly as they are, or as the API server's watch
// cache has them.
type queueKey struct {
	namespace string
	exact     bool
}

// queue is there while a list is under way; next is the one after it.
type queue struct{ next *batch }

// After a list there is none for restPerPod for each pod that it has shown, and no longer than longestRest: with a
// thousand pods in a namespace the lists would take the API servers more than the writes do. How long a list took
// says nothing of what it costs: one that must be exact waits until the watch cache has heard of what was written
// last, up to 100 ms (k8s.io/apiserver, storage/cacher: progressRequestPeriod), and nobody works meanwhile.
const (
	restPerPod  = 500 * time.Microsecond
	longestRest = 500 * time.Millisecond
)

func restAfter(pods int) time.Duration { return min(time.Duration(pods)*restPerPod, longestRest) }

// batch is a list with all who wait for it.
type batch struct {
	key queueKey
	// oldest is the resource version that the list must show at least, where it need not be exact.
	oldest string
	// read asks for it. It is for everybody who waits: it ends early only when all of them have gone.
	read    func(*batch) error
	cancel  context.CancelFunc
	waiting int
	// done is closed when the list has come, or err.
	done chan struct{}
	list corev1.PodList
	err  error
	// settle ends what is booked while it is read, and pay books it on each who gets it, once it has come.
	settle func() Pay
	pay    Pay
}

// List implements client.Reader.
func (b Shared) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	pods, isPods := list.(*corev1.PodList)
	key, oldest, shareable := queueOf(opts)
	if !isPods || !shareable {
		return b.Client.List(ctx, list, opts...)
	}
	mine := b.Batches.join(b.batch(ctx, key, oldest))
	select {
	case <-mine.done:
	case <-ctx.Done():
		b.Batches.leave(mine)
		return ctx.Err()
	}
	if mine.err != nil {
		return mine.err
	}
	if err := mine.pay(ctx); err != nil {
		return err
	}
	*pods = corev1.PodList{TypeMeta: mine.list.TypeMeta, ListMeta: mine.list.ListMeta, Items: slices.Clone(mine.list.Items)}
	return nil
}

// queueOf is what is listed with these options, and whether others can be given the same.
func queueOf(opts []client.ListOption) (key queueKey, oldest string, shareable bool) {
	var asked client.ListOptions
	asked.ApplyOptions(opts)
	key = queueKey{namespace: asked.Namespace, exact: asked.Raw == nil}
	if asked.Namespace == "" || asked.LabelSelector != nil || asked.FieldSelector != nil || asked.Limit != 0 || asked.Continue != "" {
		return key, "", false
	}
	if key.exact {
		return key, "", true
	}
	rest := *asked.Raw
	oldest, rest.ResourceVersion = rest.ResourceVersion, ""
	return key, oldest, rest == metav1.ListOptions{ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan}
}

// batch is a list for the one who asks first.
func (b Shared) batch(ctx context.Context, key queueKey, oldest string) *batch {
	reading, settle := b.Batches.booking(context.WithoutCancel(ctx))
	shared, cancel := context.WithCancel(reading)
	read := func(of *batch) error {
		opts := []client.ListOption{client.InNamespace(key.namespace)}
		if !key.exact {
			opts = append(opts, &client.ListOptions{Raw: &metav1.ListOptions{
				ResourceVersion: of.oldest, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
			}})
		}
		return b.Pods.List(shared, &of.list, opts...)
	}
	return &batch{key: key, oldest: oldest, read: read, cancel: cancel, waiting: 1, done: make(chan struct{}), settle: settle}
}

// join returns the list that is to be waited for: the next one, which others may wait for already, or
// this one, which begins where none is under way.
func (l *Batches) join(mine *batch) *batch {
	l.mu.Lock()
	defer l.mu.Unlock()
	q := l.queues[mine.key]
	switch {
	case q == nil:
		l.queues[mine.key] = &queue{}
		go l.run(mine)
	case q.next != nil && q.next.serves(mine):
		mine.cancel()
		q.next.waiting++
		return q.next
	case q.next != nil:
		go mine.run()
	default:
		q.next = mine
	}
	return mine
}

// serves says whether a list that has not begun can be for another one too, and sees to it that it is.
func (b *batch) serves(other *batch) bool {
	if b.key.exact {
		return true
	}
	order, err := resourceversion.CompareResourceVersion(other.oldest, b.oldest)
	if err == nil && order > 0 {
		b.oldest = other.oldest
	}
	return err == nil
}

// leave is for one who waits no longer.
func (l *Batches) leave(b *batch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if b.waiting--; b.waiting > 0 {
		return
	}
	b.cancel()
	if q := l.queues[b.key]; q != nil && q.next == b {
		q.next = nil // nobody may join what was cancelled
	}
}

// run reads one list after the other, until nobody waits.
func (l *Batches) run(b *batch) {
	for ; b != nil; b = l.following(b.key) {
		b.run()
		<-time.After(restAfter(len(b.list.Items)))
	}
}

func (b *batch) run() {
	b.err = b.read(b)
	b.pay = b.settle()
	b.cancel()
	close(b.done)
}

// following is the list that waits, which begins now: nobody joins it any more.
func (l *Batches) following(key queueKey) *batch {
	l.mu.Lock()
	defer l.mu.Unlock()
	next := l.queues[key].next
	if l.queues[key].next = nil; next == nil {
		delete(l.queues, key)
	}
	return next
}
