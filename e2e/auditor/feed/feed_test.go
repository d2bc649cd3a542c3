package feed

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

func feedPod(name, uid, rv string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(uid), ResourceVersion: rv}}
}

// script simulates an API server: each list and each watch takes the next answer.
type script struct {
	lists   []func() ([]*corev1.Pod, string, error)
	watches []func() (watch.Interface, error)
	// asked are the resourceVersions at which the watches began.
	asked []string
}

func listing(rv string, pods ...*corev1.Pod) func() ([]*corev1.Pod, string, error) {
	return func() ([]*corev1.Pod, string, error) { return pods, rv, nil }
}

// events returns a watch that breaks off after its events.
func events(events ...watch.Event) func() (watch.Interface, error) {
	return func() (watch.Interface, error) {
		w := watch.NewFakeWithChanSize(len(events), false)
		for _, e := range events {
			w.Action(e.Type, e.Object)
		}
		w.Stop()
		return w, nil
	}
}

func failing(err error) func() (watch.Interface, error) {
	return func() (watch.Interface, error) { return nil, err }
}

// play runs the feed to the end of the script and returns its changes.
func (s *script) play(t *testing.T) (changes []string, interruptions int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	f := &Feed[*corev1.Pod]{
		Name: "pods",
		List: func(context.Context, metav1.ListOptions) ([]*corev1.Pod, string, error) {
			next := s.lists[0]
			s.lists = s.lists[1:]
			return next()
		},
		Watch: func(_ context.Context, o metav1.ListOptions) (watch.Interface, error) {
			if len(s.watches) == 0 {
				cancel()
				return nil, ctx.Err()
			}
			s.asked = append(s.asked, o.ResourceVersion)
			next := s.watches[0]
			s.watches = s.watches[1:]
			return next()
		},
		Handle: func(ch Change[*corev1.Pod]) {
			changes = append(changes, fmt.Sprintf("%s>%s", short(ch.Old), short(ch.New)))
		},
		Interrupted: func() { interruptions++ },
	}
	f.Run(ctx)
	return changes, interruptions
}

func short(pod *corev1.Pod) string {
	if pod == nil {
		return ""
	}
	return string(pod.UID) + "@" + pod.ResourceVersion
}

// feedCase is a script and the expected behaviour of the feed.
type feedCase struct {
	script            script
	want              []string
	wantAsked         []string
	wantInterruptions int
}

func (tc feedCase) run(t *testing.T) {
	t.Parallel()
	got, interruptions := tc.script.play(t)
	if diff := cmp.Diff(tc.want, got); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(tc.wantAsked, tc.script.asked); diff != "" {
		t.Errorf("watched from (-want +got):\n%s", diff)
	}
	if interruptions != tc.wantInterruptions {
		t.Errorf("%d interruptions, want %d", interruptions, tc.wantInterruptions)
	}
}

func TestFeed(t *testing.T) {
	cases := map[string]feedCase{
		"what is there, then what changes": {
			script: script{
				lists: []func() ([]*corev1.Pod, string, error){listing("5", feedPod("web-0", "a", "3"))},
				watches: []func() (watch.Interface, error){events(
					watch.Event{Type: watch.Modified, Object: feedPod("web-0", "a", "6")},
					watch.Event{Type: watch.Deleted, Object: feedPod("web-0", "a", "7")},
					watch.Event{Type: watch.Added, Object: feedPod("web-0", "b", "8")},
				)},
			},
			want:              []string{">a@3", "a@3>a@6", "a@7>", ">b@8"},
			wantAsked:         []string{"5"},
			wantInterruptions: 1,
		},
		"goes on where it stopped, by bookmark too": {
			script: script{
				lists: []func() ([]*corev1.Pod, string, error){listing("5")},
				watches: []func() (watch.Interface, error){
					events(watch.Event{Type: watch.Added, Object: feedPod("web-0", "a", "6")}),
					failing(errors.New("connection refused")),
					events(watch.Event{Type: watch.Bookmark, Object: feedPod("", "", "9")}),
					events(watch.Event{Type: watch.Modified, Object: feedPod("web-0", "a", "10")}),
				},
			},
			want:              []string{">a@6", "a@6>a@10"},
			wantAsked:         []string{"5", "6", "6", "9"},
			wantInterruptions: 3,
		},
	}
	for name, tc := range cases {
		t.Run(name, tc.run)
	}
}

func TestFeedThatLostItsPlace(t *testing.T) {
	gone := apierrors.NewResourceExpired("too old resource version")
	expired := &metav1.Status{Status: metav1.StatusFailure, Code: 410, Reason: metav1.StatusReasonExpired}
	cases := map[string]feedCase{
		"lists again when its place is gone and finds what it missed": {
			script: script{
				lists: []func() ([]*corev1.Pod, string, error){
					listing("5", feedPod("web-0", "a", "3"), feedPod("web-1", "c", "4"), feedPod("web-2", "e", "5")),
					listing("20", feedPod("web-0", "b", "12"), feedPod("web-2", "e", "5")),
				},
				watches: []func() (watch.Interface, error){
					events(watch.Event{Type: watch.Error, Object: expired}),
					events(watch.Event{Type: watch.Modified, Object: feedPod("web-0", "b", "21")}),
				},
			},
			want:              []string{">a@3", ">c@4", ">e@5", "a@3>", ">b@12", "c@4>", "b@12>b@21"},
			wantAsked:         []string{"5", "20"},
			wantInterruptions: 2,
		},
		"the same when the watch is refused": {
			script: script{
				lists:   []func() ([]*corev1.Pod, string, error){listing("5"), listing("20", feedPod("web-0", "b", "12"))},
				watches: []func() (watch.Interface, error){failing(gone), events()},
			},
			want:              []string{">b@12"},
			wantAsked:         []string{"5", "20"},
			wantInterruptions: 1,
		},
		"a watch that sends nonsense is left": {
			script: script{
				lists:   []func() ([]*corev1.Pod, string, error){listing("5")},
				watches: []func() (watch.Interface, error){events(watch.Event{Type: watch.Added, Object: runtime.Object(&corev1.Node{})}), events()},
			},
			wantAsked:         []string{"5", "5"},
			wantInterruptions: 2,
		},
	}
	for name, tc := range cases {
		t.Run(name, tc.run)
	}
}
