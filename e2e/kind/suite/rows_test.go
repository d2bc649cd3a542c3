package suite

import (
	"context"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sliceapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/kind"
	"github.com/sliceshift/sliceshift/e2e/kind/journal"
	"github.com/sliceshift/sliceshift/e2e/kind/replica"
)

// The tests of this file prove behaviour of a slice that the embedded clusters, with their simulated kubelets, cannot
// show.

// deployOurs starts the application as a plain set of our own kind.
func deployOurs(t *testing.T, a app) *updating {
	t.Helper()
	a.ours = true
	return deployedSlice(t, a)
}

// TestIdentity: the host name inside the container is the pod's name.
func TestIdentity(t *testing.T) {
	t.Parallel()
	t.Run("K-002: of each of three", func(t *testing.T) {
		u := deployOurs(t, usual())
		for _, pod := range u.app.pods() {
			if host, err := u.ask(pair.East, pod, "hostname"); err != nil || host != pod {
				t.Errorf("inside %s the host is called %q: %v", pod, host, err)
			}
		}
	})
}

// TestScaleToZeroAndBack: each replica finds its own files again.
func TestScaleToZeroAndBack(t *testing.T) {
	t.Parallel()
	t.Run("K-003: from three", func(t *testing.T) {
		u := deployOurs(t, usual())
		u.scale(0)
		u.scale(3)
		for _, j := range u.journals(pair.East) {
			if len(j.Runs) != 2 {
				t.Errorf("%s has the journal of %d runs, want 2: %+v", j.Pod, len(j.Runs), j.Runs)
			}
		}
	})
}

// TestRefusedByTheKubelet: a pod whose host port is in use on its machine fails, and is recreated until the port is
// free.
func TestRefusedByTheKubelet(t *testing.T) {
	t.Parallel()
	t.Run("K-011: another pod has its port", func(t *testing.T) {
		u := deployOurs(t, app{replicas: 1, grace: 1})
		pods := pair.East.Client.CoreV1().Pods(u.app.namespace)
		taken := corev1.ContainerPort{ContainerPort: replica.Port, HostPort: 31313}
		holder := u.app.seeder()
		holder.Name, holder.Spec.NodeName = "holder", u.nodeOf("web-0")
		holder.Spec.Containers[0].Args = []string{"get", "1h", "http://127.0.0.1:1"}
		holder.Spec.Containers[0].Ports = []corev1.ContainerPort{taken}
		_, err := pods.Create(u.ctx, holder, metav1.CreateOptions{})
		u.must(err)
		u.must(u.awaitPod(pair.East, "holder", func(pod *corev1.Pod) bool { return pod.Status.Phase == corev1.PodRunning }))
		u.edit(func(set *sliceapi.StatefulSet) {
			spec := &set.Spec.Template.Spec
			spec.NodeName, spec.Containers[0].Ports = holder.Spec.NodeName, []corev1.ContainerPort{taken}
		})
		refused := map[types.UID]bool{}
		u.must(u.awaitPod(pair.East, "web-0", func(pod *corev1.Pod) bool {
			if pod.Status.Phase == corev1.PodFailed {
				refused[pod.UID] = true
			}
			return len(refused) > 1
		}))
		u.must(pods.Delete(u.ctx, "holder", metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}))
		u.must(awaitSlice(u.ctx, u.client, u.key))
		u.journals(pair.East)
	})
}

// TestSickReplica: an update waits for a replica whose probe fails, and continues when it is well again.
func TestSickReplica(t *testing.T) {
	t.Parallel()
	t.Run("K-050: another image while web-1 is sick", func(t *testing.T) {
		u := deployOurs(t, usual())
		u.must(u.tell(pair.East, "web-1", "sick"))
		u.must(u.awaitPod(pair.East, "web-1", func(pod *corev1.Pod) bool { return !fixture.IsReady(pod) }))
		before := u.pods()
		u.edit(func(set *sliceapi.StatefulSet) { set.Spec.Template.Spec.Containers[0].Image = image2 })
		u.must(u.awaitStatus(func(s sliceapi.StatefulSetStatus) bool { return s.CurrentRevision != s.UpdateRevision }))
		u.must(u.awaitPod(pair.East, "web-1", func(pod *corev1.Pod) bool {
			return pod.UID != before["web-1"].UID && pod.Status.Phase == corev1.PodRunning && !fixture.IsReady(pod)
		}))
		now := u.pods()
		for _, pod := range []string{"web-0", "web-2"} {
			if now[pod].UID != before[pod].UID {
				t.Errorf("%s was taken down beside web-1, which is sick", pod)
			}
		}
		u.must(u.tell(pair.East, "web-1", "well"))
		u.must(awaitSlice(u.ctx, u.client, u.key))
	})
}

// TestExitBelowThePartition: a replica below the partition does not get the new revision, neither when its container
// exits nor when its pod is deleted in spite of a finalizer.
func TestExitBelowThePartition(t *testing.T) {
	t.Parallel()
	t.Run("K-056, K-057: it exits, and is deleted", func(t *testing.T) {
		u := deployOurs(t, usual())
		const finalizer = "e2e.sliceshift.io/keep"
		u.patchPod("web-0", `{"metadata":{"finalizers":["`+finalizer+`"]}}`)
		u.edit(func(set *sliceapi.StatefulSet) {
			set.Spec.UpdateStrategy.RollingUpdate = &sliceapi.RollingUpdateStrategy{Partition: ptr.To[int32](1)}
			set.Spec.Template.Spec.Containers[0].Image = image2
		})
		u.must(u.awaitStatus(func(s sliceapi.StatefulSetStatus) bool { return s.UpdatedReplicas == 2 && s.ReadyReplicas == 3 }))
		old := u.pods()["web-0"]
		_ = u.tell(pair.East, "web-0", "exit") // it cannot answer
		u.must(u.awaitPod(pair.East, "web-0", func(pod *corev1.Pod) bool {
			return pod.Status.ContainerStatuses[0].RestartCount > 0 && fixture.IsReady(pod)
		}))
		u.must(u.awaitStatus(func(s sliceapi.StatefulSetStatus) bool { return s.ReadyReplicas == 3 }))
		pods := pair.East.Client.CoreV1().Pods(u.app.namespace)
		u.must(pods.Delete(u.ctx, "web-0", metav1.DeleteOptions{}))
		u.must(u.awaitStatus(func(s sliceapi.StatefulSetStatus) bool { return s.UpdatedReplicas == 2 && s.ReadyReplicas == 2 }))
		u.patchPod("web-0", `{"metadata":{"finalizers":null}}`)
		u.must(u.awaitPod(pair.East, "web-0", func(pod *corev1.Pod) bool { return pod.UID != old.UID && fixture.IsReady(pod) }))
		u.must(u.awaitStatus(func(s sliceapi.StatefulSetStatus) bool { return s.UpdatedReplicas == 2 && s.ReadyReplicas == 3 }))
		if was, now := old.Labels[revisionLabel], u.pods()["web-0"].Labels[revisionLabel]; now != was {
			t.Errorf("web-0 is of revision %s, want %s as before", now, was)
		}
		u.journals(pair.East)
	})
}

// TestAnotherQualityOfService: the QoS class of a running pod cannot change. Where updates in place are preferred, the
// pod is recreated.
func TestAnotherQualityOfService(t *testing.T) {
	t.Parallel()
	t.Run("R-062: Guaranteed", func(t *testing.T) {
		u := deployOurs(t, usual())
		before := u.pods()
		u.edit(func(set *sliceapi.StatefulSet) {
			set.Spec.UpdateStrategy.RollingUpdate = &sliceapi.RollingUpdateStrategy{PodUpdatePolicy: sliceapi.InPlaceIfPossible}
			set.Spec.Template.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: sliceapi.InPlaceUpdateReady}}
			all := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("64Mi")}
			set.Spec.Template.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: all, Limits: all}
		})
		u.must(awaitSlice(u.ctx, u.client, u.key))
		for name, pod := range u.pods() {
			was := before[name]
			if pod.UID == was.UID || pod.Status.ContainerStatuses[0].RestartCount != 0 || pod.CreationTimestamp.Before(&was.CreationTimestamp) {
				t.Errorf("%s was not made anew: %+v", name, pod.Status.ContainerStatuses)
			}
			if pod.Status.QOSClass != corev1.PodQOSGuaranteed {
				t.Errorf("%s is of class %s", name, pod.Status.QOSClass)
			}
		}
	})
}

// TestRecreate: no container of the new revision starts before the last one of the old has
// stopped, however long that takes.
func TestRecreate(t *testing.T) {
	t.Parallel()
	t.Run("D-044: pods that need three seconds to end", func(t *testing.T) {
		a := usual()
		a.linger, a.grace = "3s", 30
		u := deployOurs(t, a)
		u.edit(func(set *sliceapi.StatefulSet) {
			set.Spec.UpdateStrategy = sliceapi.StatefulSetUpdateStrategy{Type: sliceapi.Recreate}
			set.Spec.Template.Spec.Containers[0].Image = image2
		})
		u.must(awaitSlice(u.ctx, u.client, u.key))
		journals := u.journals(pair.East)
		for _, j := range journals {
			if len(j.Runs) != 2 || !slices.Contains(j.Runs[0].Notes, journal.Stop) {
				t.Fatalf("%s was not left to end: %+v", j.Pod, j.Runs)
			}
			for _, other := range journals {
				if j.Runs[1].First.Before(other.Runs[0].Last) {
					t.Errorf("%s started %s before %s had stopped", j.Pod, other.Runs[0].Last.Sub(j.Runs[1].First), other.Pod)
				}
			}
		}
	})
}

const revisionLabel = "controller-revision-hash"

// edit changes the set.
func (u *updating) edit(change func(*sliceapi.StatefulSet)) {
	u.t.Helper()
	set := &sliceapi.StatefulSet{}
	u.must(u.client.Get(u.ctx, u.key, set))
	before := set.DeepCopy()
	change(set)
	u.must(u.client.Patch(u.ctx, set, client.MergeFrom(before)))
}

// awaitStatus waits for a status of the set's current generation.
func (u *updating) awaitStatus(reached func(sliceapi.StatefulSetStatus) bool) error {
	set := &sliceapi.StatefulSet{}
	err := pollUntil(u.ctx, func(ctx context.Context) (bool, error) {
		err := u.client.Get(ctx, u.key, set)
		return set.Status.ObservedGeneration >= set.Generation && reached(set.Status), err
	})
	if err != nil {
		return fmt.Errorf("slice %s does not get there: %w: %+v", u.key, err, set.Status)
	}
	return nil
}

// awaitPod waits for a state of a pod; reached is not called while the pod does not exist.
func (v *move) awaitPod(at *kind.Cluster, name string, reached func(*corev1.Pod) bool) error {
	var seen *corev1.Pod
	err := pollUntil(v.ctx, func(ctx context.Context) (bool, error) {
		pod, err := at.Client.CoreV1().Pods(v.app.namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, client.IgnoreNotFound(err)
		}
		seen = pod
		return reached(pod), nil
	})
	if err != nil {
		return fmt.Errorf("cluster %s: pod %s does not get there: %w: %+v", at.Name, name, err, seen)
	}
	return nil
}

func (v *move) patchPod(name, patch string) {
	v.t.Helper()
	_, err := pair.East.Client.CoreV1().Pods(v.app.namespace).Patch(v.ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	v.must(err)
}
