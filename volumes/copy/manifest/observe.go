package manifest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/mover/report"
)

// Mover is a mover's pod as observed.
type Mover struct {
	// Found is false if there is no pod; then nothing else is set.
	Found, Terminating bool
	UID                types.UID
	ResourceVersion    string
	Role               Role
	// Owner, Fence, Attempt, Pass and Claim are those that it was created with. Later marks update Fence.
	Owner         types.UID
	Fence         string
	Attempt, Pass int32
	// Warm is true if it was created for a pass while the application runs. Made is its creation time.
	Warm bool
	Made time.Time
	// Relayed is true if it listens for a relay.
	Relayed bool
	Claim   string
	// Node is the node that it runs on, and IP its own address; empty if not yet known.
	Node, IP string
	// Key is the fingerprint of its key; empty if it has not reported one yet.
	Key string
	// Peer is the fingerprint of its peer that was written to it. If it is empty, the mover waits.
	Peer string
	// Ended is true if none of its processes runs and none will.
	Ended bool
	// Result is its final report; nil if there is none that can be parsed. Trouble then has more.
	Result *report.Result
	// Trouble is the cluster's report of why it does not start, or how it ended without a result.
	Trouble string
	// Broken is true if the cause is not its volume: a container cannot be created, for example for lack of its
	// image.
	Broken bool
}

// Done reports whether it ended well: a receiver that is Equal, Copied or ReadBack, a sender that has Served, a prover
// that has Sealed.
func (m Mover) Done() bool {
	return m.Result != nil && slices.Contains([]string{report.Equal, report.Copied, report.ReadBack, report.Served, report.Sealed}, m.Result.Result)
}

// Alone reports whether it has read its volume whole, with no other mover.
func (m Mover) Alone() bool {
	return m.Role == RoleProver && m.Result != nil && m.Result.Result == report.Sealed
}

// Observe reads a mover from its pod; nil is a pod that does not exist.
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
			m.Broken, m.Trouble = true, fmt.Sprintf("its container %s reports no fingerprint, but %q: check that its image has the mover of this version", KeyContainer, cut(ended.Message))
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

// number returns 0 for a text that is no number. No attempt has that number.
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

// result returns the final report of a mover. A report that contradicts the exit code is rejected: the mover
// was killed after it had written the report, before it had finished.
func result(ended *corev1.ContainerStateTerminated) (*report.Result, string) {
	var said report.Result
	text := strings.TrimSpace(ended.Message)
	if err := json.Unmarshal([]byte(text), &said); err != nil || said.Version != report.Version || said.Result == "" {
		return nil, lastWords(MoverContainer, ended)
	}
	if good := (Mover{Result: &said}).Done(); good != (ended.ExitCode == 0) {
		return nil, fmt.Sprintf("its result is %s, and its exit code %d (%s): it was killed from outside", said.Result, ended.ExitCode, ended.Reason)
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

// cut shortens a text from a cluster to fit into a condition.
func cut(text string) string {
	const most = 300
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + " ..."
}

// starting lists the reasons of a waiting container that are no error.
var starting = map[string]bool{"": true, "ContainerCreating": true, "PodInitializing": true}

// held reports whether a container waits for something that time alone does not provide.
func held(container corev1.ContainerStatus) bool {
	waiting := container.State.Waiting
	return waiting != nil && !starting[waiting.Reason]
}

// trouble returns why a mover that has no result yet makes no progress.
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
