package install

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/cmd/migrate/command"
)

// lookEvery is the interval between checks of the installation.
const lookEvery = 500 * time.Millisecond

// within returns a context with the timeout of the target.
func (t *target) within(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, t.timeout, command.TimeoutError(t.timeout))
}

// await calls look until nothing is missing, and prints each state once. An error of look may be temporary, so it is
// printed as a state.
func (t *target) await(ctx context.Context, look func(context.Context) (missing string, err error)) error {
	ticker := t.clock.NewTicker(lookEvery)
	defer ticker.Stop()
	for shown := ""; ; {
		missing, err := look(ctx)
		switch {
		case ctx.Err() != nil:
			return t.timedOut(ctx, shown)
		case err != nil:
			missing = fmt.Sprintf("cluster %s cannot be read: %v", t.cluster, err)
		case missing == "":
			return nil
		}
		if missing != shown {
			shown = missing
			fmt.Fprintf(t.out, "waiting: %s\n", missing)
		}
		select {
		case <-ctx.Done():
			return t.timedOut(ctx, shown)
		case <-ticker.C():
		}
	}
}

// timedOut returns the timeout error with the last state.
func (t *target) timedOut(ctx context.Context, missing string) error {
	cause := command.Cause(ctx)
	if errors.Is(cause, command.ErrInterrupted) || missing == "" {
		return cause
	}
	return command.WithCode(command.ExitTimeout, fmt.Errorf("not completed after %s: %s", t.timeout, missing))
}

// awaitEstablished waits until the API server serves the definitions.
func (t *target) awaitEstablished(ctx context.Context, crds []*unstructured.Unstructured) error {
	return t.await(ctx, func(ctx context.Context) (string, error) {
		for _, crd := range crds {
			have, err := t.get(ctx, crd)
			if err != nil {
				return "", err
			}
			if !isTrue(have, "Established") {
				return titleOf(crd) + " is not served yet", nil
			}
		}
		return "", nil
	})
}

// isTrue reports whether an object has a condition with status True.
func isTrue(object *unstructured.Unstructured, kind string) bool {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, each := range conditions {
		if condition, ok := each.(map[string]any); ok && condition["type"] == kind {
			return condition["status"] == "True"
		}
	}
	return false
}

// awaitAvailable waits until all replicas of the manager run the applied version.
func (t *target) awaitAvailable(ctx context.Context, applied *unstructured.Unstructured) error {
	return t.await(ctx, func(ctx context.Context) (string, error) {
		have, err := t.get(ctx, applied)
		if err != nil {
			return "", err
		}
		deployment := &appsv1.Deployment{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(have.Object, deployment); err != nil {
			return "", err
		}
		want, status := ptr.Deref(deployment.Spec.Replicas, 1), deployment.Status
		switch {
		case status.ObservedGeneration < deployment.Generation:
			return titleOf(have) + " is not observed yet", nil
		case status.UpdatedReplicas < want || status.AvailableReplicas < want || status.Replicas > want:
			return t.unavailable(ctx, deployment, want), nil
		}
		return "", nil
	})
}

// unavailable returns how many replicas are missing, and why the first of them is not ready.
func (t *target) unavailable(ctx context.Context, deployment *appsv1.Deployment, want int32) string {
	text := fmt.Sprintf("%d of %d replicas of the manager are available", min(deployment.Status.AvailableReplicas, deployment.Status.UpdatedReplicas), want)
	for _, condition := range deployment.Status.Conditions {
		if condition.Type == appsv1.DeploymentReplicaFailure && condition.Status == corev1.ConditionTrue {
			return text + "; " + condition.Message
		}
	}
	pods := &corev1.PodList{}
	selector := client.MatchingLabels(deployment.Spec.Selector.MatchLabels)
	if err := t.client.List(ctx, pods, client.InNamespace(deployment.Namespace), selector); err != nil {
		return text
	}
	for i := range pods.Items {
		if why := notReadyReason(&pods.Items[i]); why != "" {
			return text + "; pod " + pods.Items[i].Name + ": " + why
		}
	}
	return text
}

// notReadyReason returns why a pod does not run, or an empty string if it is still starting.
func notReadyReason(pod *corev1.Pod) string {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			return condition.Reason + ": " + condition.Message
		}
	}
	for _, status := range pod.Status.ContainerStatuses {
		if waiting := status.State.Waiting; waiting != nil && waiting.Reason != "ContainerCreating" {
			return strings.TrimSuffix(waiting.Reason+": "+waiting.Message, ": ")
		}
	}
	return ""
}

// awaitGone waits until an object does not exist any more.
func (t *target) awaitGone(ctx context.Context, object *unstructured.Unstructured) error {
	return t.await(ctx, func(ctx context.Context) (string, error) {
		_, err := t.get(ctx, object)
		if client.IgnoreNotFound(err) != nil {
			return "", err
		}
		if err == nil {
			return titleOf(object) + " is being deleted", nil
		}
		return "", nil
	})
}
