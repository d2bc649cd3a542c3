package execute

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/sliceshift/sliceshift/slices/history"
	"github.com/sliceshift/sliceshift/slices/internal/slicetest"
)

func cached(name, uid, version string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(uid), ResourceVersion: version}}
}

// TestExpectations: nothing is decided while the cache does not show the last writes.
func TestExpectations(t *testing.T) {
	set, now := types.NamespacedName{Namespace: "shop", Name: "web"}, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	terminating := cached("web-0", "a", "7")
	terminating.DeletionTimestamp = &metav1.Time{Time: now}
	wrote := func(e *Expectations) { e.expectVersion(set, cached("web-0", "a", "5"), now) }
	deleted := func(e *Expectations) { e.expectDeletion(set, "web-0", "a", now) }
	unanswered := func(e *Expectations) { e.expectAnswer(set, cached("web-0", "a", "5"), now) }
	for name, tc := range map[string]struct {
		note  func(*Expectations)
		shows *corev1.Pod
		want  bool
	}{
		"nothing was written":             {func(*Expectations) {}, nil, true},
		"created, not shown":              {wrote, nil, false},
		"created, an older one is shown":  {wrote, cached("web-0", "a", "4"), false},
		"created, shown":                  {wrote, cached("web-0", "a", "5"), true},
		"created, a younger one is shown": {wrote, cached("web-0", "a", "6"), true},
		"created, another one is shown":   {wrote, cached("web-0", "b", "9"), true},
		"deleted, still shown":            {deleted, cached("web-0", "a", "5"), false},
		"deleted, shown as Terminating":   {deleted, terminating, true},
		"deleted, gone":                   {deleted, nil, true},
		"deleted, its successor is shown": {deleted, cached("web-0", "b", "9"), true},
		"no answer, shown as it was":      {unanswered, cached("web-0", "a", "5"), false},
		"no answer, a younger one":        {unanswered, cached("web-0", "a", "6"), true},
		"another set's writes are not waited": {func(e *Expectations) {
			e.expectVersion(types.NamespacedName{Name: "db"}, cached("web-0", "a", "5"), now)
		}, nil, true},
	} {
		t.Run("K-191 "+name, func(t *testing.T) {
			e, pods := NewExpectations(), map[int32]*corev1.Pod{}
			tc.note(e)
			if tc.shows != nil {
				pods[0] = tc.shows
			}
			if got := e.Satisfied(set, pods); got != tc.want {
				t.Errorf("satisfied: %t, want %t", got, tc.want)
			}
		})
	}
}

// TestCaughtUp: after some time the API server is asked whether the cache will ever show the last writes. A cache that lags
// is waited for as long as necessary, because a decision would repeat the writes.
func TestCaughtUp(t *testing.T) {
	begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	set := slicetest.NamedSet("web", map[string]string{"app": "web"})
	mine := func(version string) *corev1.Pod {
		pod := cached("web-0", "a", version)
		pod.Namespace, pod.OwnerReferences = set.Namespace, []metav1.OwnerReference{*metav1.NewControllerRef(set, history.Kind)}
		return pod
	}
	others := mine("9")
	others.OwnerReferences = nil
	failure := func(broken bool) error {
		if broken {
			return errors.New("no answer")
		}
		return nil
	}
	for name, tc := range map[string]struct {
		after        time.Duration
		live, shown  *corev1.Pod
		deleted      bool
		broken, want bool
	}{
		"it was written just now":                   {after: time.Second, live: mine("5"), shown: mine("4")},
		"the cache lags behind":                     {after: time.Minute, live: mine("6"), shown: mine("4")},
		"the cache has not seen it made":            {after: time.Minute, live: mine("6")},
		"it is gone, and the cache has not seen it": {after: time.Minute, shown: mine("4")},
		"it came and went":                          {after: time.Minute, want: true},
		"it came and is somebody else's now":        {after: time.Minute, live: others, want: true},
		"the write has got lost":                    {after: time.Minute, live: mine("4"), shown: mine("4"), want: true},
		"the deletion has got lost":                 {after: time.Minute, live: mine("4"), shown: mine("4"), deleted: true, want: true},
		"the deletion is not shown yet":             {after: time.Minute, live: mine("7"), shown: mine("4"), deleted: true},
		"the API server does not answer":            {after: time.Minute, live: mine("4"), shown: mine("4"), broken: true},
	} {
		t.Run("X-28 "+name, func(t *testing.T) {
			clock := testingclock.NewFakePassiveClock(begin)
			server := fake.NewClientBuilder().WithScheme(slicetest.Scheme(t)).WithInterceptorFuncs(interceptor.Funcs{
				List: func(_ context.Context, _ client.WithWatch, into client.ObjectList, _ ...client.ListOption) error {
					if tc.live != nil {
						into.(*corev1.PodList).Items = []corev1.Pod{*tc.live}
					}
					return failure(tc.broken)
				},
			}).Build()
			w := Writer{Live: server, Now: clock.Now, Expectations: NewExpectations()}
			if tc.deleted {
				w.Expectations.expectDeletion(client.ObjectKeyFromObject(set), "web-0", "a", begin)
			} else {
				w.Expectations.expectVersion(client.ObjectKeyFromObject(set), cached("web-0", "a", "5"), begin)
			}
			clock.SetTime(begin.Add(tc.after))
			pods := map[int32]*corev1.Pod{}
			if tc.shown != nil {
				pods[0] = tc.shown
			}
			got, err := w.CaughtUp(t.Context(), set, pods)
			if got != tc.want || (err != nil) != tc.broken {
				t.Errorf("caught up: %t, %v", got, err)
			}
		})
	}
}
