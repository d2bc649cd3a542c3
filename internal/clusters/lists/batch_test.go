package lists

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// slowLister delays each list. A list shows the state at its start: its resource version is the time in milliseconds since
// the lister was created.
type slowLister struct {
	client.Client
	began time.Time
	takes time.Duration
	pods  int // in addition to the first
	err   error

	mu            sync.Mutex
	lists         int
	atOnce, worst int
}

func (s *slowLister) now() int64 { return time.Since(s.began).Milliseconds() + 1 }

func (s *slowLister) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	var asked client.ListOptions
	asked.ApplyOptions(opts)
	shows := s.now()
	if asked.Raw != nil { // a watch cache may show only the requested version
		shows, _ = strconv.ParseInt(asked.Raw.ResourceVersion, 10, 64)
	}
	s.enter(1)
	defer s.enter(-1)
	select {
	case <-time.After(s.takes):
	case <-ctx.Done():
		return ctx.Err()
	}
	if s.err != nil {
		return s.err
	}
	pods := list.(*corev1.PodList)
	pods.ResourceVersion = strconv.FormatInt(shows, 10)
	for i := range s.pods + 1 {
		pods.Items = append(pods.Items, corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: asked.Namespace, Name: "web-" + strconv.Itoa(i)}})
	}
	return nil
}

func (s *slowLister) enter(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.atOnce += n; n > 0 {
		s.lists++
	}
	s.worst = max(s.worst, s.atOnce)
}

// free charges nothing.
func free(ctx context.Context) (context.Context, func() Pay) {
	return ctx, func() Pay { return func(context.Context) error { return nil } }
}

// asking is a caller that lists pods.
type asking struct {
	after time.Duration
	// patience is the time after which it leaves. 0 means never.
	patience time.Duration
	// notOlder is the maximum age of the list at its request. Below 0, the list must be exact.
	notOlder time.Duration
}

// TestBatches: each caller gets a list that is not older than its request. A caller that has left delays no other. There is
// only one list at a time, for any number of callers.
func TestBatches(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		millis := func(name string, from, to int) time.Duration {
			return time.Duration(rapid.IntRange(from, to).Draw(rt, name)) * time.Millisecond
		}
		takes := millis("takes", 1, 50)
		asked := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) asking {
			return asking{
				after:    time.Duration(rapid.IntRange(0, 200).Draw(rt, "after")) * time.Millisecond,
				patience: time.Duration(rapid.SampledFrom([]int{0, 0, 5, 20, 60}).Draw(rt, "patience")) * time.Millisecond,
				notOlder: time.Duration(rapid.SampledFrom([]int{-1, -1, 0, 10, 100}).Draw(rt, "not older")) * time.Millisecond,
			}
		}), 1, 40).Draw(rt, "asked")
		synctest.Test(t, func(*testing.T) { checkBatches(rt, takes, asked) })
	})
}

// rested waits until the rest after the last list has passed.
func rested() {
	time.Sleep(longestRest)
	synctest.Wait()
}

func checkBatches(rt *rapid.T, takes time.Duration, asked []asking) {
	server := &slowLister{began: time.Now(), takes: takes}
	pods := Shared{server, server, NewBatches(free)}
	wrong := make([]string, len(asked))
	var group sync.WaitGroup
	for i, one := range asked {
		group.Go(func() {
			time.Sleep(one.after)
			wrong[i] = one.check(server, pods)
		})
	}
	group.Wait()
	rested()
	for i, what := range wrong {
		if what != "" {
			rt.Errorf("%+v: %s", asked[i], what)
		}
	}
	if server.worst > 2 { // one that is exact, and one that is not
		rt.Errorf("%d lists at once", server.worst)
	}
	if len(pods.Batches.queues) > 0 {
		rt.Errorf("what is under way was not forgotten: %v", pods.Batches.queues)
	}
}

// check makes the request, and returns what is wrong with the answer.
func (a asking) check(server *slowLister, pods Shared) string {
	ctx, opts, needs := context.Background(), []client.ListOption{client.InNamespace("shop")}, server.now()
	if a.patience > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, a.patience)
		defer cancel()
	}
	if a.notOlder >= 0 {
		needs = max(1, needs-a.notOlder.Milliseconds())
		opts = append(opts, &client.ListOptions{Raw: &metav1.ListOptions{
			ResourceVersion: strconv.FormatInt(needs, 10), ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
		}})
	}
	start, list := time.Now(), corev1.PodList{}
	err := pods.List(ctx, &list, opts...)
	took := time.Since(start)
	switch shows, _ := strconv.ParseInt(list.ResourceVersion, 10, 64); {
	case err != nil && (a.patience == 0 || !errors.Is(err, context.DeadlineExceeded) || took != a.patience):
		return fmt.Sprintf("%v after %v", err, took)
	case err != nil:
		return ""
	case shows < needs:
		return fmt.Sprintf("shows %d, not what was written until %d", shows, needs)
	case took > 2*server.takes+restAfter(1):
		return fmt.Sprintf("took %v, and a list takes %v", took, server.takes)
	case len(list.Items) != 1 || list.Items[0].Namespace != "shop":
		return fmt.Sprintf("shows %v", list.Items)
	}
	return ""
}

// TestBatchOfMany: a hundred callers that arrive while a list is in progress share the next one, and its memory.
func TestBatchOfMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &slowLister{began: time.Now(), takes: 10 * time.Millisecond}
		pods := Shared{server, server, NewBatches(free)}
		lists := make([]corev1.PodList, 101)
		var group sync.WaitGroup
		for i := range lists {
			group.Go(func() {
				if err := pods.List(t.Context(), &lists[i], client.InNamespace("shop")); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		rested()
		if server.lists != 2 {
			t.Errorf("%d lists", server.lists)
		}
		memory, added := map[*corev1.Pod]bool{}, map[*corev1.Pod]bool{}
		for i := range lists {
			memory[&lists[i].Items[0]] = true
			lists[i].Items = append(lists[i].Items, corev1.Pod{})
			added[&lists[i].Items[1]] = true
		}
		if len(memory) != server.lists {
			t.Errorf("the callers have %d copies of %d lists", len(memory), server.lists)
		}
		if len(added) != len(lists) {
			t.Error("what one has added to its list is in that of others")
		}
	})
}

// TestRest: lists of many pods in sequence run only a part of the time, with short waits. A list of few pods is followed at
// once by the next one, however long its answer took.
func TestRest(t *testing.T) {
	for pods, want := range map[int]time.Duration{1: restPerPod, 20: 10 * time.Millisecond, 600: 300 * time.Millisecond, 5000: longestRest} {
		synctest.Test(t, func(t *testing.T) {
			server := &slowLister{began: time.Now(), takes: 80 * time.Millisecond, pods: pods - 1}
			listed := Shared{server, server, NewBatches(free)}
			for range 3 {
				if err := listed.List(t.Context(), &corev1.PodList{}, client.InNamespace("shop")); err != nil {
					t.Error(err)
				}
			}
			if passed := time.Since(server.began); passed != 3*server.takes+2*want {
				t.Errorf("three lists of %d pods took %v", pods, passed)
			}
			rested()
		})
	}
}

// TestBatchFails: all callers of a failed list get its error, and the next one is a new list.
func TestBatchFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := errors.New("refused")
		server := &slowLister{began: time.Now(), takes: time.Millisecond, err: refused}
		pods := Shared{server, server, NewBatches(free)}
		var group sync.WaitGroup
		for range 3 {
			group.Go(func() {
				if err := pods.List(t.Context(), &corev1.PodList{}, client.InNamespace("shop")); !errors.Is(err, refused) {
					t.Error(err)
				}
			})
		}
		group.Wait()
		rested()
		server.err = nil
		if err := pods.List(t.Context(), &corev1.PodList{}, client.InNamespace("shop")); err != nil {
			t.Error(err)
		}
		rested()
	})
}

// TestNotShared: requests with different options are not shared.
func TestNotShared(t *testing.T) {
	raw := func(raw metav1.ListOptions) client.ListOption { return &client.ListOptions{Raw: &raw} }
	for name, opt := range map[string]client.ListOption{
		"labels":           client.MatchingLabelsSelector{Selector: labels.Everything()},
		"limit":            client.Limit(1),
		"all namespaces":   client.InNamespace(""),
		"another match":    raw(metav1.ListOptions{ResourceVersion: "5", ResourceVersionMatch: metav1.ResourceVersionMatchExact}),
		"a limit besides":  raw(metav1.ListOptions{ResourceVersion: "5", ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, Limit: 1}),
		"a part of a list": client.Continue("more"),
	} {
		if _, _, shareable := queueOf([]client.ListOption{client.InNamespace("shop"), opt}); shareable {
			t.Errorf("%s: it is shared", name)
		}
	}
	for name, opts := range map[string][]client.ListOption{
		"exact":     {client.InNamespace("shop")},
		"not older": {client.InNamespace("shop"), raw(metav1.ListOptions{ResourceVersion: "5", ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan})},
	} {
		if _, _, shareable := queueOf(opts); !shareable {
			t.Errorf("%s: it is not shared", name)
		}
	}
}
