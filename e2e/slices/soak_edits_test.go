package slices

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sliceapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/cluster"
)

// step is one edit and the pause after it.
type step struct {
	kind  string
	a, b  int32
	pause time.Duration
}

// soakKinds lists each kind of edit as often as its weight: edits of the template are the most frequent.
var soakKinds = []string{
	"image", "image", "image", "image", "image", "image", "image", "image", "broken image", "broken image",
	"replicas", "replicas", "start", "reserve", "partition", "maxUnavailable", "surge", "surge", "strategy", "policy", "policy", "paused",
	"resize", "resize", "restart", "minReadySeconds", "minReadySeconds", "hooks", "grace", "scaleStrategy", "deadline", "retention", "claims grow",
	"delete a pod", "fail a pod", "unready a pod", "ask a pod to go",
	"there and back", "partition when complete", "late", "largest numbers",
	"refuse pods", "refuse changes", "rewrite pods", "admit all", "admit all", "claims unbound", "claims bound", "claims bound",
}

// drawStep draws an edit.
func drawStep(seed int) step {
	r := rand.New(rand.NewPCG(uint64(seed), 0))
	return step{
		kind: soakKinds[r.IntN(len(soakKinds))], a: r.Int32N(6), b: r.Int32N(4),
		pause: []time.Duration{soakStep, 0, 3 * soakStep, soakStep / 4, 10 * soakStep}[r.IntN(5)],
	}
}

// asRefused is the suffix of a refused edit in the log.
const asRefused = " (refused)"

// do carries out a step. A write that the API server refuses is not an edit.
func (s *soak) do(ctx context.Context, step step) error {
	s.edits = append(s.edits, fmt.Sprintf("%s %s %d %d", time.Now().Format(clockTime), step.kind, step.a, step.b))
	if step.kind == "partition when complete" {
		s.await(ctx)
	}
	err := s.edit(ctx, step.change)
	if err == nil && step.kind == "there and back" {
		err = s.edit(ctx, func(spec *sliceapi.StatefulSetSpec) { spec.Template = *s.former.DeepCopy() })
	}
	if err == nil {
		err = s.harm(ctx, step)
	}
	if err == nil {
		err = s.disturb(ctx, step)
	}
	if apierrors.IsInvalid(err) || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		s.edits[len(s.edits)-1] += asRefused
		return nil
	}
	return err
}

// edit writes the spec, and informs the judge before the controller can see it.
func (s *soak) edit(ctx context.Context, change func(*sliceapi.StatefulSetSpec)) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		set := &sliceapi.StatefulSet{}
		if err := api.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: s.name}, set); err != nil {
			return err
		}
		before := set.DeepCopy()
		s.former = &before.Spec.Template
		change(&set.Spec)
		s.tell(func(j *judge) { j.spec(time.Now(), &set.Spec) })
		err := api.Patch(ctx, set, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
		s.tell(func(j *judge) { j.wrote(time.Now(), err) })
		return err
	})
}

func (s *soak) tell(what func(*judge)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	what(&s.judge)
}

// change makes the edit of a spec. Small numbers are drawn more often, so large numbers are those that stop a set
// until the next edit of that kind.
func (t step) change(s *sliceapi.StatefulSetSpec) {
	switch t.kind {
	case "image", "there and back":
		s.Template.Spec.Containers[0].Image, s.Template.Annotations = fmt.Sprintf("web:%d", t.a+t.b), nil
	case "broken image":
		s.Template.Spec.Containers[0].Image = stuck
		s.Template.Annotations = map[string]string{cluster.ReadyDelayAnnotationKey: "1h", cluster.PullDelayAnnotationKey: "1h"}
	case "resize": // the larger values are too large for the node
		s.Template.Spec.Containers[0].Resources = resources(fmt.Sprintf("%dm", 10+t.a), "40m")
		s.Template.Annotations = map[string]string{}
		if t.b > 1 {
			s.Template.Annotations[cluster.ResizeAnnotationKey] = []string{corev1.PodReasonInfeasible, corev1.PodReasonDeferred}[t.b-2]
		}
	case "restart":
		s.Template.Annotations = map[string]string{sliceapi.RestartedAtAnnotationKey: time.Now().Format(time.RFC3339)}
	case "replicas":
		s.Replicas = new([]int32{3, 4, 2, 5, 1, 0}[t.a])
	case "start":
		s.Ordinals = &sliceapi.Ordinals{Start: t.b}
	case "reserve":
		s.ReserveOrdinals = [][]intstr.IntOrString{
			nil, {intstr.FromInt32(t.a)}, {intstr.FromString(fmt.Sprintf("%d-%d", t.a, t.a+1))}, {intstr.FromInt32(0), intstr.FromInt32(t.a)},
		}[t.b]
	case "paused":
		s.Paused = t.b == 3
	case "strategy":
		s.UpdateStrategy = sliceapi.StatefulSetUpdateStrategy{Type: []sliceapi.UpdateStrategyType{
			sliceapi.RollingUpdate, sliceapi.Recreate, sliceapi.RollingUpdate, sliceapi.RollingUpdate, sliceapi.RollingUpdate, sliceapi.OnDelete,
		}[t.a]}
	case "minReadySeconds":
		s.MinReadySeconds = t.b / 2
	case "grace":
		s.TerminationReasonGraceSeconds = t.b / 2
	case "hooks":
		s.Lifecycle = t.hooks()
	case "deadline":
		s.ProgressDeadlineSeconds = new(1 + t.a)
	case "scaleStrategy":
		s.ScaleStrategy = &sliceapi.ScaleStrategy{MaxUnavailable: new(intstr.FromInt32(1 + t.b))}
	case "retention":
		policies := []appsv1.PersistentVolumeClaimRetentionPolicyType{retainClaims, deleteClaims}
		s.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenScaled: policies[t.b/2], WhenDeleted: policies[t.b%2]}
	case "late": // no rollout can complete within its deadline
		s.MinReadySeconds, s.ProgressDeadlineSeconds = 2+t.b/2, new(int32(1))
	case "claims grow":
		size := s.VolumeClaimTemplates[0].Spec.Resources.Requests[corev1.ResourceStorage]
		size.Add(resource.MustParse("1Gi"))
		s.VolumeClaimTemplates[0].Spec.Resources.Requests[corev1.ResourceStorage] = size
	default:
		t.changeRolling(s)
	}
}

// changeRolling makes the edit of a rolling update, and sets that strategy if needed.
func (t step) changeRolling(s *sliceapi.StatefulSetSpec) {
	rolls := s.UpdateStrategy.RollingUpdate
	if rolls == nil {
		rolls = &sliceapi.RollingUpdateStrategy{}
	}
	switch t.kind {
	case "partition", "partition when complete":
		rolls.Partition = new(t.a / 2)
	case "largest numbers":
		t.largest(s, rolls)
	case "maxUnavailable":
		rolls.MaxUnavailable = new(intstr.FromInt32(1 + t.b/2))
	case "surge":
		rolls.MaxSurge, rolls.MaxUnavailable = new(intstr.FromInt32(t.b)), new(intstr.FromInt32(1))
		if t.b > 0 {
			rolls.MaxUnavailable = new(intstr.FromInt32(t.a % 2))
		}
	case "policy":
		rolls.PodUpdatePolicy = []sliceapi.PodUpdatePolicy{sliceapi.ReCreate, sliceapi.InPlaceIfPossible, sliceapi.InPlaceIfPossible, sliceapi.InPlaceOnly}[t.b]
		rolls.InPlaceUpdateStrategy = &sliceapi.InPlaceUpdateStrategy{GracePeriodSeconds: t.a / 4}
		rolls.OnFailure = []sliceapi.OnFailure{sliceapi.Halt, sliceapi.Rollback}[t.a%2]
	default:
		return
	}
	s.UpdateStrategy = sliceapi.StatefulSetUpdateStrategy{Type: sliceapi.RollingUpdate, RollingUpdate: rolls}
}

// largest sets a number to the largest value that a manifest can have.
func (t step) largest(s *sliceapi.StatefulSetSpec, rolls *sliceapi.RollingUpdateStrategy) {
	switch t.b {
	case 0:
		rolls.MaxUnavailable = new(intstr.FromInt32(math.MaxInt32))
	case 1:
		rolls.MaxSurge, rolls.MaxUnavailable = new(intstr.FromInt32(math.MaxInt32)), new(intstr.FromInt32(t.a%2))
	case 2:
		rolls.Partition = new(int32(math.MaxInt32))
	default:
		s.MinReadySeconds = math.MaxInt32
	}
}

// hooks returns hooks that are held by the label of new pods.
func (t step) hooks() *sliceapi.Lifecycle {
	hook := &sliceapi.LifecycleHook{LabelsHandler: map[string]string{hookLabel: "yes"}, MarkPodNotReady: t.a%2 == 0}
	return []*sliceapi.Lifecycle{nil, {PreDelete: hook}, {InPlaceUpdate: hook}, {PreDelete: hook, InPlaceUpdate: hook}}[t.b]
}

// disturb changes the interference with the writes of the set's pods, and with its claims.
func (s *soak) disturb(ctx context.Context, step step) error {
	switch step.kind {
	case "refuse pods":
		return s.admit(ctx, refusesPods)
	case "refuse changes":
		return s.admit(ctx, refusesChanges)
	case "rewrite pods":
		return s.admit(ctx, rewritesPods)
	case "admit all":
		return s.admit(ctx)
	case "claims unbound", "claims bound":
		s.unbound.Store(step.kind == "claims unbound")
	}
	return nil
}

// await waits for a short time until the set is complete, which may never happen.
func (s *soak) await(ctx context.Context) {
	set := &sliceapi.StatefulSet{}
	_ = wait.PollUntilContextTimeout(ctx, lookAgain, 20*soakStep, true, func(ctx context.Context) (bool, error) {
		err := api.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: s.name}, set)
		st := set.Status
		return err == nil && st.ObservedGeneration == set.Generation && st.CurrentRevision == st.UpdateRevision && st.AvailableReplicas == *set.Spec.Replicas, nil
	})
}

// harm damages a pod.
func (s *soak) harm(ctx context.Context, step step) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: fmt.Sprintf("%s-%d", s.name, step.a)}}
	status := func(text string) error {
		return api.Status().Patch(ctx, pod, client.RawPatch(types.StrategicMergePatchType, []byte(text)))
	}
	switch step.kind {
	case "delete a pod":
		return s.deletePod(ctx, pod)
	case "fail a pod":
		return status(`{"status":{"phase":"Failed"}}`)
	case "unready a pod": // with the reason at which kwok makes it Ready again
		return status(`{"status":{"conditions":[{"type":"Ready","status":"False","reason":"ReadinessGatesNotReady"}]}}`)
	case "ask a pod to go":
		return api.Patch(ctx, pod, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+sliceapi.SpecifiedDeleteKey+`":"true"}}}`)))
	}
	return nil
}

// deletePod informs the judge that the deletion is not by the controller, whatever reason the pod has.
func (s *soak) deletePod(ctx context.Context, pod *corev1.Pod) error {
	if err := api.Get(ctx, client.ObjectKeyFromObject(pod), pod); err != nil {
		return err
	}
	s.mu.Lock()
	s.judge.harmed[pod.UID] = true
	s.mu.Unlock()
	return api.Delete(ctx, pod, client.Preconditions{UID: &pod.UID})
}
