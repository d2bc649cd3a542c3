package slices

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/slices/decide"
	"github.com/sliceshift/sliceshift/slices/execute"
	"github.com/sliceshift/sliceshift/slices/internal/slicetest"
	"github.com/sliceshift/sliceshift/slices/observe"
)

// teller writes the status of a set repeatedly.
type teller struct {
	r     *Reconciler
	set   *api.StatefulSet
	clock *clocktesting.FakePassiveClock
	// answer is the API server's response to each write.
	answer error
	writes int
}

func newTeller(t *testing.T) *teller {
	t.Helper()
	x := &teller{set: slicetest.NamedSet("web", map[string]string{"app": "web"}), clock: clocktesting.NewFakePassiveClock(slicetest.Noon)}
	x.set.Generation = 2
	x.r = &Reconciler{
		Clock: x.clock, memory: map[types.NamespacedName]memory{},
		Client: fake.NewClientBuilder().WithScheme(slicetest.Scheme(t)).WithObjects(x.set).WithStatusSubresource(x.set).WithInterceptorFuncs(interceptor.Funcs{
			SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object, opts ...client.SubResourceUpdateOption) error {
				if x.writes++; x.answer != nil {
					return x.answer
				}
				return c.SubResource(sub).Update(ctx, o, opts...)
			},
		}).Build(),
	}
	return x
}

func (x *teller) read(t *testing.T) *api.StatefulSet {
	t.Helper()
	live := &api.StatefulSet{}
	if err := x.r.Client.Get(t.Context(), client.ObjectKeyFromObject(x.set), live); err != nil {
		t.Fatal(err)
	}
	return live
}

func (x *teller) tell(t *testing.T, ready int32, failed error) (time.Duration, error) {
	t.Helper()
	in := decide.Input{Revisions: decide.Revisions{Current: "r1", Update: "r2"}}
	decision := decide.Decision{Status: decide.Status{Replicas: 3, Ready: ready, Available: ready, CurrentRevision: "r1"}}
	return x.r.tell(t.Context(), &execute.PodControl{Seen: observe.Seen{Set: x.read(t)}}, in, decision, failed)
}

var errNoRoom = fmt.Errorf("%s of pod shop/web-0: no room", decide.Create)

// TestTell: the status is written once in a pass, also after an action has failed. An error of the write is returned.
func TestTell(t *testing.T) {
	x := newTeller(t)
	t.Run("K-021, K-025, K-206: an error of the write surfaces, a conflict too", func(t *testing.T) {
		x.answer = errors.New("out of order")
		if _, err := x.tell(t, 0, nil); !errors.Is(err, x.answer) || x.writes != 1 {
			t.Errorf("a failed write: %v after %d writes", err, x.writes)
		}
		x.answer = apierrors.NewConflict(api.GroupVersion.WithResource("statefulsets").GroupResource(), "web", errors.New("changed"))
		if _, err := x.tell(t, 0, nil); !apierrors.IsConflict(err) {
			t.Errorf("a conflict: %v", err)
		}
	})
	t.Run("K-021, K-025, K-206: the next pass writes, once, though an action fails", func(t *testing.T) {
		x.answer, x.writes = nil, 0
		if _, err := x.tell(t, 1, errNoRoom); err != nil || x.writes != 1 {
			t.Fatalf("%v, %d writes", err, x.writes)
		}
		status := x.read(t).Status
		if status.ObservedGeneration != 2 || status.Replicas != 3 || status.AvailableReplicas != 1 || status.UpdateRevision != "r2" || !meta.IsStatusConditionTrue(status.Conditions, api.ConditionFailedCreatePod) {
			t.Errorf("status %+v", status)
		}
	})
}

// TestCountsAreToldTogether: changes of counts alone are batched.
func TestCountsAreToldTogether(t *testing.T) {
	x := newTeller(t)
	if _, err := x.tell(t, 0, errNoRoom); err != nil || x.writes != 1 {
		t.Fatalf("%v, %d writes", err, x.writes)
	}
	if wait, err := x.tell(t, 1, errNoRoom); err != nil || x.writes != 1 || wait != tellEvery {
		t.Errorf("counts at once: %d writes, wait %s, %v", x.writes, wait, err)
	}
	x.clock.SetTime(slicetest.Noon.Add(tellEvery))
	if _, err := x.tell(t, 1, errNoRoom); err != nil || x.writes != 2 {
		t.Errorf("counts after a while: %d writes, %v", x.writes, err)
	}
	if _, err := x.tell(t, 1, errNoRoom); err != nil || x.writes != 2 {
		t.Errorf("nothing new: %d writes, %v", x.writes, err)
	}
}

// TestConditionsOfOthersStay: the controller writes its own conditions and no others.
func TestConditionsOfOthersStay(t *testing.T) {
	t.Run("K-149: beside ours", func(t *testing.T) {
		s := observe.Seen{Set: slicetest.NamedSet("web", nil)}
		meta.SetStatusCondition(&s.Set.Status.Conditions, metav1.Condition{Type: "Theirs", Status: metav1.ConditionTrue, Reason: "Theirs"})
		status := statusOf(s, decide.Input{}, decide.Decision{}, nil)
		if !meta.IsStatusConditionTrue(status.Conditions, "Theirs") || meta.FindStatusCondition(status.Conditions, api.ConditionProgressing) == nil {
			t.Errorf("conditions %+v", status.Conditions)
		}
	})
}

// TestClaimsBehind: under OnDelete the condition counts the ordinals whose claims differ from their templates, and has the
// command that plans their replacement. Under another strategy there is no condition.
func TestClaimsBehind(t *testing.T) {
	seen := func(strategy *api.VolumeClaimUpdateStrategy, sizes ...string) observe.Seen {
		s := observe.Seen{Set: slicetest.WithClaims(), Claims: map[string]*corev1.PersistentVolumeClaim{}}
		s.Set.Spec.VolumeClaimUpdateStrategy = strategy
		for ordinal, size := range sizes {
			for i := range s.Set.Spec.VolumeClaimTemplates {
				claim := observe.NewClaim(s.Set, &s.Set.Spec.VolumeClaimTemplates[i], int32(ordinal))
				if claim.Spec.Resources.Requests = slicetest.Storage(size); i == 1 {
					claim.Spec.Resources.Requests = slicetest.Storage("1Gi")
				}
				s.Claims[claim.Name] = claim
			}
			s.Owned = append(s.Owned, int32(ordinal))
		}
		return s
	}
	onDelete := &api.VolumeClaimUpdateStrategy{Type: api.OnClaimDelete}
	const command = "kubectl migrate storage web -n shop --api-version apps.sliceshift.io/v1alpha1 --volume data=method=copy,image=IMAGE"
	for name, tc := range map[string]struct {
		seen observe.Seen
		want *metav1.Condition
	}{
		"no strategy":      {seen(nil, "2Gi"), nil},
		"claims that grow": {seen(&api.VolumeClaimUpdateStrategy{Type: api.OnPodRollingUpdate}, "2Gi"), nil},
		"all as templates": {seen(onDelete, "1Gi", "1024Mi"), &metav1.Condition{Status: metav1.ConditionFalse, Reason: "AsTemplates"}},
		"two of three do not": {seen(onDelete, "1Gi", "2Gi", "512Mi"), &metav1.Condition{
			Status: metav1.ConditionTrue, Reason: "TemplatesChanged",
			Message: "claims of 2 of 3 ordinals differ from their templates, first those of web-1: plan their replacement with " + command,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			meta.SetStatusCondition(&tc.seen.Set.Status.Conditions, metav1.Condition{Type: api.ConditionClaimsBehind, Status: metav1.ConditionTrue, Reason: "TemplatesChanged"})
			status := statusOf(tc.seen, decide.Input{}, decide.Decision{}, nil)
			got := meta.FindStatusCondition(status.Conditions, api.ConditionClaimsBehind)
			if tc.want != nil {
				tc.want.Type = api.ConditionClaimsBehind
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.IgnoreFields(metav1.Condition{}, "LastTransitionTime")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestProgressIsTold: the progress of a roll-out is written so that another controller can continue with it. A complete or
// paused roll-out has none.
func TestProgressIsTold(t *testing.T) {
	since := slicetest.Noon.Add(1500 * time.Millisecond)
	for _, c := range []struct {
		name     string
		progress decide.Progress
		paused   bool
		want     decide.Progress
	}{
		{"none", decide.Progress{}, true, decide.Progress{}},
		{"under way", decide.Progress{Revision: "r2", Since: since, Updated: 2, Ready: 2, Available: 2}, false, decide.Progress{Revision: "r2", Since: slicetest.Noon.Add(time.Second), Updated: 2, Ready: 2, Available: 2}},
		{"late", decide.Progress{Revision: "r2", Since: since, Updated: 2, Ready: 1, Late: true}, false, decide.Progress{Revision: "r2", Since: slicetest.Noon.Add(time.Second), Updated: 2, Ready: 1, Late: true}},
		{"Y4 failed", decide.Progress{Revision: "r2", Since: since, Updated: 2, Ready: 1, Late: true, Failed: true, Message: "why"}, false, decide.Progress{Revision: "r2", Since: slicetest.Noon.Add(time.Second), Updated: 2, Ready: 1, Late: true, Message: "why"}},
		{"X-07 for no pod", decide.Progress{}, false, decide.Progress{}},
		{"complete", decide.Progress{Revision: "r2", Since: since, Updated: 2, Ready: 1, Complete: true}, false, decide.Progress{Revision: "r2", Updated: 2, Ready: 1, Complete: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := observe.Seen{Set: slicetest.NamedSet("web", nil)}
			status := statusOf(s, decide.Input{Revisions: decide.Revisions{Current: "r1", Update: "r2"}, Spec: decide.Spec{Paused: c.paused}},
				decide.Decision{
					Progress: c.progress, Readiness: decide.Readiness{Reason: api.ReasonRevisionFailed},
					Status: decide.Status{Updated: c.progress.Updated, UpdatedReady: c.progress.Ready, UpdatedAvailable: c.progress.Available},
				}, nil,
			)
			if got := toldProgress(status); got != c.want {
				t.Errorf("progress %+v, want %+v", got, c.want)
			}
		})
	}
	if got := toldProgress(api.StatefulSetStatus{}); got != (decide.Progress{}) {
		t.Errorf("progress of a new set: %+v", got)
	}
}

// TestProgressing: a set is complete when all of its pods exist with the revision and were available. A scale-down is no
// roll-out, so the condition does not change with each deleted pod. Without a roll-out, the condition reports none.
func TestProgressing(t *testing.T) {
	complete := func(in *decide.Input) {
		in.Progress = decide.Progress{Revision: "b", Updated: 2, Ready: 2, Complete: true}
	}
	ondelete := slicetest.By(api.OnDelete)
	for _, c := range []struct {
		name string
		in   decide.Input
		want string
	}{
		{"all have it", slicetest.Slice(2, "b b", slicetest.SettledAt("b")), reasonComplete},
		{"X-15 none of three is there", slicetest.Slice(3, "", slicetest.SettledAt("b")), reasonUpdating},
		{"X-15 one of three is there", slicetest.Slice(3, "b", slicetest.SettledAt("b")), reasonUpdating},
		{"X-15 the last is not Ready", slicetest.Slice(3, "b b b-", slicetest.SettledAt("b")), reasonUpdating},
		{"X-15 the last is not available", slicetest.Slice(3, "b b b5", slicetest.SettledAt("b"), slicetest.MinReady(60)), reasonUpdating},
		{"X-15 none is asked for", slicetest.Slice(0, "", slicetest.SettledAt("b")), reasonComplete},
		{"X-15 one crashes long after", slicetest.Slice(2, "b b-", slicetest.SettledAt("b"), complete), reasonComplete},
		{"X-15 one is lost long after", slicetest.Slice(2, "b .", slicetest.SettledAt("b"), complete), reasonComplete},
		{"one is on its way out", slicetest.Slice(1, "b bt", slicetest.SettledAt("b")), reasonComplete},
		{"one has another", slicetest.Slice(2, "a b", slicetest.SettledAt("b")), reasonUpdating},
		{"in mid-way", slicetest.Slice(2, "b at"), reasonUpdating},
		{"X-15 a canary", slicetest.Slice(2, "a b", slicetest.Partition(1)), reasonUpdating},
		{"X-15 paused, all have it", slicetest.Slice(2, "b b", slicetest.SettledAt("b"), slicetest.Paused), reasonComplete},
		{"X-15 paused, one is missing", slicetest.Slice(2, "b", slicetest.SettledAt("b"), slicetest.Paused), decide.ReasonRolloutPaused},
		{"X-15 paused", slicetest.Slice(2, "a b", slicetest.Paused), decide.ReasonRolloutPaused},
		{"X-15 OnDelete, pods wait for it", slicetest.Slice(2, "a a", ondelete), reasonOnDelete},
		{"X-15 OnDelete, one waits for it", slicetest.Slice(2, "a b", ondelete), reasonOnDelete},
		{"X-15 OnDelete, one is made again", slicetest.Slice(2, "b .", ondelete), reasonUpdating},
		{"X-15 OnDelete, all have it", slicetest.Slice(2, "b b", ondelete), reasonComplete},
	} {
		t.Run(c.name, func(t *testing.T) {
			decision := decide.Decide(c.in)
			status := statusOf(observe.Seen{Set: slicetest.NamedSet("web", nil)}, c.in, decision, nil)
			got := meta.FindStatusCondition(status.Conditions, api.ConditionProgressing)
			if got == nil || got.Reason != c.want || got.Status != metav1.ConditionTrue {
				t.Errorf("condition %+v, want reason %s", got, c.want)
			}
		})
	}
}

// TestStatusTells: a status contains the decision for this generation of the set.
func TestStatusTells(t *testing.T) {
	set := slicetest.NamedSet("web", map[string]string{"app": "web"})
	set.Generation = 7
	since := slicetest.Noon.Add(500 * time.Millisecond)
	share := int32(1)
	s := observe.Seen{Set: set, Collisions: 2}
	in := decide.Input{Spec: decide.Spec{Share: &share}, Revisions: decide.Revisions{Current: "r1", Update: "r2"}}
	decision := decide.Decision{
		Status:    decide.Status{Replicas: 8, Ready: 7, Available: 6, Current: 5, Updated: 4, UpdatedReady: 3, UpdatedAvailable: 2, CurrentRevision: "r1"},
		Progress:  decide.Progress{Revision: "r2", Since: since, Late: true, Failed: true, Message: "the pod of ordinal 7 is not Ready"},
		Readiness: decide.Readiness{Reason: decide.ReasonRolloutDeadline, Message: "6 of 8 pods are available"},
	}
	got := statusOf(s, in, decision, nil)
	want := api.StatefulSetStatus{
		ObservedGeneration: 7, Replicas: 8, ReadyReplicas: 7, AvailableReplicas: 6, CurrentReplicas: 5, UpdatedReplicas: 4,
		UpdatedReadyReplicas: 3, UpdatedAvailableReplicas: 2, CurrentRevision: "r1", UpdateRevision: "r2", CollisionCount: new(int32(2)),
		ObservedMaxUnavailable: &share, LabelSelector: "app=web", LastProgressTime: &metav1.Time{Time: slicetest.Noon},
		Conditions: []metav1.Condition{{
			Type: api.ConditionProgressing, Status: metav1.ConditionFalse, Reason: decide.ReasonRolloutDeadline, ObservedGeneration: 7,
			Message: "the pod of ordinal 7 is not Ready",
		}, {
			Type: api.ConditionReady, Status: metav1.ConditionFalse, Reason: decide.ReasonRolloutDeadline, ObservedGeneration: 7, Message: "6 of 8 pods are available",
		}, {
			Type: api.ConditionStalled, Status: metav1.ConditionTrue, Reason: decide.ReasonRolloutDeadline, ObservedGeneration: 7, Message: "the pod of ordinal 7 is not Ready",
		}},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(metav1.Condition{}, "LastTransitionTime")); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if got := statusOf(observe.Seen{Set: set}, in, decision, nil); got.CollisionCount != nil {
		t.Errorf("a history without collisions has %d", *got.CollisionCount)
	}
	in.Spec.Paused, decision.Progress.Failed = true, false
	paused := statusOf(s, in, decision, nil)
	if c := meta.FindStatusCondition(paused.Conditions, api.ConditionProgressing); c == nil || c.Reason != decide.ReasonRolloutPaused || c.Status != metav1.ConditionTrue {
		t.Errorf("paused: %+v", c)
	}
	if got := toldProgress(paused); got != (decide.Progress{}) {
		t.Errorf("paused, there is progress to go on with: %+v", got)
	}
}

// TestHeldIsTold: the condition names the first held ordinals, and is False when none is held any more. A set that never had
// a held ordinal has no such condition.
func TestHeldIsTold(t *testing.T) {
	status := api.StatefulSetStatus{}
	held := func(n int) *metav1.Condition {
		decision := decide.Decision{}
		for i := range n {
			decision.Held = append(decision.Held, decide.Hold{Ordinal: int32(i), Reason: fmt.Sprintf("Reason%d", i), Message: "waits"})
		}
		renderHeld(slicetest.NamedSet("web", nil), &status, decision)
		return meta.FindStatusCondition(status.Conditions, api.ConditionHeld)
	}
	if got := held(0); got != nil {
		t.Errorf("nothing was ever held: %+v", got)
	}
	for n, want := range map[int]string{
		1: "web-0: waits",
		5: "web-0: waits; web-1: waits; web-2: waits; web-3: waits; web-4: waits",
		7: "web-0: waits; web-1: waits; web-2: waits; web-3: waits; web-4: waits; and 2 more",
	} {
		if got := held(n); got == nil || got.Status != metav1.ConditionTrue || got.Reason != "Reason0" || got.Message != want {
			t.Errorf("%d held: %+v", n, got)
		}
	}
	if got := held(0); got == nil || got.Status != metav1.ConditionFalse || got.Reason != "NothingHeld" {
		t.Errorf("nothing is held any more: %+v", got)
	}
}

// TestY12LostNodeIsNamed: if the condition has no room for all held ordinals, those that the others wait for come first,
// such as a pod on a lost node, in the order of the ordinals.
func TestY12LostNodeIsNamed(t *testing.T) {
	of := func(reasons ...string) string {
		status, decision := api.StatefulSetStatus{}, decide.Decision{}
		for i, reason := range reasons {
			decision.Held = append(decision.Held, decide.Hold{Ordinal: int32(i), Reason: reason, Message: "why"})
		}
		renderHeld(slicetest.NamedSet("web", nil), &status, decision)
		c := meta.FindStatusCondition(status.Conditions, api.ConditionHeld)
		return c.Reason + ": " + strings.ReplaceAll(c.Message, ": why", "")
	}
	const batch, unready, ends = decide.HeldBatch, decide.HeldNotReady, decide.HeldTerminating
	for want, reasons := range map[string][]string{
		batch + ": web-5; web-6; web-0; web-1; web-2; and 2 more": {batch, batch, batch, batch, batch, ends, unready},
		batch + ": web-0; web-1; web-2; web-3; web-4":             {batch, batch, batch, batch, unready},
	} {
		if got := of(reasons...); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestFailureIsTold: the condition names the refusal, and is removed when nothing is refused any more.
func TestFailureIsTold(t *testing.T) {
	status := api.StatefulSetStatus{}
	kinds := func(failed error) (kinds []string) {
		renderFailure(slicetest.NamedSet("web", nil), &status, failed)
		for _, c := range status.Conditions {
			kinds = append(kinds, c.Type+" "+string(c.Status)+" "+c.Reason)
		}
		slices.Sort(kinds)
		return kinds
	}
	for _, verb := range []decide.Verb{decide.BeginInPlace, decide.PatchInPlace, decide.FinishInPlace, decide.GrowClaims, decide.CreateClaims, decide.OwnClaims, decide.Repair, decide.Relabel, decide.Announce, decide.Delete} {
		if got := kinds(fmt.Errorf("%s of pod a/web-0: no", verb)); !slices.Equal(got, []string{api.ConditionFailedUpdatePod + " True Refused"}) {
			t.Errorf("%s was refused: %v", verb, got)
		}
	}
	if got := kinds(fmt.Errorf("%s of pod a/web-0: no", decide.Create)); !slices.Equal(got, []string{api.ConditionFailedCreatePod + " True Refused"}) {
		t.Errorf("a pod was refused: %v", got)
	}
	if got := kinds(nil); len(got) > 0 {
		t.Errorf("nothing is refused any more: %v", got)
	}
}

// TestUrgent: values that others act on are written at once, and counts are not.
func TestUrgent(t *testing.T) {
	base := func() api.StatefulSetStatus {
		return api.StatefulSetStatus{
			ObservedGeneration: 1, CurrentRevision: "r1", UpdateRevision: "r1", LabelSelector: "app=web", ObservedMaxUnavailable: new(int32(1)),
			Conditions: []metav1.Condition{
				{Type: api.ConditionProgressing, Status: metav1.ConditionTrue, Reason: reasonUpdating},
				{Type: api.ConditionReady, Status: metav1.ConditionFalse, Reason: "PodsUnavailable"},
			},
		}
	}
	for name, tc := range map[string]struct {
		change func(*api.StatefulSetStatus)
		want   bool
	}{
		"nothing":   {func(*api.StatefulSetStatus) {}, false},
		"counts":    {func(s *api.StatefulSetStatus) { s.ReadyReplicas, s.UpdatedReplicas = 3, 3 }, false},
		"a message": {func(s *api.StatefulSetStatus) { s.Conditions[0].Message = "rolling out" }, false},
		"what is held": {func(s *api.StatefulSetStatus) {
			s.Conditions = append(s.Conditions, metav1.Condition{Type: api.ConditionHeld})
		}, false},
		"a generation": {func(s *api.StatefulSetStatus) { s.ObservedGeneration++ }, true},
		"a share":      {func(s *api.StatefulSetStatus) { s.ObservedMaxUnavailable = new(int32(0)) }, true},
		"no share":     {func(s *api.StatefulSetStatus) { s.ObservedMaxUnavailable = nil }, true},
		"the current":  {func(s *api.StatefulSetStatus) { s.CurrentRevision = "r2" }, true},
		"the newest":   {func(s *api.StatefulSetStatus) { s.UpdateRevision = "r2" }, true},
		"Y4 a failure": {func(s *api.StatefulSetStatus) { s.FailedRevision = "r2" }, true},
		"the selector": {func(s *api.StatefulSetStatus) { s.LabelSelector = "app=db" }, true},
		"the reason":   {func(s *api.StatefulSetStatus) { s.Conditions[0].Reason = decide.ReasonRolloutDeadline }, true},
		"the state":    {func(s *api.StatefulSetStatus) { s.Conditions[0].Status = metav1.ConditionFalse }, true},
		"U-01 Ready":   {func(s *api.StatefulSetStatus) { s.Conditions[1].Status = metav1.ConditionTrue }, true},
		"U-01 why not": {func(s *api.StatefulSetStatus) { s.Conditions[1].Reason = "PodsOutdated" }, false},
	} {
		after := base()
		if tc.change(&after); urgent(base(), after) != tc.want {
			t.Errorf("%s: urgent %t", name, !tc.want)
		}
	}
}

// TestSettled: a set is settled when all pods exist, are available and have the same revision.
func TestSettled(t *testing.T) {
	base := func() api.StatefulSetStatus {
		return api.StatefulSetStatus{Replicas: 3, AvailableReplicas: 3, UpdatedReplicas: 3, CurrentRevision: "r1", UpdateRevision: "r1"}
	}
	if !settled(base(), 3) || settled(base(), 2) {
		t.Error("three of three are settled, and three of two are not")
	}
	for name, spoil := range map[string]func(*api.StatefulSetStatus){
		"one is not available": func(s *api.StatefulSetStatus) { s.AvailableReplicas = 2 },
		"one is not updated":   func(s *api.StatefulSetStatus) { s.UpdatedReplicas = 2 },
		"another revision":     func(s *api.StatefulSetStatus) { s.UpdateRevision = "r2" },
	} {
		s := base()
		if spoil(&s); settled(s, 3) {
			t.Errorf("%s: settled", name)
		}
	}
}

// TestTold: the status of a set with one collision, with claims, and with many held ordinals.
func TestTold(t *testing.T) {
	s := observe.Seen{Set: slicetest.WithClaims(), Collisions: 1}
	decision := decide.Decision{Held: []decide.Hold{{Reason: "A"}, {}, {}, {}, {}, {Message: "the last one"}}}
	got := statusOf(s, decide.Input{Spec: decide.Spec{Replicas: 1}, Revisions: decide.Revisions{Update: "r2"}}, decision, nil)
	if got.CollisionCount == nil || *got.CollisionCount != 1 || len(got.VolumeClaims) != 2 {
		t.Errorf("status %+v", got)
	}
	states := map[string]metav1.Condition{}
	for _, c := range got.Conditions {
		states[c.Type] = c
	}
	if c := states[api.ConditionHeld]; c.Status != metav1.ConditionTrue || c.Message[len(c.Message)-len("and 1 more"):] != "and 1 more" {
		t.Errorf("held: %+v", c)
	}
	if c := states[api.ConditionProgressing]; c.Status != metav1.ConditionTrue || c.Reason != reasonUpdating {
		t.Errorf("progressing: %+v", c)
	}
	decision.Status.CurrentRevision, decision.Complete = "r2", true
	got = statusOf(s, decide.Input{Spec: decide.Spec{Replicas: 1}, Revisions: decide.Revisions{Update: "r2"}}, decision, nil)
	for _, c := range got.Conditions {
		if c.Type == api.ConditionProgressing && (c.Status != metav1.ConditionTrue || c.Reason != reasonComplete) {
			t.Errorf("complete: %+v", c)
		}
	}
}

// TestRefusal: a condition names the API server's refusal of any of several writes, but no conflict.
func TestRefusal(t *testing.T) {
	quota := fmt.Errorf("%s of pod a/web-1: exceeded quota", decide.Create)
	gone := fmt.Errorf("%s of pod a/web-0: no", decide.Delete)
	conflict := fmt.Errorf("%s of pod a/web-0: %w", decide.Create, apierrors.NewConflict(schema.GroupResource{}, "web-0", errors.New("changed")))
	room := fmt.Errorf("%s of pod a/web-2: exceeded quota", decide.Create)
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"nothing": {nil, ""}, "another verb": {gone, ""}, "a conflict": {conflict, ""}, "one of several": {errors.Join(gone, quota), quota.Error()},
		"X-21 beside a conflict":         {errors.Join(conflict, quota), quota.Error()},
		"X-21 whichever was heard first": {errors.Join(room, quota), quota.Error()},
		"X-21 of several in another":     {errors.Join(errors.Join(conflict, room), gone), room.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			if got := refusal(tc.err, []decide.Verb{decide.Create}); got != tc.want {
				t.Errorf("refusal(%v) is %q", tc.err, got)
			}
		})
	}
}
