package judge

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// sideWrapper builds one side of a replica sample.
type sideWrapper struct{ ReplicaSide }

func makeSide(start, replicas int32) *sideWrapper {
	return &sideWrapper{ReplicaSide{Asked: []int32{0, 1, 2, 3, 4}, Set: SliceState{
		UID: "set", Generation: 1, Start: start, Replicas: replicas, Labels: map[string]string{"app": "web"},
	}}}
}

func (w *sideWrapper) ready(ordinals ...int32) *sideWrapper {
	for _, ordinal := range ordinals {
		w.pods(readyPod(ordinal, fmt.Sprintf("pod-%d", ordinal)))
	}
	return w
}

func (w *sideWrapper) pods(pods ...PodState) *sideWrapper {
	w.Pods = append(w.Pods, pods...)
	w.Seen = append(w.Seen, pods...)
	return w
}

func (w *sideWrapper) budget(budgets ...DisruptionBudget) *sideWrapper {
	w.Budgets = append(w.Budgets, budgets...)
	return w
}

func (w *sideWrapper) obj() ReplicaSide { return w.ReplicaSide }

func readyPod(ordinal int32, uid string) PodState {
	return PodState{Ordinal: ordinal, UID: types.UID(uid), RV: "1", Ready: true}
}

// makeBudget returns a budget over the pods of the tests that the controller has observed.
func makeBudget(name string, maxUnavailable, allowed int32) DisruptionBudget {
	value := intstr.FromInt32(maxUnavailable)
	return DisruptionBudget{
		Name: name, UID: types.UID(name), RV: "1", Generation: 1, ObservedGeneration: 1, Allowed: allowed,
		Selector:       &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		MaxUnavailable: &value,
	}
}

func (b DisruptionBudget) unseen() DisruptionBudget {
	b.Generation++
	return b
}

func (b DisruptionBudget) selecting(app string) DisruptionBudget {
	b.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
	return b
}

func (b DisruptionBudget) minAvailable(value string) DisruptionBudget {
	v := intstr.Parse(value)
	b.MaxUnavailable, b.MinAvailable = nil, &v
	return b
}

// makeVolume returns a volume that is bound to a claim of namespace shop.
func makeVolume(name, handle, claim, claimUID string) VolumeState {
	return VolumeState{
		Name: name, UID: types.UID("uid-" + name), RV: "1", Handle: handle,
		Policy: corev1.PersistentVolumeReclaimRetain, Phase: corev1.VolumeBound,
		ClaimNamespace: "shop", ClaimName: claim, ClaimUID: types.UID(claimUID),
	}
}

// makeClaim returns the bound claim data-web-<ordinal>.
func makeClaim(ordinal int32, uid, volume string) ClaimState {
	key := VolumeKey{Ordinal: ordinal, Template: "data"}
	return ClaimState{
		Name: key.ClaimName("web"), UID: types.UID(uid), RV: "1", VolumeName: volume,
		Phase: corev1.ClaimBound, Key: &key,
	}
}

func makeStorage(claims []ClaimState, volumes ...VolumeState) VolumeSide {
	return VolumeSide{Namespace: "shop", Claims: claims, Volumes: volumes}
}
