package manifest

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/sliceshift/sliceshift/mover/report"
)

// TestFresh: a receiver whose claim no mover could have written to reports no key unless the claim is empty.
// For a device this cannot be checked.
func TestFresh(t *testing.T) {
	for name, tc := range map[string]struct {
		spec Spec
		want bool
	}{
		"nothing was written": {Spec{Claim: "in", Fresh: true}, true},
		"something was":       {Spec{Claim: "in"}, false},
		"a device":            {Spec{Claim: "in", Fresh: true, Mode: corev1.PersistentVolumeBlock}, false},
	} {
		key := Receiver(tc.spec).Spec.InitContainers[0]
		mounts := slices.ContainsFunc(key.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == "volume" && m.ReadOnly && m.MountPath == Root })
		if asks := slices.Contains(key.Args, "--empty="+Root); asks != tc.want || mounts != tc.want {
			t.Errorf("%s: %v %v", name, key.Args, key.VolumeMounts)
		}
	}
}

// TestNotEmptyIsSeen: a receiver's report of a volume that is not empty is its result.
func TestNotEmptyIsSeen(t *testing.T) {
	said := report.Result{Version: report.Version, Side: "Receiver", Result: report.NotEmpty, Path: "theirs"}
	ends := func(code int32, message string) Mover {
		return Observe(&corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodFailed, InitContainerStatuses: []corev1.ContainerStatus{{
			Name: KeyContainer, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Message: message}},
		}}}})
	}
	if m := ends(1, string(said.JSON(report.Most))); !m.Ended || m.Key != "" || m.Done() || m.Result == nil || m.Result.Path != "theirs" {
		t.Errorf("%+v", m)
	}
	if m := ends(1, "mover key: --empty: permission denied"); m.Result != nil || m.Key != "" || !strings.Contains(m.Trouble, "permission denied") {
		t.Errorf("%+v", m)
	}
}
