package cluster

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
)

// Check returns an error that describes the fault of the cluster, or nil. Every role must run and answer, and in a new
// namespace a pod must become Ready and disappear after its deletion, which involves each role. A role that exited
// unexpectedly has until the end of the context to restart. A role that a test stopped or froze fails at once.
func (c *Cluster) Check(ctx context.Context) error {
	for _, role := range Roles() {
		if p := c.process(role); p == nil || p.Dismissed.Load() {
			return c.errorf(role, "was stopped and not started again: call StartRole")
		} else if p.Frozen.Load() {
			return c.errorf(role, "is frozen: call Thaw")
		}
	}
	if err := c.WaitReady(ctx); err != nil {
		return err
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "check-" + rand.String(8)}}
	for _, step := range []struct {
		what string
		try  func(ctx context.Context, namespace string) error
	}{
		{"namespace", func(ctx context.Context, _ string) error {
			_, err := c.client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
			return ignoreAlreadyExists(err)
		}},
		{"service account and pod", c.createCheckPod},
		{"pod", c.checkPodReady},
		{"end of the pod", c.deleteCheckPod},
		{"end of the namespace", func(ctx context.Context, name string) error {
			return c.client.CoreV1().Namespaces().Delete(ctx, name, metav1.DeleteOptions{}) // it ends in the background
		}},
	} {
		what := fmt.Sprintf("%s of the check in %s", step.what, namespace.Name)
		if err := c.poll(ctx, what, func(ctx context.Context) error { return step.try(ctx, namespace.Name) }); err != nil {
			return err
		}
	}
	return nil
}

const checkPod = "check"

// createCheckPod is refused until the namespace has its service account.
func (c *Cluster) createCheckPod(ctx context.Context, namespace string) error {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: checkPod},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app:1"}}},
	}
	_, err := c.client.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{})
	return ignoreAlreadyExists(err)
}

func (c *Cluster) checkPodReady(ctx context.Context, namespace string) error {
	pod, err := c.client.CoreV1().Pods(namespace).Get(ctx, checkPod, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue {
			return nil
		}
	}
	return fmt.Errorf("pod %s/%s on node %q is %s and not Ready", namespace, checkPod, pod.Spec.NodeName, pod.Status.Phase)
}

func (c *Cluster) deleteCheckPod(ctx context.Context, namespace string) error {
	err := c.client.CoreV1().Pods(namespace).Delete(ctx, checkPod, metav1.DeleteOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return err
	}
	return errors.New("the pod is still there")
}
