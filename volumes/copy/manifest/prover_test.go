package manifest

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sliceshift/sliceshift/mover/report"
)

// TestProver: a prover reads its volume whole and alone: it has no peer, no key and no network, and cannot write. It
// does not know the root of the copy.
func TestProver(t *testing.T) {
	for name, mode := range map[string]corev1.PersistentVolumeMode{"a tree": corev1.PersistentVolumeFilesystem, "a device": corev1.PersistentVolumeBlock} {
		pod := Prover(changed(full(), func(s *Spec) { s.Mode, s.Tally, s.Deadline = mode, "tally", 0 }))
		args := pod.Spec.Containers[0].Args
		want := []string{"seal", "--tally=tally", "--root=" + Root}
		if mode == corev1.PersistentVolumeBlock {
			want[2] = "--device=" + Device
		}
		if !slices.Equal(args, want) || len(pod.Spec.InitContainers) > 0 || len(pod.Spec.Volumes) != 1 || !pod.Spec.Volumes[0].PersistentVolumeClaim.ReadOnly {
			t.Errorf("%s: %v, %+v", name, args, pod.Spec)
		}
		if mounts := pod.Spec.Containers[0].VolumeMounts; len(mounts) > 1 || len(mounts) == 1 && !mounts[0].ReadOnly {
			t.Errorf("%s: %+v", name, mounts)
		}
		if *pod.Spec.ActiveDeadlineSeconds < 7*24*3600 || pod.Labels[RoleLabelKey] != string(RoleProver) || pod.Spec.ReadinessGates == nil {
			t.Errorf("%s: %+v", name, pod)
		}
	}
}

// TestAlone: only a prover that has sealed its volume has read it alone. The root of a receiver does not count as that.
func TestAlone(t *testing.T) {
	of := func(role Role, result string) Mover {
		pod := Prover(spec())
		pod.Labels[RoleLabelKey] = string(role)
		text, err := json.Marshal(report.Result{Version: report.Version, Result: result, Root: "r"})
		if err != nil {
			t.Fatal(err)
		}
		pod.Status = corev1.PodStatus{Phase: corev1.PodSucceeded, ContainerStatuses: []corev1.ContainerStatus{{
			Name: MoverContainer, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: string(text), FinishedAt: metav1.Now()}},
		}}}
		return Observe(pod)
	}
	if m := of(RoleProver, report.Sealed); !m.Alone() || !m.Done() {
		t.Errorf("%+v", m)
	}
	for role, result := range map[Role]string{RoleReceiver: report.ReadBack, RoleLast: report.Sealed, RoleProver: report.ReadBack} {
		if of(role, result).Alone() {
			t.Errorf("%s with %s has read alone", role, result)
		}
	}
}

// TestLaterOfReceivers: the receivers of a tree keep the digests of parts between two passes, and the senders say for which
// copy their times count. On a device nothing can be kept, so that a warm pass reads nothing back.
func TestLaterOfReceivers(t *testing.T) {
	later := func(s *Spec) { s.Verify, s.Copy = "Later", "c" }
	device := func(s *Spec) { s.Mode = corev1.PersistentVolumeBlock }
	warm := func(s *Spec) { s.Warm = true }
	for name, tc := range map[string]struct {
		changes []func(*Spec)
		want    string
		copy    bool
	}{
		"last":           {[]func(*Spec){later}, "--verify=Later", true},
		"warm":           {[]func(*Spec){later, warm}, "--verify=Later", true},
		"device":         {[]func(*Spec){later, device}, "--verify=Later", false},
		"warm, a device": {[]func(*Spec){later, device, warm}, "--verify=None", false},
	} {
		s := spec()
		for _, change := range tc.changes {
			change(&s)
		}
		args := Receiver(s).Spec.Containers[0].Args
		if !slices.Contains(args, tc.want) || slices.Contains(args, "--copy=c") != tc.copy {
			t.Errorf("%s: %v", name, args)
		}
		if args := Sender(s).Spec.Containers[0].Args; slices.Contains(args, "--copy=c") != tc.copy || slices.Contains(args, "--scratch="+Scratch) {
			t.Errorf("%s: the sender has %v", name, args)
		}
	}
	s := spec()
	later(&s)
	s.Copy = ""
	if args := Sender(s).Spec.Containers[0].Args; slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "--copy") }) {
		t.Errorf("a sender of a snapshot: %v", args)
	}
}
