package slices

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/slices/decide"
	"github.com/sliceshift/sliceshift/slices/internal/slicetest"
)

// heartbeat is an API server with one node.
type heartbeat struct {
	client.Reader
	// ready is the node's condition Ready, since a time, and lease the version of its lease.
	ready corev1.ConditionStatus
	since time.Time
	lease string
	// err is the answer about the node, and leaseErr that about its lease.
	err, leaseErr error
}

// Get implements client.Reader.
func (h *heartbeat) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	switch o := object.(type) {
	case *corev1.Node:
		o.Name = key.Name
		o.Status.Conditions = []corev1.NodeCondition{
			{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse},
			{Type: corev1.NodeReady, Status: h.ready, LastTransitionTime: metav1.NewTime(h.since)},
		}
		return h.err
	case *metav1.PartialObjectMetadata:
		if key != (client.ObjectKey{Namespace: "kube-node-lease", Name: "node-1"}) {
			return errors.New("another lease: " + key.String())
		}
		o.ResourceVersion = h.lease
		return h.leaseErr
	default:
		return h.Reader.Get(ctx, key, object, options...)
	}
}

// TestY12NodesAnswer: a node answers if it renews its lease between two requests, if it may not be read, or if Kubernetes
// would have judged it by now. A request that fails is no answer.
func TestY12NodesAnswer(t *testing.T) {
	const ready, unknown = corev1.ConditionTrue, corev1.ConditionUnknown
	forbidden, missing, broken := apierrors.NewForbidden(corev1.Resource("nodes"), "node-1", nil), apierrors.NewNotFound(corev1.Resource("nodes"), "node-1"), errors.New("no route to host")
	type request struct {
		after time.Duration
		heartbeat
	}
	since := slicetest.Noon.Add(-time.Hour)
	for name, tc := range map[string]struct {
		requests []request
		answers  bool
		lost     time.Time
	}{
		"once":                       {[]request{{0, heartbeat{ready: ready, lease: "1"}}}, false, time.Time{}},
		"it renews its lease":        {[]request{{0, heartbeat{ready: ready, lease: "1"}}, {15 * time.Second, heartbeat{ready: ready, lease: "2"}}}, true, time.Time{}},
		"it does not":                {[]request{{0, heartbeat{ready: ready, lease: "1"}}, {15 * time.Second, heartbeat{ready: ready, lease: "1"}}}, false, time.Time{}},
		"it did, some time ago":      {[]request{{0, heartbeat{ready: ready, lease: "1"}}, {series + time.Second, heartbeat{ready: ready, lease: "2"}}}, false, time.Time{}},
		"it did within a series":     {[]request{{0, heartbeat{ready: ready, lease: "1"}}, {series, heartbeat{ready: ready, lease: "2"}}}, true, time.Time{}},
		"it is not judged yet":       {[]request{{0, heartbeat{ready: ready, lease: "1"}}, {40 * time.Second, heartbeat{ready: ready, lease: "1"}}, {40 * time.Second, heartbeat{ready: ready, lease: "1"}}}, false, time.Time{}},
		"it would be judged by now":  {[]request{{0, heartbeat{ready: ready, lease: "1"}}, {40 * time.Second, heartbeat{ready: ready, lease: "1"}}, {40 * time.Second, heartbeat{ready: ready, lease: "1"}}, {10 * time.Second, heartbeat{ready: ready, lease: "1"}}}, true, time.Time{}},
		"it has no lease":            {[]request{{0, heartbeat{ready: ready, leaseErr: missing}}}, true, time.Time{}},
		"its lease may not be read":  {[]request{{0, heartbeat{ready: ready, leaseErr: forbidden}}}, true, time.Time{}},
		"its lease was not answered": {[]request{{0, heartbeat{ready: ready, leaseErr: broken}}, {15 * time.Second, heartbeat{ready: ready, lease: "2"}}}, false, time.Time{}},
		"it may not be read":         {[]request{{0, heartbeat{err: forbidden}}}, true, time.Time{}},
		"it does not exist":          {[]request{{0, heartbeat{err: missing}}}, true, time.Time{}},
		"no answer":                  {[]request{{0, heartbeat{err: broken}}}, false, time.Time{}},
		"it is lost":                 {[]request{{0, heartbeat{ready: unknown, since: since}}}, false, since},
		"it was lost, and no answer": {[]request{{0, heartbeat{ready: unknown, since: since}}, {15 * time.Second, heartbeat{err: broken}}}, false, since},
		"it is back":                 {[]request{{0, heartbeat{ready: unknown, since: since}}, {15 * time.Second, heartbeat{ready: ready, leaseErr: missing}}}, true, time.Time{}},
		"it answered, and is silent": {[]request{{0, heartbeat{ready: ready, leaseErr: missing}}, {answersFor + time.Second, heartbeat{ready: ready, lease: "1"}}}, false, time.Time{}},
	} {
		var n nodes
		now := slicetest.Noon
		for _, r := range tc.requests {
			now = now.Add(r.after)
			before := n.of("node-1").lost
			if changed := n.ask(t.Context(), &r.heartbeat, "node-1", now); changed != !before.Equal(n.of("node-1").lost) {
				t.Errorf("%s: changed %t", name, changed)
			}
		}
		pods := []decide.Pod{{Node: "node-1"}, {Node: "node-1", Ready: true}, {Node: "node-1", Terminating: true}, {Node: "node-2"}, {Node: "node-1", LostSince: slicetest.Noon}}
		n.mark(pods, now)
		if pods[0].Answers != tc.answers || !pods[0].LostSince.Equal(tc.lost) || !pods[0].Asked.Equal(now) {
			t.Errorf("%s: %+v", name, pods[0])
		}
		for _, other := range pods[1:4] {
			if other.Answers || !other.LostSince.IsZero() || !other.Asked.IsZero() {
				t.Errorf("%s: another pod is marked: %+v", name, other)
			}
		}
		if !pods[4].LostSince.Equal(slicetest.Noon) {
			t.Errorf("%s: what the pod's status shows is replaced: %+v", name, pods[4])
		}
		late := []decide.Pod{{Node: "node-1"}}
		if n.mark(late, now.Add(answersFor+time.Second)); late[0].Answers {
			t.Errorf("%s: an answer counts for ever", name)
		}
	}
}

// TestY12NodesAreForgotten: answers of nodes that nobody asks any more are removed.
func TestY12NodesAreForgotten(t *testing.T) {
	var n nodes
	n.ask(t.Context(), &heartbeat{ready: corev1.ConditionTrue}, "node-1", slicetest.Noon)
	n.keep("node-2", node{asked: slicetest.Noon.Add(forgotten)})
	if len(n.known) != 2 {
		t.Errorf("known %v", n.known)
	}
	if n.keep("node-2", node{asked: slicetest.Noon.Add(forgotten + time.Second)}); len(n.known) != 1 {
		t.Errorf("known %v", n.known)
	}
}

// TestY12PodThatWasNeverReady: a roll-out does not fail because of a pod that starts on a node that is lost meanwhile. The
// status names the node, and the roll-out fails when the node is back and the pod is late.
func TestY12PodThatWasNeverReady(t *testing.T) {
	s := newStage(t, 2)
	h := &heartbeat{Reader: s.r.Live, ready: corev1.ConditionTrue, lease: "1"}
	s.r.Live = h
	if err := s.passes(10); err != nil {
		t.Fatal(err)
	}
	s.step = 20 * time.Second
	s.image("stuck")
	pass := func(n int) {
		for range n {
			if err := s.passes(1); err != nil {
				t.Fatal(err)
			}
			if pod := s.pods()["web-1"]; pod != nil && pod.Spec.NodeName == "" {
				pod.Spec.NodeName = "node-1"
				if err := s.server.Update(s.ctx, pod); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	pass(10)
	h.ready, h.since = corev1.ConditionUnknown, s.clock.Now()
	pass(30)
	set := s.set()
	held := s.condition(api.ConditionHeld)
	if set.Status.FailedRevision != "" || s.condition(api.ConditionStalled) != nil {
		t.Errorf("the revision is blamed: %q, %+v", set.Status.FailedRevision, set.Status.Conditions)
	}
	if held == nil || !strings.Contains(held.Message, "web-1: it is not Ready, because node node-1 is not Ready or does not answer since") || !strings.Contains(held.Message, "kubectl taint nodes node-1 node.kubernetes.io/out-of-service") {
		t.Errorf("held %+v", held)
	}
	h.ready, h.leaseErr = corev1.ConditionTrue, apierrors.NewNotFound(corev1.Resource("leases"), "node-1")
	pass(40)
	if set := s.set(); set.Status.FailedRevision == "" {
		t.Errorf("it does not fail: %+v", set.Status.Conditions)
	}
}
