package manifest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/sliceshift/sliceshift/mover/report"
)

var someKey = "sha256:" + strings.Repeat("0a", 32)

func status(name string, state corev1.ContainerState) []corev1.ContainerStatus {
	return []corev1.ContainerStatus{{Name: name, State: state}}
}

func ended(code int32, reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, Message: message}}
}

func waiting(reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
}

// running returns a receiver that knows its peer.
func running() *corev1.Pod {
	pod := Receiver(spec())
	pod.UID, pod.ResourceVersion = "u", "9"
	pod.Spec.NodeName = "node-1"
	pod.Annotations[PeerAnnotationKey] = someKey
	pod.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: "10.0.0.1", InitContainerStatuses: status(KeyContainer, ended(0, "Completed", someKey)),
		ContainerStatuses: status(MoverContainer, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}),
	}
	return pod
}

func seen(change func(*Mover)) Mover {
	m := Mover{
		Found: true, UID: "u", ResourceVersion: "9", Role: RoleReceiver, Owner: "m", Fence: "m/7", Attempt: 2, Pass: 3,
		Claim: "sliceshift-in-x1-a2", Node: "node-1", IP: "10.0.0.1", Key: someKey, Peer: someKey,
	}
	change(&m)
	return m
}

func with(change func(*corev1.Pod)) *corev1.Pod {
	pod := running()
	change(pod)
	return pod
}

func mover(state corev1.ContainerState) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Status.ContainerStatuses = status(MoverContainer, state) }
}

func says(result string) string {
	return string(report.Result{Version: report.Version, Result: result}.JSON(report.Most))
}

func ends(result string) func(*Mover) {
	return func(m *Mover) { m.Ended, m.Result = true, &report.Result{Version: report.Version, Result: result} }
}

func troubled(text string) func(*Mover) { return func(m *Mover) { m.Trouble = text } }

func broken(text string) func(*Mover) {
	return func(m *Mover) { m.Broken, m.Trouble = true, text }
}

func lost(text string) func(*Mover) {
	return func(m *Mover) { m.Ended, m.Trouble = true, text }
}

// TestObserve: the fields that are read from a pod, in each state that a cluster can show.
func TestObserve(t *testing.T) {
	young := func(change func(*corev1.PodStatus)) *corev1.Pod {
		return with(func(pod *corev1.Pod) {
			pod.Status = corev1.PodStatus{Phase: corev1.PodPending, PodIP: "10.0.0.1"}
			change(&pod.Status)
		})
	}
	keyless := func(then func(*Mover)) func(*Mover) {
		return func(m *Mover) {
			m.Key = ""
			then(m)
		}
	}
	now := metav1.Now()
	for name, tc := range map[string]struct {
		pod  *corev1.Pod
		want func(*Mover)
	}{
		"runs":        {running(), func(*Mover) {}},
		"terminating": {with(func(pod *corev1.Pod) { pod.DeletionTimestamp = &now }), func(m *Mover) { m.Terminating = true }},
		"not told":    {with(func(pod *corev1.Pod) { delete(pod.Annotations, PeerAnnotationKey) }), func(m *Mover) { m.Peer = "" }},
		"of nobody": {with(func(pod *corev1.Pod) {
			pod.Annotations[AttemptAnnotationKey], pod.Annotations[PassAnnotationKey] = "many", "99999999999"
		}), func(m *Mover) { m.Attempt, m.Pass = 0, 0 }},
		"equal":               {with(mover(ended(0, "Completed", says(report.Equal)))), ends(report.Equal)},
		"copied":              {with(mover(ended(0, "Completed", says(report.Copied)))), ends(report.Copied)},
		"served":              {with(mover(ended(0, "Completed", says(report.Served)))), ends(report.Served)},
		"M-039: says nothing": {with(mover(ended(0, "Completed", `{"version":1}`))), lost(`its container mover ended with exit code 0 (Completed): {"version":1}`)},
		"M-092: different":    {with(mover(ended(3, "Error", says(report.Different)))), ends(report.Different)},
		"discard":             {with(mover(ended(4, "Error", says(report.Discard)))), ends(report.Discard)},
		"M-092: killed":       {with(mover(ended(137, "OOMKilled", ""))), lost("its container mover ended with exit code 137 (OOMKilled)")},
		"killed late":         {with(mover(ended(137, "Error", says(report.Equal)))), lost("its result is Equal, and its exit code 137 (Error): it was ended from outside")},
		"no failure":          {with(mover(ended(0, "Completed", says(report.Failed)))), lost("its result is Failed, and its exit code 0 (Completed): it was ended from outside")},
		"another image":       {with(mover(ended(2, "Error", "first\nno such command\n"))), lost("its container mover ended with exit code 2: no such command")},
		"newer": {with(mover(ended(0, "Completed", `{"version":2,"result":"Equal"}`))), lost(
			`its container mover ended with exit code 0 (Completed): {"version":2,"result":"Equal"}`)},
		"evicted": {with(func(pod *corev1.Pod) {
			pod.Status = corev1.PodStatus{Phase: corev1.PodFailed, PodIP: "10.0.0.1", Reason: "Evicted", Message: "no memory"}
		}), keyless(lost("its pod failed (Evicted): no memory"))},
		"late": {with(func(pod *corev1.Pod) {
			pod.Status.Phase, pod.Status.Reason, pod.Status.Message = corev1.PodFailed, "DeadlineExceeded", "too long"
		}), lost("its pod failed (DeadlineExceeded): too long")},
		"M-095: no image": {young(func(s *corev1.PodStatus) {
			s.InitContainerStatuses = status(KeyContainer, waiting("ImagePullBackOff", "not found"))
		}), keyless(broken("its container key waits (ImagePullBackOff): not found"))},
		"starting": {young(func(s *corev1.PodStatus) {
			s.InitContainerStatuses, s.ContainerStatuses = status(KeyContainer, waiting("PodInitializing", "")), status(MoverContainer, waiting("PodInitializing", ""))
		}), keyless(func(*Mover) {})},
		"M-095: no node": {young(func(s *corev1.PodStatus) {
			s.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes"}}
		}), keyless(troubled("it has no node (Unschedulable): 0/3 nodes"))},
		"no key": {young(func(s *corev1.PodStatus) {
			s.Phase, s.InitContainerStatuses = corev1.PodFailed, status(KeyContainer, ended(2, "Error", "mover key: no space"))
		}), keyless(lost("its container key ended with exit code 2: mover key: no space"))},
		"another program": {young(func(s *corev1.PodStatus) {
			s.InitContainerStatuses = status(KeyContainer, ended(0, "Completed", "usage: ..."))
		}), keyless(
			broken(`its container key says no fingerprint, but "usage: ...": does its image hold the mover of this version?`))},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(seen(tc.want), Observe(tc.pod)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
	if diff := cmp.Diff(Mover{}, Observe(nil)); diff != "" {
		t.Errorf("of no pod (-want +got)\n%s", diff)
	}
}

// TestMessagesAreCut: at most 300 bytes of a message are shown, and a cut is marked.
func TestMessagesAreCut(t *testing.T) {
	fits := strings.Repeat("x", 300)
	for said, want := range map[string]string{fits: fits, fits + "y": fits + " ...", fits[1:] + "ü": fits[1:] + " ..."} {
		m := Observe(with(mover(ended(1, "Error", said))))
		if diff := cmp.Diff("its container mover ended with exit code 1: "+want, m.Trouble); diff != "" {
			t.Errorf("of %d bytes: -want +got\n%s", len(said), diff)
		}
	}
}

// TestObserveAnything: whatever the termination messages hold, a mover has ended well only with exit code 0 and
// a result of success. Messages are shortened.
func TestObserveAnything(t *testing.T) {
	results := []string{report.Equal, report.Copied, report.Served, report.Sealed, report.Different, report.Failed, report.Discard}
	rapid.Check(t, func(t *rapid.T) {
		message := rapid.OneOf(rapid.String(), rapid.StringN(0, 5000, 5000), rapid.Map(rapid.SampledFrom(results), says)).Draw(t, "message")
		code := rapid.Int32Range(0, 3).Draw(t, "code")
		m := Observe(with(func(pod *corev1.Pod) {
			pod.Status.InitContainerStatuses = status(KeyContainer, ended(rapid.Int32Range(0, 1).Draw(t, "key's code"), "", message))
			mover(ended(code, "", message))(pod)
		}))
		if m.Done() && (code != 0 || m.Trouble != "") {
			t.Errorf("done, with exit code %d and trouble %q", code, m.Trouble)
		}
		if !m.Ended || (m.Result == nil) != (m.Trouble != "") || len(m.Trouble) > 500 {
			t.Errorf("got %+v", m)
		}
		if m.Key != "" {
			t.Errorf("%q is taken for a fingerprint", message)
		}
	})
}
