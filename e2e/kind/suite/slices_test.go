package suite

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sliceapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/e2e/kind"
	"github.com/sliceshift/sliceshift/e2e/kind/cases"
	"github.com/sliceshift/sliceshift/e2e/kind/journal"
	"github.com/sliceshift/sliceshift/e2e/kind/setup"
)

// slice returns the application as a set of our own kind.
func (a app) slice() *sliceapi.StatefulSet {
	native := a.statefulSet()
	set := &sliceapi.StatefulSet{ObjectMeta: native.ObjectMeta, Spec: sliceapi.StatefulSetSpec{
		Replicas: native.Spec.Replicas, ServiceName: native.Spec.ServiceName, Selector: native.Spec.Selector, Template: native.Spec.Template,
		VolumeClaimTemplates: native.Spec.VolumeClaimTemplates, PodManagementPolicy: native.Spec.PodManagementPolicy,
	}}
	set.Spec.TerminationReasonGraceSeconds = a.reasonGrace
	if a.inPlace {
		set.Spec.Template.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: sliceapi.InPlaceUpdateReady}}
		set.Spec.UpdateStrategy.RollingUpdate = &sliceapi.RollingUpdateStrategy{PodUpdatePolicy: sliceapi.InPlaceOnly}
	}
	return set
}

// updating is a set of our own kind that is observed during an update.
type updating struct {
	*move
	client client.Client
	key    types.NamespacedName
}

// step runs a part of a case as a subtest. The case ends with the first part that fails.
func (u *updating) step(name string, run func(*testing.T)) {
	u.t.Helper()
	harness.Steps{T: &u.t}.Run(name, run)
}

func deploySlice(t *testing.T) *updating {
	t.Helper()
	a := usual()
	a.ours, a.inPlace = true, true
	return deployedSlice(t, a)
}

func deployedSlice(t *testing.T, a app) *updating {
	t.Helper()
	v := deploy(t, a)
	c, err := setup.Client(pair.East)
	v.must(err)
	return &updating{move: v, client: c, key: types.NamespacedName{Namespace: v.app.namespace, Name: name}}
}

// createSlice creates the application as a set of our own kind.
func (v *move) createSlice() error {
	c, err := setup.Client(pair.East)
	if err != nil {
		return err
	}
	if err := c.Create(v.ctx, v.app.slice()); err != nil {
		return err
	}
	return awaitSlice(v.ctx, c, types.NamespacedName{Namespace: v.app.namespace, Name: name})
}

// awaitSlice waits until the set of our own kind in a cluster has the given number of replicas, all of them available.
func (v *move) awaitSlice(at *kind.Cluster, replicas int32) error {
	c, err := setup.Client(at)
	if err != nil {
		return err
	}
	set := &sliceapi.StatefulSet{}
	key := types.NamespacedName{Namespace: v.app.namespace, Name: name}
	if err := awaitSlice(v.ctx, c, key); err != nil {
		return err
	}
	if err := c.Get(v.ctx, key, set); err != nil {
		return err
	}
	if *set.Spec.Replicas != replicas {
		return fmt.Errorf("cluster %s: slice %s has %d replicas, want %d", at.Name, key, *set.Spec.Replicas, replicas)
	}
	return nil
}

// change edits the template and waits until the update is complete.
func (u *updating) change(edit func(*corev1.Container)) time.Duration {
	u.t.Helper()
	begin := time.Now()
	set := &sliceapi.StatefulSet{}
	u.must(u.client.Get(u.ctx, u.key, set))
	before := set.DeepCopy()
	edit(&set.Spec.Template.Spec.Containers[0])
	u.must(u.client.Patch(u.ctx, set, client.MergeFrom(before)))
	u.must(awaitSlice(u.ctx, u.client, u.key))
	return time.Since(begin)
}

// awaitSlice waits until all pods of a set are of its newest revision and available.
func awaitSlice(ctx context.Context, c client.Client, key types.NamespacedName) error {
	set := &sliceapi.StatefulSet{}
	err := pollUntil(ctx, func(ctx context.Context) (bool, error) {
		if err := c.Get(ctx, key, set); err != nil {
			return false, err
		}
		s := set.Status
		return s.ObservedGeneration >= set.Generation && s.UpdatedReplicas == *set.Spec.Replicas && s.AvailableReplicas == *set.Spec.Replicas &&
			s.CurrentRevision == s.UpdateRevision, nil
	})
	if err != nil {
		return fmt.Errorf("slice %s is not updated: %w: %+v", key, err, set.Status)
	}
	return nil
}

// pods returns the current pods by name.
func (u *updating) pods() map[string]corev1.Pod {
	u.t.Helper()
	list, err := pair.East.Client.CoreV1().Pods(u.app.namespace).List(u.ctx, metav1.ListOptions{})
	u.must(err)
	byName := map[string]corev1.Pod{}
	for _, pod := range list.Items {
		byName[pod.Name] = pod
	}
	return byName
}

// TestInPlaceImage: a real kubelet switches running pods to another image. Each pod stays, and its container is
// replaced by one of the next version.
func TestInPlaceImage(t *testing.T) {
	t.Parallel()
	u := deploySlice(t)
	before := u.pods()
	took := u.change(func(c *corev1.Container) { c.Image = image2 })
	u.step("R-060: each pod stays, and its container is another one", func(t *testing.T) {
		for pod, now := range u.pods() {
			was := before[pod]
			if now.UID != was.UID {
				t.Errorf("%s was made anew", pod)
			}
			if status := now.Status.ContainerStatuses[0]; status.ContainerID == was.Status.ContainerStatuses[0].ContainerID || status.RestartCount != 1 {
				t.Errorf("%s: its container was not exchanged once: %+v", pod, status)
			}
			version, err := u.ask(pair.East, pod, "version")
			u.must(err)
			if version != "2" {
				t.Errorf("%s runs version %q", pod, version)
			}
		}
		for _, j := range u.journals(pair.East) {
			if starts := count(j.Runs[0].Notes, journal.Start); len(j.Runs) != 1 || starts != 2 {
				t.Errorf("%s: %d runs, %d starts, want one pod that started twice", j.Pod, len(j.Runs), starts)
			}
		}
	})
	results.Add(cases.Row{Name: t.Name(), Remark: fmt.Sprintf("3 pods in %.1f s", took.Seconds())})
}

func count(notes []journal.Note, note journal.Note) int {
	n := 0
	for _, each := range notes {
		if each == note {
			n++
		}
	}
	return n
}

// TestInPlaceResources: a real kubelet increases memory and CPU of running containers. Nothing restarts.
func TestInPlaceResources(t *testing.T) {
	t.Parallel()
	u := deploySlice(t)
	before := u.pods()
	memory, cpu := resource.MustParse("96Mi"), resource.MustParse("20m")
	took := u.change(func(c *corev1.Container) {
		c.Resources.Limits[corev1.ResourceMemory] = memory
		c.Resources.Requests[corev1.ResourceCPU] = cpu
	})
	for pod, now := range u.pods() {
		was, is := before[pod].Status.ContainerStatuses[0], now.Status.ContainerStatuses[0]
		if now.UID != before[pod].UID || is.ContainerID != was.ContainerID || is.RestartCount != 0 {
			t.Errorf("%s did not go on: %+v, before %+v", pod, is, was)
		}
		if is.Resources == nil || !is.Resources.Limits[corev1.ResourceMemory].Equal(memory) || !is.Resources.Requests[corev1.ResourceCPU].Equal(cpu) {
			t.Errorf("%s has %+v", pod, is.Resources)
		}
	}
	results.Add(cases.Row{Name: t.Name(), Remark: fmt.Sprintf("3 pods in %.1f s", took.Seconds())})
}
