package slices

import (
	"context"
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	api "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// TestTell: the status is written once a pass, also when an action has failed; an error
// of the write surfaces; counts alone wait for each other. K-021, K-025, K-206.
func TestTell(t *testing.T) {
	writes, answer := 0, error(nil)
	set := namedSet("web", map[string]string{"app": "web"})
	set.Generation = 2
	clock := clocktesting.NewFakePassiveClock(noon)
	r := &Reconciler{
		Clock: clock, memory: map[types.NamespacedName]memory{},
		Client: fake.NewClientBuilder().WithScheme(testScheme(t)).WithObjects(set).WithStatusSubresource(set).WithInterceptorFuncs(interceptor.Funcs{
			SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object, opts ...client.SubResourceUpdateOption) error {
				if writes++; answer != nil {
					return answer
				}
				return c.SubResource(sub).Update(ctx, o, opts...)
			},
		}).Build(),
	}
	in := Input{Revisions: Revisions{Current: "r1", Update: "r2"}}
	tell := func(ready int32, failed error) (time.Duration, error) {
		live := &api.StatefulSet{}
		if err := r.Client.Get(t.Context(), client.ObjectKeyFromObject(set), live); err != nil {
			t.Fatal(err)
		}
		decision := Decision{Status: Status{Replicas: 3, Ready: ready, Available: ready, CurrentRevision: "r1"}}
		return r.tell(t.Context(), &hands{seen: seen{set: live}}, in, decision, failed)
	}
	answer = errors.New("out of order")
	if _, err := tell(0, nil); !errors.Is(err, answer) || writes != 1 {
		t.Errorf("a failed write: %v after %d writes", err, writes)
	}
	answer = apierrors.NewConflict(api.GroupVersion.WithResource("statefulsets").GroupResource(), "web", errors.New("changed"))
	if _, err := tell(0, nil); !apierrors.IsConflict(err) {
		t.Errorf("a conflict: %v", err)
	}
	answer, writes = nil, 0
	if _, err := tell(0, errors.New("Create of pod shop/web-0: no room")); err != nil || writes != 1 {
		t.Fatalf("after a failed action: %v, %d writes", err, writes)
	}
	written := &api.StatefulSet{}
	if err := r.Client.Get(t.Context(), client.ObjectKeyFromObject(set), written); err != nil {
		t.Fatal(err)
	}
	if written.Status.ObservedGeneration != 2 || written.Status.Replicas != 3 || written.Status.UpdateRevision != "r2" || !meta.IsStatusConditionTrue(written.Status.Conditions, api.ConditionFailedCreatePod) {
		t.Errorf("status %+v", written.Status)
	}
	failed := errors.New("Create of pod shop/web-0: no room")
	if wait, err := tell(1, failed); err != nil || writes != 1 || wait != tellEvery {
		t.Errorf("counts at once: %d writes, wait %s, %v", writes, wait, err)
	}
	clock.SetTime(noon.Add(tellEvery))
	if _, err := tell(1, failed); err != nil || writes != 2 {
		t.Errorf("counts after a while: %d writes, %v", writes, err)
	}
	if _, err := tell(1, failed); err != nil || writes != 2 {
		t.Errorf("nothing new: %d writes, %v", writes, err)
	}
}

// TestProgressIsTold: a roll-out under way is told so that another controller can go on
// with it; of one that is complete or paused there is nothing to go on with.
func TestProgressIsTold(t *testing.T) {
	since := noon.Add(1500 * time.Millisecond)
	for _, c := range []struct {
		name     string
		progress Progress
		paused   bool
		want     Progress
	}{
		{"none", Progress{}, true, Progress{}},
		{"under way", Progress{Revision: "r2", Since: since, Updated: 2, Ready: 1}, false, Progress{Revision: "r2", Since: noon.Add(time.Second), Updated: 2, Ready: 1}},
		{"complete", Progress{Revision: "r2", Since: since, Updated: 2, Ready: 1, Complete: true}, false, Progress{Revision: "r2", Updated: 2, Ready: 1, Complete: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := seen{set: namedSet("web", nil)}
			status := s.statusOf(
				Input{Revisions: Revisions{Current: "r1", Update: "r2"}, Spec: Spec{Paused: c.paused}},
				Decision{Progress: c.progress, Status: Status{Updated: 2, UpdatedReady: 1}}, nil,
			)
			if got := toldProgress(status); got != c.want {
				t.Errorf("progress %+v, want %+v", got, c.want)
			}
		})
	}
	if got := toldProgress(api.StatefulSetStatus{}); got != (Progress{}) {
		t.Errorf("progress of a new set: %+v", got)
	}
}

// TestProgressing: a scale-down is no roll-out, so the condition, which others wait
// for, does not change with each pod that goes.
func TestProgressing(t *testing.T) {
	for _, c := range []struct {
		name            string
		pods            []Pod
		updated         int32
		current, update string
		want            string
	}{
		{"all have it", []Pod{{}, {}}, 2, "r1", "r1", reasonComplete},
		{"one is on its way out", []Pod{{}, {Terminating: true}}, 1, "r1", "r1", reasonComplete},
		{"one has another", []Pod{{}, {}}, 1, "r1", "r1", reasonUpdating},
		{"in mid-way", []Pod{{}, {Terminating: true}}, 1, "r1", "r2", reasonUpdating},
	} {
		t.Run(c.name, func(t *testing.T) {
			status := api.StatefulSetStatus{Replicas: int32(len(c.pods)), UpdatedReplicas: c.updated, CurrentRevision: c.current, UpdateRevision: c.update}
			renderProgressing(namedSet("web", nil), &status, Input{Pods: c.pods}, Decision{})
			if got := meta.FindStatusCondition(status.Conditions, api.ConditionProgressing); got == nil || got.Reason != c.want {
				t.Errorf("condition %+v, want reason %s", got, c.want)
			}
		})
	}
}
