package slices

import (
	"errors"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/slices/decide"
	"github.com/sliceshift/sliceshift/slices/internal/slicetest"
)

// TestUnconfirmedFor: a share is not confirmed for a minute after the controller started, unless the set was created in that
// second or later. It is not confirmed either while a request without a response may still take effect.
func TestUnconfirmedFor(t *testing.T) {
	began := slicetest.Noon.Add(1500 * time.Millisecond)
	for name, tc := range map[string]struct {
		created, unsettled time.Duration
		want               time.Duration
	}{
		"made before":                           {-time.Second, -time.Hour, answerWithin},
		"made in the same second":               {0, -time.Hour, -time.Hour},
		"an answer is missing, and made before": {-time.Second, answerWithin / 2, answerWithin},
		"for longer than that":                  {-time.Second, answerWithin * 3 / 2, answerWithin * 3 / 2},
	} {
		set := slicetest.NamedSet("web", nil)
		set.CreationTimestamp = metav1.NewTime(began.Truncate(time.Second).Add(tc.created))
		r := &Reconciler{Clock: clocktesting.NewFakePassiveClock(began)}
		if got := r.unconfirmed(set, memory{unsettled: began.Add(tc.unsettled)}); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

// TestToldProgressOfNoPod: a roll-out without a pod of its revision continues with its former progress. Without a roll-out,
// no progress is read.
func TestToldProgressOfNoPod(t *testing.T) {
	status := api.StatefulSetStatus{UpdateRevision: "r2", Conditions: []metav1.Condition{{Type: api.ConditionProgressing, Reason: reasonUpdating}}}
	if got := toldProgress(status); got != (decide.Progress{}) {
		t.Errorf("not driven: %+v", got)
	}
	status.LastProgressTime = &metav1.Time{Time: slicetest.Noon}
	if got, want := toldProgress(status), (decide.Progress{Revision: "r2", Since: slicetest.Noon}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestRefusalOfTheFirst: of several refusals, that of the first pod by name is reported, in any order.
func TestRefusalOfTheFirst(t *testing.T) {
	of := func(name string) error { return fmt.Errorf("%s of pod a/%s: exceeded quota", decide.Create, name) }
	want := of("web-1").Error()
	for _, all := range []error{errors.Join(of("web-1"), of("web-2")), errors.Join(of("web-2"), of("web-1")), errors.Join(of("web-1"), errors.New("another"))} {
		if got := refusal(all, []decide.Verb{decide.Create}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
