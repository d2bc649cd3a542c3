package slices

import (
	"errors"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/slices/decide"
	"github.com/sliceshift/sliceshift/slices/execute"
	"github.com/sliceshift/sliceshift/slices/internal/slicetest"
	"github.com/sliceshift/sliceshift/slices/observe"
)

// TestShareIsConfirmed: the effect of everything that began before a share is confirmed must be visible in the pods. The
// share is not confirmed while a request without a response may take effect, or while the requests of a former controller
// are unknown. It is then confirmed at once, because others wait for it.
func TestShareIsConfirmed(t *testing.T) {
	refused := apierrors.NewForbidden(api.GroupVersion.WithResource("pods").GroupResource(), "web-1", errors.New("quota"))
	unanswered := apierrors.NewTimeoutError("no answer", 1)
	for name, c := range map[string]struct {
		failed error
		// age is the age of the set when the controller first sees any set. since is the time since then.
		age, since time.Duration
		waits      time.Duration
	}{
		"all is done":                         {nil, 0, 0, 0},
		"refused":                             {refused, 0, 0, 0},
		"all refused":                         {errors.Join(fmt.Errorf("Create: %w", refused), refused), 0, 0, 0},
		"one without an answer":               {errors.Join(refused, unanswered), 0, 0, answerWithin},
		"a connection that broke off":         {errors.New("reset"), 0, 0, answerWithin},
		"an older set, the controller is new": {nil, time.Hour, 20 * time.Second, 40 * time.Second},
		"the controller is not new":           {nil, time.Hour, 2 * time.Minute, 0},
		"of the same second":                  {nil, time.Second / 2, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			began := slicetest.Noon.Add(-c.since).Add(time.Second / 2)
			set := slicetest.NamedSet("web", map[string]string{"app": "web"})
			set.CreationTimestamp = metav1.NewTime(began.Add(-c.age).Truncate(time.Second))
			clock := clocktesting.NewFakePassiveClock(began)
			r := &Reconciler{
				Clock: clock, memory: map[types.NamespacedName]memory{},
				Client: fake.NewClientBuilder().WithScheme(slicetest.Scheme(t)).WithObjects(set).WithStatusSubresource(set).Build(),
			}
			r.began()
			clock.SetTime(began.Add(c.since))
			in := decide.Input{Revisions: decide.Revisions{Current: "r1", Update: "r1"}, Spec: decide.Spec{Share: new(int32(0))}}
			tell := func(failed error) (*int32, time.Duration) {
				live := &api.StatefulSet{}
				if err := r.Client.Get(t.Context(), client.ObjectKeyFromObject(set), live); err != nil {
					t.Fatal(err)
				}
				wait, err := r.tell(t.Context(), &execute.PodControl{Seen: observe.Seen{Set: live}}, in, decide.Decision{}, failed)
				if err != nil {
					t.Fatal(err)
				}
				if err := r.Client.Get(t.Context(), client.ObjectKeyFromObject(set), live); err != nil {
					t.Fatal(err)
				}
				return live.Status.ObservedMaxUnavailable, wait
			}
			got, wait := tell(c.failed)
			if (got != nil) != (c.waits == 0) || wait != c.waits {
				t.Fatalf("confirmed: %t, looks again after %s, want %s", got != nil, wait, c.waits)
			}
			clock.SetTime(clock.Now().Add(c.waits))
			if got, wait = tell(nil); got == nil || *got != 0 || wait != 0 {
				t.Errorf("in the end: %v, looks again after %s", got, wait)
			}
		})
	}
}
