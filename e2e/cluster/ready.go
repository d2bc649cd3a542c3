package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/wait"
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

const (
	probeInterval = 20 * time.Millisecond
	// probeTimeout bounds one attempt: a frozen role accepts connections.
	probeTimeout = 2 * time.Second
)

// WaitReady waits until the cluster can take a workload. Every role answers, except those that were stopped on
// request. The nodes are Ready, the namespace default has its service account, and the cluster has its StorageClass.
func (c *Cluster) WaitReady(ctx context.Context) error {
	for _, role := range Roles() {
		if p := c.process(role); p == nil || p.Dismissed.Load() {
			continue
		}
		if err := c.waitRole(ctx, role); err != nil {
			return err
		}
	}
	return c.poll(ctx, "objects", c.probeObjects)
}

// waitRole waits until a role answers.
func (c *Cluster) waitRole(ctx context.Context, role Role) error {
	return c.poll(ctx, string(role), func(ctx context.Context) error {
		return c.probeRole(ctx, role)
	})
}

// poll repeats the probe until it succeeds, can no longer succeed, or ctx ends. The error has the last result of the
// probe.
func (c *Cluster) poll(ctx context.Context, what string, probe func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextCancel(ctx, probeInterval, true, func(ctx context.Context) (bool, error) {
		if err := c.probeProcesses(); err != nil {
			return false, err
		}
		attempt, cancel := context.WithTimeout(ctx, probeTimeout)
		defer cancel()
		err := probe(attempt)
		if last == nil || ctx.Err() == nil {
			last = err // a probe that ctx interrupted explains less than the one before
		}
		return err == nil, nil
	})
	switch {
	case err == nil:
		return nil
	case last != nil && wait.Interrupted(err):
		err = fmt.Errorf("%w; last: %w", err, last)
	}
	return fmt.Errorf("cluster %s: %s not ready: %w", c.Name(), what, err)
}

// probeProcesses fails if waiting cannot help: the cluster is stopped or broken, or a role has ended before the
// cluster was ever ready.
func (c *Cluster) probeProcesses() error {
	if c.isStopped() {
		return errors.New("the cluster is stopped")
	}
	select {
	case <-c.started:
		return c.Broken()
	default:
	}
	for _, role := range Roles() {
		if p := c.process(role); p != nil && !p.IsRunning() {
			return c.errorf(role, "exited unexpectedly: %s\n%s", p.Status(), p.LastLines())
		}
	}
	return nil
}

func (c *Cluster) probeRole(ctx context.Context, role Role) error {
	p := c.process(role)
	if p == nil || !p.IsRunning() {
		return c.errorf(role, "is not running")
	}
	switch role {
	case Etcd:
		_, err := os.Stat(filepath.Join(c.dir, etcdSocket))
		return err
	case APIServer:
		return c.client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	case ControllerManager, Scheduler:
		return c.probeHealth(ctx, c.ports[role])
	case Kwok: // it serves nothing; the nodes show its state
	}
	return nil
}

// probeHealth requests the health of a role that needs no authentication for this path.
func (c *Cluster) probeHealth(ctx context.Context, p port) error {
	roots := x509.NewCertPool()
	roots.AddCert(c.ca.cert)
	transport := &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		DisableKeepAlives: true,
	}
	url := fmt.Sprintf("https://127.0.0.1:%d/healthz", p.number)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(response.Body)
		return fmt.Errorf("%s: %s", response.Status, body)
	}
	return nil
}

func (c *Cluster) probeObjects(ctx context.Context) error {
	nodes, err := c.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range nodes.Items {
		if node := &nodes.Items[i]; !isNodeReady(node) {
			return fmt.Errorf("node %s is not ready", node.Name)
		}
	}
	if _, err = c.client.StorageV1().StorageClasses().Get(ctx, storageClass, metav1.GetOptions{}); err != nil {
		return err
	}
	_, err = c.client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
	return err
}

// isNodeReady checks the taints too, because the scheduler uses them.
func isNodeReady(node *corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue && len(node.Spec.Taints) == 0
		}
	}
	return false
}
