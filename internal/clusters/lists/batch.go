package lists

import (
	"context"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/internal/disk"
)

// Shared shares lists of all pods of a namespace among concurrent callers. While a list is in progress, further callers wait
// for the next one, which starts some time after the current one. A list is never older than its request. A
// hundred migrations of one namespace cost little more than one. The callers get the same list, and must change neither it nor
// its pods. A list of volumes with disk.Only is trimmed, too, and not shared.
type Shared struct {
	client.Client
	// Lists lists the pods, and the disks of volumes.
	Lists   client.Reader
	Batches *Batches
}

// Booking returns a context whose reads are charged to no caller, because the first caller may leave before the list is
// complete. settle ends this charge. pay then charges a caller, or returns an error if its allowance is used up.
type Booking func(ctx context.Context) (reading context.Context, settle func() (pay Pay))

// Pay charges a complete list to the reader of a context.
type Pay func(ctx context.Context) error

// Batches are the shared lists of one connection. They are safe for concurrent use.
type Batches struct {
	booking Booking

	mu     sync.Mutex
	queues map[queueKey]*queue
}

// NewBatches returns the batches of a connection.
func NewBatches(booking Booking) *Batches {
	return &Batches{booking: booking, queues: map[queueKey]*queue{}}
}

// queueKey identifies a list: all pods of a namespace, either exact or from the API server's watch cache.
type queueKey struct {
	namespace string
	exact     bool
}

// queue exists while a list is in progress. next is the following list.
type queue struct{ next *batch }

// After a list, the next one waits restPerPod for each pod, up to longestRest. With a thousand pods in a namespace, the
// lists would otherwise cost the API servers more than the writes. The duration of a list does not show its cost. An exact
// list waits idle until the watch cache has caught up with the last write, up to 100 ms (k8s.io/apiserver, storage/cacher:
// progressRequestPeriod).
const (
	restPerPod  = 500 * time.Microsecond
	longestRest = 500 * time.Millisecond
)

func restAfter(pods int) time.Duration { return min(time.Duration(pods)*restPerPod, longestRest) }

// batch is a list with all callers that wait for it.
type batch struct {
	key queueKey
	// oldest is the minimum resource version of a list that need not be exact.
	oldest string
	// read makes the request. It is canceled only when all callers have left.
	read    func(*batch) error
	cancel  context.CancelFunc
	waiting int
	// done is closed when list or err is set.
	done chan struct{}
	list corev1.PodList
	err  error
	// settle ends the charge of the reading. pay charges each caller afterwards.
	settle func() Pay
	pay    Pay
}

// List implements client.Reader.
func (b Shared) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if _, are := list.(*corev1.PersistentVolumeList); are && slices.Contains(opts, client.ListOption(disk.Only)) {
		return b.Lists.List(ctx, list, opts...)
	}
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
	*pods = corev1.PodList{TypeMeta: mine.list.TypeMeta, ListMeta: mine.list.ListMeta, Items: slices.Clip(mine.list.Items)}
	return nil
}

// queueOf returns the key of a list with these options, and whether it can be shared.
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

// batch returns a list for its first caller.
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
		return b.Lists.List(shared, &of.list, opts...)
	}
	return &batch{key: key, oldest: oldest, read: read, cancel: cancel, waiting: 1, done: make(chan struct{}), settle: settle}
}

// join returns the list to wait for: the next one, which other callers may share, or the given one, which starts at once if
// no list is in progress.
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

// serves reports whether a waiting list can serve another request too, and raises its minimum version if necessary.
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

// leave removes a caller that no longer waits.
func (l *Batches) leave(b *batch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if b.waiting--; b.waiting > 0 {
		return
	}
	b.cancel()
	if q := l.queues[b.key]; q != nil && q.next == b {
		q.next = nil // a canceled list must not be joined
	}
}

// run reads lists in sequence, until no caller waits.
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

// following returns the waiting list, which starts now. It cannot be joined any more.
func (l *Batches) following(key queueKey) *batch {
	l.mu.Lock()
	defer l.mu.Unlock()
	next := l.queues[key].next
	if l.queues[key].next = nil; next == nil {
		delete(l.queues, key)
	}
	return next
}
