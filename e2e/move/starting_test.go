package move

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/e2e/cluster"
	"github.com/sliceshift/sliceshift/internal/clusters"
)

// TestStarting: an API server that has just started refuses requests that it allows a moment later. The client
// hides these refusals, but reports a right that is really missing.
func TestStarting(t *testing.T) {
	t.Parallel()
	b := startBare(t, "starting", cluster.Options{Binary: binary(t)})
	path, err := b.UserKubeconfig("mover")
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	allow(t, b.client, "mover")
	ours, err := clusters.Connect("starting", config)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := kubernetes.NewForConfig(rest.CopyConfig(config))
	if err != nil {
		t.Fatal(err)
	}
	var lacking corev1.SecretList
	if err := ours.Live().List(t.Context(), &lacking, client.InNamespace(metav1.NamespaceDefault)); !apierrors.IsForbidden(err) {
		t.Errorf("who lacks a right is told: %v", err)
	}
	if err := b.Kill(cluster.APIServer); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var asking sync.WaitGroup
	var plainly, refusals, answers atomic.Int32
	again := func(ask func() error, tell func(error)) {
		asking.Go(func() {
			for {
				select {
				case <-done:
					return
				case <-time.After(5 * time.Millisecond):
					tell(ask())
				}
			}
		})
	}
	again(func() error {
		_, err := plain.CoreV1().ConfigMaps(metav1.NamespaceDefault).Get(t.Context(), "kube-root-ca.crt", metav1.GetOptions{})
		return err
	}, func(err error) {
		if apierrors.IsForbidden(err) {
			plainly.Add(1)
		}
	})
	for range 4 {
		again(func() error {
			return ours.Live().List(t.Context(), &corev1.ConfigMapList{}, client.InNamespace(metav1.NamespaceDefault))
		}, func(err error) {
			switch {
			case err == nil:
				answers.Add(1)
			case apierrors.IsForbidden(err):
				refusals.Add(1)
				t.Log(err)
			}
		})
	}
	err = b.StartRole(t.Context(), cluster.APIServer)
	if err == nil {
		err = b.WaitReady(t.Context())
	}
	close(done)
	asking.Wait()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("a client that does not know it was refused %d times; ours had %d answers", plainly.Load(), answers.Load())
	if refusals.Load() > 0 || answers.Load() == 0 {
		t.Errorf("of %d answers %d are refusals", answers.Load(), refusals.Load())
	}
}

// allow grants a user the right to read ConfigMaps of namespace default, and waits until it is effective.
func allow(t *testing.T, c client.Client, user string) {
	t.Helper()
	role := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: user},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "list"}}},
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: role.ObjectMeta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}},
	}
	for _, object := range []client.Object{role, binding} {
		if err := c.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
}
