package cluster

import (
	"context"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"
)

// clientOfUser returns a client of a user in these groups.
func clientOfUser(t *testing.T, c *Cluster, user string, groups ...string) kubernetes.Interface {
	t.Helper()
	path, err := c.UserKubeconfig(user, groups...)
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	return kubernetes.NewForConfigOrDie(config)
}

func testUsers(t *testing.T, c *Cluster) {
	jane := clientOfUser(t, c, "system:jane/1", "developers")
	if _, err := jane.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("without a role: %v, want forbidden", err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "developers", Namespace: namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "Group", Name: "developers"}},
	}
	if _, err := clientOf(t, c).RbacV1().RoleBindings(namespace).Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "jane may view", func(ctx context.Context) error {
		_, err := jane.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
		return err
	})
}

// testDelays: a delay, measured from outside, is never shorter than requested.
func testDelays(t *testing.T, c *Cluster) {
	client := clientOf(t, c)
	measure := func(annotations map[string]string) (ready, gone time.Duration) {
		createPod(t, client, makePod("delayed", annotations))
		start := clock.RealClock{}.Now()
		waitPodReady(t, client, "delayed")
		ready = clock.RealClock{}.Since(start)
		if err := client.CoreV1().Pods(namespace).Delete(t.Context(), "delayed", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		start = clock.RealClock{}.Now()
		waitPodGone(t, client, "delayed")
		return ready, clock.RealClock{}.Since(start)
	}
	const delay = 1500 * time.Millisecond
	tests := map[string]struct {
		annotations         map[string]string
		wantReady, wantGone time.Duration
	}{
		"none":   {},
		"ready":  {annotations: map[string]string{ReadyDelayAnnotationKey: delay.String()}, wantReady: delay},
		"delete": {annotations: map[string]string{DeleteDelayAnnotationKey: delay.String()}, wantGone: delay},
		"no duration": {
			annotations: map[string]string{ReadyDelayAnnotationKey: "soon", DeleteDelayAnnotationKey: ""},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			ready, gone := measure(tc.annotations)
			t.Logf("ready after %s, gone after %s", ready.Round(time.Millisecond), gone.Round(time.Millisecond))
			const slack = 10 * time.Second // a busy machine
			if ready < tc.wantReady || ready > tc.wantReady+slack || gone < tc.wantGone || gone > tc.wantGone+slack {
				t.Errorf("want ready after %s, gone after %s", tc.wantReady, tc.wantGone)
			}
		})
	}
}

// testNotReadyStays sets a pod to not Ready. Neither a change of the pod nor a new kwok, which lists all pods, sets it
// back.
func testNotReadyStays(t *testing.T, c *Cluster) {
	client := clientOf(t, c)
	pods := client.CoreV1().Pods(namespace)
	createPod(t, client, makePod("sick", nil))
	waitPodReady(t, client, "sick")
	for subresource, patch := range map[string]string{
		"status": `{"status":{"conditions":[{"type":"Ready","status":"False"}]}}`,
		"":       `{"metadata":{"labels":{"touched":"yes"}}}`,
	} {
		_, err := pods.Patch(t.Context(), "sick", types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, subresource)
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, witness := range []string{"witness-1", "witness-2"} {
		// kwok has seen the earlier changes once it has seen this one.
		createPod(t, client, makePod(witness, nil))
		waitPodReady(t, client, witness)
		pod, err := pods.Get(t.Context(), "sick", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if isPodReady(pod) {
			t.Fatalf("the pod is Ready again after %s, want it to stay as it is", witness)
		}
		if err := c.Kill(Kwok); err != nil {
			t.Fatal(err)
		}
		if err := c.StartRole(bounded(t), Kwok); err != nil {
			t.Fatal(err)
		}
	}
}

// testNoKubeletDeletes lets kwok delete a pod that has no deletion timestamp. kwok does so when its cache still has a
// deleted pod whose successor has the same name.
func testNoKubeletDeletes(t *testing.T, c *Cluster) {
	kwok := clientOfUser(t, c, roleUser(Kwok), adminGroup)
	createPod(t, clientOf(t, c), makePod("successor", nil))
	eventually(t, "kwok is refused", func(ctx context.Context) error {
		err := kwok.CoreV1().Pods(namespace).Delete(ctx, "successor", metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
		if !apierrors.IsInvalid(err) {
			return fmt.Errorf("the answer is %q", apierrors.ReasonForError(err))
		}
		return nil
	})
}

// testRecreation deletes pods that their StatefulSet recreates at once, under the same name. A kubelet that deletes a
// pod twice shows as one pod too many.
func testRecreation(t *testing.T, c *Cluster) {
	client := clientOf(t, c)
	const name, count, rounds = "again", 10, 10
	pods := client.CoreV1().Pods(namespace)
	options := metav1.ListOptions{LabelSelector: "app=" + name}
	watcher, err := pods.Watch(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	created := make(chan int)
	go func() {
		number := 0
		for event := range watcher.ResultChan() {
			if event.Type == watch.Added {
				number++
			}
		}
		created <- number
	}()

	object := makeStatefulSet(name, count)
	object.Spec.PodManagementPolicy = appsv1.ParallelPodManagement
	object.Spec.VolumeClaimTemplates = nil
	if _, err := client.AppsV1().StatefulSets(namespace).Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	current := waitSuccessors(t, client, name, count, nil)
	for range rounds {
		for pod := range current {
			if err := pods.Delete(t.Context(), pod, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		current = waitSuccessors(t, client, name, count, current)
	}
	watcher.Stop()
	if number := <-created; number != count*(rounds+1) {
		t.Errorf("%d pods were created, want %d", number, count*(rounds+1))
	}
}

// waitSuccessors waits for count pods that are Ready and none of the old ones.
func waitSuccessors(t *testing.T, client kubernetes.Interface, name string, count int, old map[string]types.UID) map[string]types.UID {
	t.Helper()
	current := map[string]types.UID{}
	eventually(t, name+" has new pods", func(ctx context.Context) error {
		clear(current)
		list, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=" + name})
		if err != nil {
			return err
		}
		for i := range list.Items {
			if pod := &list.Items[i]; isPodReady(pod) && old[pod.Name] != pod.UID {
				current[pod.Name] = pod.UID
			}
		}
		if len(current) != count {
			return fmt.Errorf("%d of %d", len(current), count)
		}
		return nil
	})
	return current
}
