package manifest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/mover/report"
)

// Mover is a mover's pod as it was seen.
type Mover struct {
	// Found is false where there is no pod, and then nothing else is set.
	Found, Terminating bool
	UID                types.UID
	ResourceVersion    string
	Role               Role
	// Owner, Fence, Attempt, Pass and Claim are what it was made with, and Fence what it was marked with since.
	Owner         types.UID
	Fence         string
	Attempt, Pass int32
	// Warm: it was made for a pass while the application runs. Made is when.
	Warm bool
	Made time.Time
	// Relayed: it listens for a relay.
	Relayed bool
	Claim   string
	// Node is where it runs, and IP its own address; empty: not yet.
	Node, IP string
	// Key is the fingerprint of the key that it has made; empty: it has not said so yet.
	Key string
	// Peer is the fingerprint that it was told; empty: none, and it waits.
	Peer string
	// Ended is true when none of its processes runs and none will.
	Ended bool
	// Result is what it said at its end; nil: nothing that can be understood, and Trouble says more.
	Result *report.Result
	// Trouble is why it does not start, or how it has ended without a result, as the cluster says it.
	Trouble string
	// Broken is true where that is not its volume: a container cannot be made, for want of its image, say.
	Broken bool
}

// Done says whether it ended well: a receiver that is Equal or Copied, a sender that has Served.
func (m Mover) Done() bool {
	return m.Result != nil && (m.Result.Result == report.Equal || m.Result.Result == report.Copied || m.Result.Result == report.Served)
}

// Observe reads a mover from its pod; nil is one that is not there.
func Observe(pod *corev1.Pod) Mover {
	if pod == nil {
		return Mover{}
	}
	m := Mover{
		Found: true, Terminating: pod.DeletionTimestamp != nil, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
		Role: Role(pod.Labels[RoleLabelKey]), Owner: types.UID(pod.Annotations[api.OwnerAnnotationKey]), Fence: pod.Annotations[api.FenceAnnotationKey],
		Attempt: number(pod.Annotations[AttemptAnnotationKey]), Pass: number(pod.Annotations[PassAnnotationKey]),
		Relayed: pod.Annotations[TransportAnnotationKey] == string(api.TransportRelay),
		Warm:    pod.Annotations[WarmAnnotationKey] != "", Made: pod.CreationTimestamp.Time,
		Claim: claimOf(pod), Node: pod.Spec.NodeName, IP: pod.Status.PodIP, Peer: pod.Annotations[PeerAnnotationKey],
		Ended: pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed,
	}
	key, mover := statusOf(pod.Status.InitContainerStatuses, KeyContainer), statusOf(pod.Status.ContainerStatuses, MoverContainer)
	if ended := key.State.Terminated; ended != nil && ended.ExitCode == 0 {
		m.Key = fingerprint(ended.Message)
		if m.Key == "" {
			m.Broken, m.Trouble = true, fmt.Sprintf("its container %s says no fingerprint, but %q: does its image hold the mover of this version?", KeyContainer, cut(ended.Message))
		}
	}
	if ended := key.State.Terminated; ended != nil && ended.ExitCode != 0 {
		if said, _ := result(ended); said != nil {
			m.Ended, m.Result = true, said
			return m
		}
	}
	if ended := mover.State.Terminated; ended != nil {
		m.Ended = true
		m.Result, m.Trouble = result(ended)
		return m
	}
	if m.Trouble == "" {
		m.Trouble = trouble(pod, key, mover)
	}
	m.Broken = m.Broken || held(key) || held(mover)
	return m
}

func claimOf(pod *corev1.Pod) string {
	for _, volume := range pod.Spec.Volumes {
		if volume.PersistentVolumeClaim != nil {
			return volume.PersistentVolumeClaim.ClaimName
		}
	}
	return ""
}

// number is 0 for what is none: an attempt that is nobody's.
func number(text string) int32 {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return 0
	}
	return int32(n)
}

func statusOf(all []corev1.ContainerStatus, name string) corev1.ContainerStatus {
	for _, each := range all {
		if each.Name == name {
			return each
		}
	}
	return corev1.ContainerStatus{}
}

var fingerprints = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

func fingerprint(message string) string {
	text := strings.TrimSpace(message)
	if !fingerprints.MatchString(text) {
		return ""
	}
	return text
}

// result is what a mover says at its end. What contradicts its exit code is not believed: it was killed
// after it had written that, and what it had still to do was not done.
func result(ended *corev1.ContainerStateTerminated) (*report.Result, string) {
	var said report.Result
	text := strings.TrimSpace(ended.Message)
	if err := json.Unmarshal([]byte(text), &said); err != nil || said.Version != report.Version || said.Result == "" {
		return nil, lastWords(MoverContainer, ended)
	}
	if good := (Mover{Result: &said}).Done(); good != (ended.ExitCode == 0) {
		return nil, fmt.Sprintf("its result is %s, and its exit code %d (%s): it was ended from outside", said.Result, ended.ExitCode, ended.Reason)
	}
	return &said, ""
}

func lastWords(container string, ended *corev1.ContainerStateTerminated) string {
	text := fmt.Sprintf("its container %s ended with exit code %d", container, ended.ExitCode)
	if ended.Reason != "" && ended.Reason != "Error" {
		text += " (" + ended.Reason + ")"
	}
	if message := strings.TrimSpace(ended.Message); message != "" {
		text += ": " + cut(message[strings.LastIndexByte(message, '\n')+1:])
	}
	return text
}

// cut makes a text of a cluster's short enough for a condition.
func cut(text string) string {
	const most = 300
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + " ..."
}

// starting are the reasons for which a container waits and nothing is wrong.
var starting = map[string]bool{"": true, "ContainerCreating": true, "PodInitializing": true}

// held says whether a container waits for what does not come with time alone.
func held(container corev1.ContainerStatus) bool {
	waiting := container.State.Waiting
	return waiting != nil && !starting[waiting.Reason]
}

// trouble is why a mover does not get on that has no result yet.
func trouble(pod *corev1.Pod, key, mover corev1.ContainerStatus) string {
	if ended := key.State.Terminated; ended != nil && ended.ExitCode != 0 {
		return lastWords(KeyContainer, ended)
	}
	if pod.Status.Phase == corev1.PodFailed {
		return fmt.Sprintf("its pod failed (%s): %s", pod.Status.Reason, cut(pod.Status.Message))
	}
	for _, each := range []corev1.ContainerStatus{key, mover} {
		if waiting := each.State.Waiting; held(each) {
			return fmt.Sprintf("its container %s waits (%s): %s", each.Name, waiting.Reason, cut(waiting.Message))
		}
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return fmt.Sprintf("it has no node (%s): %s", c.Reason, cut(c.Message))
		}
	}
	return ""
}
