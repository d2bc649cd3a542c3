package world

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sliceshift/sliceshift/internal/clusters/clustertest"
	"github.com/sliceshift/sliceshift/migration/endpoint/endpointtest"
	"github.com/sliceshift/sliceshift/mover/report"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/copy/manifest"
)

// naming returns a pod that names the incoming claim.
func naming(name string, phase corev1.PodPhase) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
		Spec: corev1.PodSpec{Volumes: []corev1.Volume{{VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "incoming"},
		}}}},
		Status: corev1.PodStatus{Phase: phase},
	}
}

// TestCopyUsers: a claim of a copy counts as unused only if a live list shows that its receiver has ended well and that
// no other pod names the claim (I2).
func TestCopyUsers(t *testing.T) {
	said, err := json.Marshal(report.Result{Version: report.Version, Result: report.Equal, Locked: true})
	if err != nil {
		t.Fatal(err)
	}
	receiver := func(phase corev1.PodPhase, code int32) *corev1.Pod {
		pod := naming("receiver", phase)
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: manifest.MoverContainer, State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Message: string(said)},
		}}}
		return pod
	}
	ended := receiver(corev1.PodSucceeded, 0)
	for name, tc := range map[string]struct {
		receiver, other *corev1.Pod
		reserved        string
		want            bool
	}{
		"it has ended":               {ended, nil, "incoming", true},
		"its volume is parked":       {ended, nil, volumes.Parked(volumes.Ref{Name: "incoming"}).Name, true},
		"its volume is taken over":   {ended, nil, "data-web-0", false},
		"its pod is not over":        {receiver(corev1.PodRunning, 0), nil, "incoming", false},
		"it was killed":              {receiver(corev1.PodFailed, 137), nil, "incoming", false},
		"it does not exist":          {nil, nil, "incoming", false},
		"another pod has the claim":  {ended, naming("backup", corev1.PodRunning), "incoming", false},
		"another pod waits for it":   {ended, naming("backup", corev1.PodPending), "incoming", false},
		"another pod has ended with": {ended, naming("backup", corev1.PodSucceeded), "incoming", true},
	} {
		cluster := clustertest.New()
		for _, pod := range []*corev1.Pod{tc.receiver, tc.other} {
			if pod == nil {
				continue
			}
			if err := cluster.Create(t.Context(), pod.DeepCopy()); err != nil {
				t.Fatal(err)
			}
		}
		part := &copyPart{role: volumes.RoleReceiver, claimName: "incoming", volumeName: "new", pod: tc.receiver}
		volume := &corev1.PersistentVolume{Spec: corev1.PersistentVolumeSpec{ClaimRef: &corev1.ObjectReference{Namespace: "shop", Name: tc.reserved}}}
		f := &observed{endpoint: endpointtest.Destination(cluster), copying: map[string]*copyPart{"data": part}, volumes: map[string]*corev1.PersistentVolume{"new": volume}}
		f.endpoint.Namespace = "shop"
		if err := f.readCopyUsers(t.Context()); err != nil || part.unused != tc.want {
			t.Errorf("%s: unused is %t (%v)", name, part.unused, err)
		}
	}
}
