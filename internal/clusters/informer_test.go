package clusters

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/internal/clusters/slim"
)

// claimOf returns a claim of a set, in one of several states.
func claimOf(set string, state int) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "data-" + set + "-0", ResourceVersion: strconv.Itoa(state)},
	}
}

// TestInformerTells: an added, changed or deleted object is stored before its event is reported, also if it changed between
// two watches.
func TestInformerTells(t *testing.T) {
	var told []string
	i := newInformer(nil, &corev1.PersistentVolumeClaim{}, nil)
	i.keep = func(in any) (any, error) { return in, nil }
	i.event = func(before, after client.Object) {
		was, is := "-", "-"
		if before != nil {
			was = before.GetName() + before.GetResourceVersion()
		}
		if after != nil {
			is = after.GetName() + after.GetResourceVersion()
			if kept, _, _ := i.index.Get(after); kept != after {
				t.Errorf("%s is told and not kept", is)
			}
		}
		told = append(told, was+" "+is)
	}
	r := reflected{i}
	expect := func(what string, err error, want ...string) {
		t.Helper()
		slices.Sort(told)
		if err != nil || !slices.Equal(told, want) {
			t.Errorf("%s: told %q, want %q: %v", what, told, want, err)
		}
		told = nil
	}
	if i.HasSynced() {
		t.Error("nothing was listed")
	}
	expect("listed", r.Replace([]any{claimOf("web", 1), claimOf("db", 1)}, "1"), "- data-db-01", "- data-web-01")
	if !i.HasSynced() {
		t.Error("all was listed")
	}
	expect("added", r.Add(claimOf("app", 2)), "- data-app-02")
	expect("changed", r.Update(claimOf("web", 3)), "data-web-01 data-web-03")
	expect("deleted", r.Delete(claimOf("app", 4)), "data-app-02 -")
	expect("never seen", r.Delete(claimOf("app", 5)))
	expect("listed anew", r.Replace([]any{claimOf("web", 6), claimOf("app", 6)}, "6"), "- data-app-06", "data-db-01 -", "data-web-03 data-web-06")
	if keys := i.index.ListKeys(); len(keys) != 2 {
		t.Errorf("kept are %q", keys)
	}
}

// TestStreamedVolumesAreSlimmedOnce: an object of a streamed list that is already shared is not changed any more.
func TestStreamedVolumesAreSlimmedOnce(t *testing.T) {
	i, times := newInformer(nil, &corev1.PersistentVolume{}, nil), 0
	i.keep = func(in any) (any, error) {
		times++
		slim.Down(in.(client.Object))
		return in, nil
	}
	i.event = func(client.Object, client.Object) {}
	r := reflected{i}
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv", Labels: map[string]string{"a": "b"}}}
	streamed, err := r.Transformer()(volume)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Replace([]any{streamed}, "1"); err != nil {
		t.Fatal(err)
	}
	found, _, err := i.index.GetByKey("pv")
	if kept, is := found.(*corev1.PersistentVolume); !is || kept.Labels != nil || times != 1 || err != nil {
		t.Errorf("kept is %v, slimmed %d times: %v", found, times, err)
	}
}

// TestNotKept: an object that cannot be kept causes no event, and a list that contains it is repeated.
func TestNotKept(t *testing.T) {
	refused := errors.New("refused")
	i := newInformer(nil, &corev1.PersistentVolumeClaim{}, nil)
	i.keep = func(any) (any, error) { return nil, refused }
	i.event = func(client.Object, client.Object) { t.Error("it is told") }
	r := reflected{i}
	for what, err := range map[string]error{"added": r.Add(claimOf("web", 1)), "listed": r.Replace([]any{claimOf("web", 1)}, "1")} {
		if !errors.Is(err, refused) || len(i.index.ListKeys()) > 0 || i.HasSynced() {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestInformerWatches: an informer lists, watches, and restarts after a failed watch.
func TestInformerWatches(t *testing.T) {
	running, stop := context.WithCancel(t.Context())
	var mu sync.Mutex
	lists, ended := 0, make(chan error, 1)
	watches := watch.NewFake()
	source := &toolscache.ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			mu.Lock()
			defer mu.Unlock()
			if lists++; lists == 1 {
				return nil, errors.New("not yet")
			}
			return &corev1.PersistentVolumeClaimList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: []corev1.PersistentVolumeClaim{*claimOf("web", 1)}}, nil
		},
		WatchFuncWithContext: func(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
			if options.SendInitialEvents != nil {
				return nil, errors.New("lists are not streamed")
			}
			return watches, nil
		},
	}
	told := make(chan string, 10)
	i := newInformer(source, &corev1.PersistentVolumeClaim{}, nil)
	i.running, i.keep, i.ended = running, func(in any) (any, error) { return in, nil }, func(err error) { ended <- err }
	i.event = func(_, after client.Object) { told <- after.GetName() }
	done := make(chan struct{})
	go func() {
		i.RunWithContext(t.Context())
		close(done)
	}()
	if err := <-ended; err == nil {
		t.Error("the first list has failed")
	}
	<-i.listed
	watches.Add(claimOf("db", 2))
	for _, want := range []string{"data-web-0", "data-db-0"} {
		if got := <-told; got != want {
			t.Errorf("told of %s, want %s", got, want)
		}
	}
	stop()
	<-done
}

// TestInformerThatEnds: no caller waits for an informer that ended before its first list was complete.
func TestInformerThatEnds(t *testing.T) {
	i := newInformer(&toolscache.ListWatch{}, &corev1.PersistentVolumeClaim{}, nil)
	ended, stop := context.WithCancel(t.Context())
	stop()
	i.running = ended
	i.RunWithContext(t.Context())
	<-i.HasSyncedChecker().Done()
	if i.HasSynced() {
		t.Error("nothing was listed")
	}
}

// TestUnfilledWakesNobody: changes before the first lists are complete wake no subscriber, and are in these lists. Changes
// of a filled store wake the subscribers.
func TestUnfilledWakesNobody(t *testing.T) {
	hub, woken := newHub(), 0
	hub.join(&subscriber{Subscription: Subscription{Set: "web", Notify: func() { woken++ }}, namespace: "shop", asked: map[uint64]struct{}{}})
	s := &store{hub: hub, Cache: shown{Reader: objects{}.reader()}, kept: &tab{}, weights: map[string]int64{}, filled: make(chan struct{})}
	claim := claimOf("web", 1)
	s.weights[nameOf(claim)] = 7
	s.event(nil, claim)
	s.event(claim, nil)
	if woken != 0 || len(s.weights) != 0 {
		t.Errorf("woken %d times, and %v is booked", woken, s.weights)
	}
	close(s.filled)
	s.event(nil, claim)
	s.event(claim, claimOf("web", 2))
	s.event(claim, nil)
	if woken != 3 {
		t.Errorf("woken %d times", woken)
	}
}

// shown is a cache of which only the reader is used.
type shown struct {
	client.Reader
	cache.Informers
}
