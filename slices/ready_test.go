package slices

import (
	"fmt"
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/waitertest"
	"github.com/sliceshift/sliceshift/slices/decide"
	"github.com/sliceshift/sliceshift/slices/history"
	"github.com/sliceshift/sliceshift/slices/internal/slicetest"
	"github.com/sliceshift/sliceshift/slices/observe"
)

// asObject returns a set as tools read it. The definition of the kind has 0 as the default of status.observedGeneration.
func asObject(t failer, set *api.StatefulSet) map[string]any {
	t.Helper()
	content := waitertest.Content(t, history.Kind, set)
	if told := content["status"].(map[string]any); told["observedGeneration"] == nil {
		told["observedGeneration"] = int64(0)
	}
	return content
}

// toldOf returns a set with the status of an input.
func toldOf(in decide.Input, failed error) *api.StatefulSet {
	set := slicetest.NamedSet("web", map[string]string{"app": "web"})
	set.Generation = 3
	set.Status = statusOf(observe.Seen{Set: set}, in, decide.Decide(in), failed)
	return set
}

// TestY14Kstatus: tools that wait for a set see Current when it is in its desired state, Failed when this cannot be
// expected any more, and otherwise InProgress. Argo CD sees the same: Healthy, Degraded and Progressing, and Suspended for a
// roll-out that is paused.
func TestY14Kstatus(t *testing.T) {
	script := waitertest.Script(t, "../config/argocd/statefulset-health.lua")
	judge := func(t *testing.T, set *api.StatefulSet, want status.Status, argo string) {
		t.Helper()
		object := asObject(t, set)
		if got := waitertest.Kstatus(t, object); got != want {
			t.Errorf("kstatus: %s, want %s: %+v", got, want, set.Status.Conditions)
		}
		if got, message := waitertest.ArgoHealth(t, script, object); got != argo || message == "" {
			t.Errorf("Argo CD: %s (%s), want %s: %+v", got, message, argo, set.Status.Conditions)
		}
	}
	unseen := slicetest.NamedSet("web", nil)
	unseen.Generation = 1
	judge(t, unseen, status.InProgressStatus, "Progressing")
	late := func(in *decide.Input) {
		in.Spec.Deadline = 1
		in.Progress = decide.Progress{Revision: "b", Since: slicetest.Noon.Add(-1), Updated: 1, Late: true}
	}
	failed := func(in *decide.Input) { in.Revisions.Failed, in.Spec.OnFailure = true, api.Rollback }
	back := func(in decide.Input) decide.Input {
		for i := range in.Pods {
			in.Pods[i].Change.Same = in.Pods[i].Revision == "a"
		}
		return in
	}
	sameAsAsked := func(in decide.Input) decide.Input {
		in.Pods[0].Change.Same = true
		return in
	}
	onDelete, deleting := slicetest.By(api.OnDelete), func(in *decide.Input) { in.Spec.Deleting, in.Spec.DeletingSince = true, slicetest.Noon }
	for _, c := range []struct {
		name   string
		in     decide.Input
		failed error
		want   status.Status
		// reason is that of the condition Ready.
		reason string
	}{
		{"all are as they shall be", slicetest.Slice(2, "b b", slicetest.SettledAt("b")), nil, status.CurrentStatus, "PodsAvailable"},
		{"none is asked for", slicetest.Slice(0, "", slicetest.SettledAt("b")), nil, status.CurrentStatus, "PodsAvailable"},
		{"the canary of a partition is complete", slicetest.Slice(3, "a a b", slicetest.Partition(2)), nil, status.CurrentStatus, "PodsAvailable"},
		{"OnDelete, pods wait to be deleted", slicetest.Slice(2, "a b", onDelete), nil, status.CurrentStatus, "PodsAvailable"},
		{"paused with nothing left to do", slicetest.Slice(2, "b b", slicetest.SettledAt("b"), slicetest.Paused), nil, status.CurrentStatus, "PodsAvailable"},
		{"the labels of a pod name another revision that means the same", sameAsAsked(slicetest.Slice(2, "c b", slicetest.SettledAt("b"))), nil, status.CurrentStatus, "PodsAvailable"},
		{"a new set", slicetest.Slice(2, ""), nil, status.InProgressStatus, "PodsUnavailable"},
		{"rolling out, all serve", slicetest.Slice(2, "a b"), nil, status.InProgressStatus, "PodsOutdated"},
		{"rolling out, one is on its way out", slicetest.Slice(2, "a at"), nil, status.InProgressStatus, "PodsOutdated"},
		{"the last one is not Ready", slicetest.Slice(2, "b b-", slicetest.SettledAt("b")), nil, status.InProgressStatus, "PodsUnavailable"},
		{"the last one is not available", slicetest.Slice(2, "b b5", slicetest.SettledAt("b"), slicetest.MinReady(60)), nil, status.InProgressStatus, "PodsUnavailable"},
		{"one is updated in place", slicetest.Slice(2, "b bi", slicetest.SettledAt("b")), nil, status.InProgressStatus, "PodsUnavailable"},
		{"a scale-up", slicetest.Slice(3, "b b", slicetest.SettledAt("b")), nil, status.InProgressStatus, "PodsUnavailable"},
		{"a scale-down", slicetest.Slice(1, "b bt", slicetest.SettledAt("b")), nil, status.InProgressStatus, "PodsLeaving"},
		{"a stand-in is left", slicetest.Slice(2, "b b b", slicetest.SettledAt("b"), slicetest.Surge(1)), nil, status.InProgressStatus, "PodsLeaving"},
		{"the canary of a partition is not complete", slicetest.Slice(3, "a a b-", slicetest.Partition(2)), nil, status.InProgressStatus, "PodsUnavailable"},
		{"one below the partition is lost", slicetest.Slice(3, ". a b", slicetest.Partition(2)), nil, status.InProgressStatus, "PodsUnavailable"},
		{"paused in mid-way", slicetest.Slice(2, "a b", slicetest.Paused), nil, status.InProgressStatus, decide.ReasonRolloutPaused},
		{"paused, one is lost", slicetest.Slice(2, ". b", slicetest.Paused), nil, status.InProgressStatus, "PodsUnavailable"},
		{"OnDelete, one is not there", slicetest.Slice(2, "b .", onDelete), nil, status.InProgressStatus, "PodsUnavailable"},
		{"the API server refuses a pod", slicetest.Slice(2, "b", slicetest.SettledAt("b")), errNoRoom, status.InProgressStatus, api.ConditionFailedCreatePod},
		{"the API server refuses an update", slicetest.Slice(2, "a b"), fmt.Errorf("%s of pod shop/web-0: no", decide.Delete), status.InProgressStatus, api.ConditionFailedUpdatePod},
		{"no progress in time", slicetest.Slice(2, "a b-", late), nil, status.FailedStatus, decide.ReasonRolloutDeadline},
		{"no progress in time, and refused", slicetest.Slice(2, "a .", late), errNoRoom, status.FailedStatus, decide.ReasonRolloutDeadline},
		{"Y3 a pod below the partition is not Ready", slicetest.Slice(3, "a- a b", late, slicetest.Partition(1)), nil, status.InProgressStatus, "PodsOutdated"},
		{"Y4 failed, and pods return", back(slicetest.Slice(2, "a b-", failed)), nil, status.FailedStatus, api.ReasonRevisionFailed},
		{"Y4 failed, and all pods have returned", back(slicetest.Slice(2, "a a", failed)), nil, status.FailedStatus, api.ReasonRevisionFailed},
		{"Y4 failed, and paused", back(slicetest.Slice(2, "a b", failed, slicetest.Paused)), nil, status.FailedStatus, api.ReasonRevisionFailed},
		{"Y4 failed, and scaled up", back(slicetest.Slice(3, "a a", failed)), errNoRoom, status.FailedStatus, api.ReasonRevisionFailed},
		{"being deleted", slicetest.Slice(2, "b b", slicetest.SettledAt("b"), deleting), nil, status.CurrentStatus, "PodsAvailable"},
		{"being deleted, one has gone", slicetest.Slice(2, "b .", slicetest.SettledAt("b"), deleting), nil, status.InProgressStatus, "StatefulSetDeleted"},
	} {
		t.Run("U-01 "+c.name, func(t *testing.T) {
			set := toldOf(c.in, c.failed)
			ready := meta.FindStatusCondition(set.Status.Conditions, api.ConditionReady)
			if ready == nil || ready.Reason != c.reason || ready.ObservedGeneration != 3 || ready.Message == "" {
				t.Errorf("%+v, want reason %s", ready, c.reason)
			}
			argo := map[status.Status]string{status.CurrentStatus: "Healthy", status.FailedStatus: "Degraded", status.InProgressStatus: "Progressing"}[c.want]
			if c.reason == decide.ReasonRolloutPaused {
				argo = "Suspended"
			}
			judge(t, set, c.want, argo)
			waits := c.reason == decide.ReasonRolloutPaused || c.reason == "StatefulSetDeleted"
			if atIt := meta.IsStatusConditionTrue(set.Status.Conditions, api.ConditionReconciling); atIt != (c.want == status.InProgressStatus && !waits) {
				t.Errorf("the controller is at it: %t", atIt)
			}
			agree(t, set.Status)
			set.Generation++
			judge(t, set, status.InProgressStatus, "Progressing")
			set.Generation--
			set.DeletionTimestamp = &metav1.Time{Time: slicetest.Noon}
			judge(t, set, status.TerminatingStatus, "Progressing")
		})
	}
}

// agree checks that the conditions of a status do not contradict each other.
func agree(t failer, s api.StatefulSetStatus) {
	t.Helper()
	is := func(kind string) bool { return meta.IsStatusConditionTrue(s.Conditions, kind) }
	ready, reconciling, stalled := is(api.ConditionReady), is(api.ConditionReconciling), is(api.ConditionStalled)
	switch {
	case ready && (reconciling || stalled), reconciling && stalled:
		t.Fatalf("more than one of Ready, Reconciling and Stalled: %+v", s.Conditions)
	case stalled != meta.IsStatusConditionFalse(s.Conditions, api.ConditionProgressing):
		t.Fatalf("Stalled and Progressing: %+v", s.Conditions)
	case ready && s.AvailableReplicas != s.Replicas:
		t.Fatalf("Ready with %d of %d available", s.AvailableReplicas, s.Replicas)
	}
	for _, c := range s.Conditions {
		abnormal := c.Type == api.ConditionReconciling || c.Type == api.ConditionStalled
		if abnormal && c.Status != metav1.ConditionTrue {
			t.Fatalf("%s is there though there is nothing abnormal: %+v", c.Type, c)
		}
	}
}

// TestConditionsAgree: for any decision and any former conditions, the conditions do not contradict each other.
func TestConditionsAgree(t *testing.T) {
	t.Run("U-01: of any decision", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			d := decide.Decision{Readiness: decide.Readiness{Reason: "PodsOutdated", Message: "1 of 2 pods are available"}, Status: decide.Status{Replicas: 2, Ready: 2, Available: 1}}
			switch state := rapid.SampledFrom([]string{"ready", "waits", "is at it", "failed"}).Draw(t, "state"); state {
			case "ready":
				d.Readiness, d.Status.Available = decide.Readiness{Ready: true, Reason: "PodsAvailable", Message: "2 of 2 pods are available"}, 2
			case "waits":
				d.Readiness.Waiting = true
			case "failed":
				d.Progress = decide.Progress{Revision: "b", Since: slicetest.Noon, Failed: true}
			}
			in := decide.Input{Now: slicetest.Noon, Spec: decide.Spec{Strategy: api.RollingUpdate, Replicas: 2, Paused: d.Readiness.Waiting}, Revisions: decide.Revisions{Current: "a", Update: "b"}}
			d.Complete = d.Readiness.Ready && rapid.Bool().Draw(t, "complete")
			var failed error
			if rapid.Bool().Draw(t, "refused") {
				failed = errNoRoom
			}
			set := slicetest.NamedSet("web", nil)
			for _, kind := range []string{api.ConditionReady, api.ConditionReconciling, api.ConditionStalled, api.ConditionProgressing} {
				if rapid.Bool().Draw(t, kind) { // of a previous pass
					condition(set, &set.Status, kind, true, "Before", "")
				}
			}
			s := statusOf(observe.Seen{Set: set}, in, d, failed)
			agree(t, s)
			if is := meta.IsStatusConditionTrue(s.Conditions, api.ConditionReady); is != d.Readiness.Ready {
				t.Fatalf("Ready is %t: %+v", is, s.Conditions)
			}
			if is := meta.IsStatusConditionTrue(s.Conditions, api.ConditionReconciling); is != (!d.Readiness.Ready && !d.Readiness.Waiting && !d.Progress.Failed) {
				t.Fatalf("somebody is said to be at it, %t: %+v", is, s.Conditions)
			}
		})
	})
}
