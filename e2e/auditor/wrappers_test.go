package auditor

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// sideWrapper builds one side of a replica sample.
type sideWrapper struct{ replicaSide }

func makeSide(start, replicas int32) *sideWrapper {
	return &sideWrapper{replicaSide{Asked: []int32{0, 1, 2, 3, 4}, Set: sliceState{
		UID: "set", Generation: 1, Start: start, Replicas: replicas, Labels: map[string]string{"app": "web"},
	}}}
}

func (w *sideWrapper) ready(ordinals ...int32) *sideWrapper {
	for _, ordinal := range ordinals {
		w.pods(readyPod(ordinal, fmt.Sprintf("pod-%d", ordinal)))
	}
	return w
}

func (w *sideWrapper) pods(pods ...podState) *sideWrapper {
	w.Pods = append(w.Pods, pods...)
	w.Seen = append(w.Seen, pods...)
	return w
}

func (w *sideWrapper) budget(budgets ...disruptionBudget) *sideWrapper {
	w.Budgets = append(w.Budgets, budgets...)
	return w
}

func (w *sideWrapper) obj() replicaSide { return w.replicaSide }

func readyPod(ordinal int32, uid string) podState {
	return podState{Ordinal: ordinal, UID: types.UID(uid), RV: "1", Ready: true}
}

// makeBudget is a budget over the pods of the tests that the controller has seen.
func makeBudget(name string, maxUnavailable, allowed int32) disruptionBudget {
	value := intstr.FromInt32(maxUnavailable)
	return disruptionBudget{
		Name: name, UID: types.UID(name), RV: "1", Generation: 1, ObservedGeneration: 1, Allowed: allowed,
		Selector:       &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		MaxUnavailable: &value,
	}
}

func (b disruptionBudget) unseen() disruptionBudget {
	b.Generation++
	return b
}

func (b disruptionBudget) selecting(app string) disruptionBudget {
	b.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
	return b
}

func (b disruptionBudget) minAvailable(value string) disruptionBudget {
	v := intstr.Parse(value)
	b.MaxUnavailable, b.MinAvailable = nil, &v
	return b
}

// makeVolume is a volume that is bound to a claim of namespace shop.
func makeVolume(name, handle, claim, claimUID string) volumeState {
	return volumeState{
		Name: name, UID: types.UID("uid-" + name), RV: "1", Handle: handle,
		Policy: corev1.PersistentVolumeReclaimRetain, Phase: corev1.VolumeBound,
		ClaimNamespace: "shop", ClaimName: claim, ClaimUID: types.UID(claimUID),
	}
}

// makeClaim is the bound claim data-web-<ordinal>.
func makeClaim(ordinal int32, uid, volume string) claimState {
	key := volumeKey{Ordinal: ordinal, Template: "data"}
	return claimState{
		Name: key.claimName("web"), UID: types.UID(uid), RV: "1", VolumeName: volume,
		Phase: corev1.ClaimBound, Key: &key,
	}
}

func makeStorage(claims []claimState, volumes ...volumeState) volumeSide {
	return volumeSide{Namespace: "shop", Claims: claims, Volumes: volumes}
}
