package slices

import (
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	api "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// TestPinsTag: a tag that moves becomes a fixed one when each image has the policy that it gets by
// itself, and the former was always pulled.
func TestPinsTag(t *testing.T) {
	container := func(image string, policy corev1.PullPolicy) *corev1.Container {
		return &corev1.Container{Image: image, ImagePullPolicy: policy}
	}
	moving, fixed := container("web", corev1.PullAlways), container("web:1", corev1.PullIfNotPresent)
	for name, tc := range map[string]struct {
		from, to *corev1.Container
		want     bool
	}{
		"pinned":                       {moving, fixed, true},
		"the other way round":          {fixed, moving, false},
		"the next is pulled always":    {moving, container("web:1", corev1.PullAlways), false},
		"the former was pulled never":  {container("web", corev1.PullNever), fixed, false},
		"the former was a fixed image": {fixed, container("web:2", corev1.PullIfNotPresent), false},
	} {
		if got := pinsTag(tc.from, tc.to); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestUnconfirmedFor: a share is not confirmed for a minute after the controller has begun, unless the set
// was made in that second or later, nor while something may be done without an answer.
func TestUnconfirmedFor(t *testing.T) {
	began := noon.Add(1500 * time.Millisecond)
	for name, tc := range map[string]struct {
		created, unsettled time.Duration
		want               time.Duration
	}{
		"made before":                           {-time.Second, -time.Hour, answerWithin},
		"made in the same second":               {0, -time.Hour, -time.Hour},
		"an answer is missing, and made before": {-time.Second, answerWithin / 2, answerWithin},
		"for longer than that":                  {-time.Second, answerWithin * 3 / 2, answerWithin * 3 / 2},
	} {
		set := namedSet("web", nil)
		set.CreationTimestamp = metav1.NewTime(began.Truncate(time.Second).Add(tc.created))
		r := &Reconciler{Clock: clocktesting.NewFakePassiveClock(began)}
		if got := r.unconfirmed(set, memory{unsettled: began.Add(tc.unsettled)}); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

// TestToldProgressOfNoPod: a roll-out that has no pod of its revision yet goes on where it was; one that
// is not driven, and has none, is told nothing of.
func TestToldProgressOfNoPod(t *testing.T) {
	status := api.StatefulSetStatus{UpdateRevision: "r2", Conditions: []metav1.Condition{{Type: api.ConditionProgressing, Reason: reasonUpdating}}}
	if got := toldProgress(status); got != (Progress{}) {
		t.Errorf("not driven: %+v", got)
	}
	status.LastProgressTime = &metav1.Time{Time: noon}
	if got, want := toldProgress(status), (Progress{Revision: "r2", Since: noon}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestRefusalOfTheFirst: of several refusals the one of the first pod by name is told, in whatever order they
// came.
func TestRefusalOfTheFirst(t *testing.T) {
	of := func(name string) error { return fmt.Errorf("%s of pod a/%s: exceeded quota", Create, name) }
	want := of("web-1").Error()
	for _, all := range []error{errors.Join(of("web-1"), of("web-2")), errors.Join(of("web-2"), of("web-1")), errors.Join(of("web-1"), errors.New("another"))} {
		if got := refusal(all, []Verb{Create}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestGrownBesideItsPod: a claim has grown when only its file system is left, and that only as long as the
// condition is true.
func TestGrownBesideItsPod(t *testing.T) {
	for status, want := range map[corev1.ConditionStatus]bool{corev1.ConditionTrue: true, corev1.ConditionFalse: false} {
		claim := &corev1.PersistentVolumeClaim{}
		claim.Spec.Resources.Requests, claim.Status.Capacity = storage("2Gi"), storage("1Gi")
		claim.Status.Conditions = []corev1.PersistentVolumeClaimCondition{{Type: corev1.PersistentVolumeClaimFileSystemResizePending, Status: status}}
		if got := grown(claim); got != want {
			t.Errorf("%s: grown %t", status, got)
		}
	}
}
