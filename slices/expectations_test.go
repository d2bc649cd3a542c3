package slices

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func cached(name, uid, version string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(uid), ResourceVersion: version}}
}

// TestExpectations: nothing is decided on a cache that does not show the last writes.
func TestExpectations(t *testing.T) {
	set, now := types.NamespacedName{Namespace: "shop", Name: "web"}, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	terminating := cached("web-0", "a", "7")
	terminating.DeletionTimestamp = &metav1.Time{Time: now}
	wrote := func(e *Expectations) { e.expectVersion(set, cached("web-0", "a", "5"), now) }
	deleted := func(e *Expectations) { e.expectDeletion(set, "web-0", "a", now) }
	for name, tc := range map[string]struct {
		note  func(*Expectations)
		shows *corev1.Pod
		after time.Duration
		want  bool
	}{
		"nothing was written":               {func(*Expectations) {}, nil, 0, true},
		"created, not shown":                {wrote, nil, 0, false},
		"created, an older one is shown":    {wrote, cached("web-0", "a", "4"), 0, false},
		"created, shown":                    {wrote, cached("web-0", "a", "5"), 0, true},
		"created, a younger one is shown":   {wrote, cached("web-0", "a", "6"), 0, true},
		"created, another one is shown":     {wrote, cached("web-0", "b", "9"), 0, true},
		"created, gone before it was shown": {wrote, nil, ExpectationTimeout + time.Second, true},
		"deleted, still shown":              {deleted, cached("web-0", "a", "5"), 0, false},
		"deleted, shown as Terminating":     {deleted, terminating, 0, true},
		"deleted, gone":                     {deleted, nil, 0, true},
		"deleted, its successor is shown":   {deleted, cached("web-0", "b", "9"), 0, true},
		"another set's writes are not waited": {func(e *Expectations) {
			e.expectVersion(types.NamespacedName{Name: "db"}, cached("web-0", "a", "5"), now)
		}, nil, 0, true},
	} {
		t.Run("K-191 "+name, func(t *testing.T) {
			e, pods := NewExpectations(), map[int32]*corev1.Pod{}
			tc.note(e)
			if tc.shows != nil {
				pods[0] = tc.shows
			}
			if got := e.Satisfied(set, pods, now.Add(tc.after)); got != tc.want {
				t.Errorf("satisfied: %t, want %t", got, tc.want)
			}
		})
	}
}
