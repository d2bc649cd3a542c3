package duel

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// holdFinalizer keeps a deleted pod Terminating.
	holdFinalizer = "duel.sliceshift.io/hold"
	// unreadyReason is the reason of the Ready condition of a pod that a step made not Ready.
	unreadyReason = "Duel"
)

// harm applies a fault to the pod of one side. The pod of its ordinal exists on both sides.
func (s *side) harm(ctx context.Context, step Step, pod *corev1.Pod) error {
	switch step.Kind {
	case stepDelete:
		return s.delete(ctx, pod)
	case stepDeleteHeld:
		if err := s.patch(ctx, pod, `{"metadata":{"finalizers":["`+holdFinalizer+`"]}}`); err != nil {
			return err
		}
		return s.delete(ctx, pod)
	case stepFail:
		return s.patchStatus(ctx, pod, ended(corev1.PodFailed))
	case stepSucceed:
		return s.patchStatus(ctx, pod, ended(corev1.PodSucceeded))
	case stepUnready:
		return s.patchStatus(ctx, pod, readiness(corev1.ConditionFalse, unreadyReason))
	case stepRelease:
		return s.patch(ctx, pod, `{"metadata":{"labels":{"`+appLabel+`":null}}}`)
	case stepOrphan:
		return s.patch(ctx, pod, `{"metadata":{"ownerReferences":null}}`)
	case stepUnname:
		return s.patch(ctx, pod, `{"metadata":{"labels":{"statefulset.kubernetes.io/pod-name":null}}}`)
	}
	return nil
}

func readiness(is corev1.ConditionStatus, reason string) string {
	return fmt.Sprintf(`{"conditions":[{"type":"Ready","status":%q,"reason":%q,"lastTransitionTime":%q}]}`, is, reason, time.Now().UTC().Format(time.RFC3339))
}

// ended returns the status of a finished pod, as a kubelet writes it: not Ready.
func ended(phase corev1.PodPhase) string {
	return fmt.Sprintf(`{"phase":%q,%s`, phase, strings.TrimPrefix(readiness(corev1.ConditionFalse, "Pod"+string(phase)), "{"))
}

// harmClaim applies a fault to an ordinal's first claim.
func (s *side) harmClaim(ctx context.Context, step Step, ordinal int32) error {
	claim := &corev1.PersistentVolumeClaim{}
	if err := s.client.Get(ctx, s.key(fmt.Sprintf("data-%s-%d", s.set, ordinal)), claim); err != nil {
		return client.IgnoreNotFound(err)
	}
	if err := s.delete(ctx, claim); err != nil {
		return err
	}
	if step.Kind == stepClaimGone {
		return client.IgnoreNotFound(s.patch(ctx, claim, `{"metadata":{"finalizers":null}}`))
	}
	if pod := s.pod(ctx, ordinal); pod != nil && step.Kind == stepClaimAndPod {
		return s.delete(ctx, pod)
	}
	return nil
}

// mend reverts the faults of a kind of step.
func (s *side) mend(ctx context.Context, kind string) error {
	var list corev1.PodList
	if err := s.client.List(ctx, &list, client.InNamespace(s.namespace)); err != nil {
		return err
	}
	for i := range list.Items {
		pod := &list.Items[i]
		var err error
		switch {
		case kind == stepLetGo && len(pod.Finalizers) > 0:
			err = s.patch(ctx, pod, `{"metadata":{"finalizers":null}}`)
		case kind == stepReady && unreadyBy(pod) && pod.Status.Phase == corev1.PodRunning:
			err = s.patchStatus(ctx, pod, readiness(corev1.ConditionTrue, ""))
		case kind == stepRelease && pod.Labels[appLabel] == "":
			err = s.patch(ctx, pod, `{"metadata":{"labels":{"`+appLabel+`":"`+s.set+`"}}}`)
		}
		if client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

func unreadyBy(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady && condition.Reason == unreadyReason {
			return true
		}
	}
	return false
}

// stray creates a pod with the set's labels, as another user might.
func (s *side) stray(ctx context.Context, ordinal int32) error {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: fmt.Sprintf("%s-%d", s.set, ordinal), Labels: map[string]string{appLabel: s.set}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "stray:1"}}},
	}
	if err := s.client.Create(ctx, pod); err != nil {
		return err
	}
	s.awaitVersion(pod)
	return nil
}

func (s *side) patch(ctx context.Context, object client.Object, patch string) error {
	err := s.client.Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte(patch)))
	if err == nil {
		s.awaitVersion(object)
	}
	return err
}

func (s *side) patchStatus(ctx context.Context, pod *corev1.Pod, status string) error {
	err := s.client.Status().Patch(ctx, pod, client.RawPatch(types.StrategicMergePatchType, []byte(`{"status":`+status+`}`)))
	if err == nil {
		s.awaitVersion(pod)
	}
	return err
}

func (s *side) delete(ctx context.Context, object client.Object) error {
	uid := object.GetUID()
	if err := s.client.Delete(ctx, object, client.Preconditions{UID: &uid}); err != nil {
		return client.IgnoreNotFound(err)
	}
	s.awaitObject(object, func(have client.Object) bool { return have.GetDeletionTimestamp() != nil })
	return nil
}

// awaitVersion waits until the cache shows a written object.
func (s *side) awaitVersion(object client.Object) {
	written := versionOf(object)
	s.awaitObject(object, func(have client.Object) bool { return versionOf(have) >= written })
}

func (s *side) awaitObject(object client.Object, shown func(client.Object) bool) {
	uid, key := object.GetUID(), client.ObjectKeyFromObject(object)
	have := object.DeepCopyObject().(client.Object)
	s.await(func(ctx context.Context) bool {
		err := s.cache.Get(ctx, key, have)
		return apierrors.IsNotFound(err) || err == nil && (have.GetUID() != uid || shown(have))
	})
}

func versionOf(object client.Object) uint64 {
	version, _ := strconv.ParseUint(object.GetResourceVersion(), 10, 64)
	return version
}
