package move

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/config"
	"github.com/sliceshift/sliceshift/e2e/cluster"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/e2e/hostile"
)

// tenancy is a cluster whose manager works for all namespaces.
type tenancy struct {
	t       *testing.T
	at      harness.Cluster
	client  client.Client
	typed   kubernetes.Interface
	manager *harness.Manager
}

// startTenancy starts a separate cluster, because its manager would also drive the moves of other tests.
func startTenancy(t *testing.T, name string, flags ...string) *tenancy {
	t.Helper()
	at, err := cluster.Start(t.Context(), cluster.Options{Name: name, Binary: binary(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = at.Stop() })
	for _, set := range []error{harness.Prepare(t.Context(), at), harness.InstallRoles(at)} {
		if set != nil {
			t.Fatal(set)
		}
	}
	c, err := harness.Client(at)
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := at.UserKubeconfig(fixture.ManagerUser)
	if err != nil {
		t.Fatal(err)
	}
	n := &tenancy{t: t, at: at, client: c, typed: kubernetes.NewForConfigOrDie(at.RESTConfig()), manager: harness.ManagerWith(t, kubeconfig, "", "manager.log")}
	shipped := config.Default().LeaderElection
	n.manager.Args = append(append(n.manager.Args,
		"--leader-election-lease-duration", shipped.LeaseDuration.String(), "--leader-election-renew-deadline", shipped.RenewDeadline.String(),
		"--leader-election-retry-period", shipped.RetryPeriod.String()), flags...)
	for _, variable := range shippedContainer(t).Env {
		n.manager.Env = append(n.manager.Env, variable.Name+"="+variable.Value)
	}
	n.manager.Start()
	n.manager.LimitMemory()
	t.Cleanup(func() {
		n.manager.Kill()
		n.manager.TellLog()
	})
	return n
}

func binary(t *testing.T) string {
	t.Helper()
	built, err := cluster.Build(t.Context(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	return built
}

// neighbour moves another tenant's application between namespaces and returns the duration. It fails if the
// move takes longer than within.
func (n *tenancy) neighbour(t *testing.T, replicas int32, within time.Duration) time.Duration {
	t.Helper()
	v := newMove(t, harness.Usual(replicas), n.toNewNamespace)
	c := v.Managed()
	began := time.Now()
	v.Must(c.Create(v.Ctx, v.Migration))
	v.Await(c, api.ConditionCompleted, metav1.ConditionTrue)
	took := time.Since(began)
	if took > within {
		t.Errorf("the neighbour's move took %s, more than %s", took, within)
	}
	v.ExpectMovedCleanly()
	v.Clear()
	return took
}

// tenant is a namespace with a malicious owner.
type tenant struct {
	*tenancy
	t         *testing.T
	namespace string
}

// tenant creates a namespace whose default account has the mover's rights, like the accounts of other tenants.
func (n *tenancy) tenant(t *testing.T) *tenant {
	t.Helper()
	h := &tenant{n, t, "h-" + rand.String(8)}
	h.must(n.client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: h.namespace}}))
	subject := rbacv1.Subject{Kind: "ServiceAccount", Namespace: h.namespace, Name: "default"}
	role := func(name string) rbacv1.RoleRef {
		return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}
	}
	_, err := n.typed.RbacV1().RoleBindings(h.namespace).Create(t.Context(), &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "mover"}, RoleRef: role("sliceshift-mover"), Subjects: []rbacv1.Subject{subject}}, metav1.CreateOptions{})
	h.must(err)
	_, err = n.typed.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: h.namespace}, RoleRef: role("sliceshift-mover-cluster"), Subjects: []rbacv1.Subject{subject}}, metav1.CreateOptions{})
	h.must(err)
	return h
}

func (h *tenant) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

// server starts a server of the tenant and stores its kubeconfig in a Secret.
func (h *tenant) server(name string) *hostile.Server {
	h.t.Helper()
	s := hostile.Start()
	h.t.Cleanup(s.Stop)
	h.secret(name, s)
	return s
}

func (h *tenant) secret(name string, s *hostile.Server) {
	h.t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: h.namespace, Name: name}, Data: map[string][]byte{"value": s.Kubeconfig()}}
	h.must(h.client.Create(h.t.Context(), secret))
}

// migrates creates a Migration of StatefulSet web between the clusters of these Secrets. An empty name stands
// for the tenant's own namespace.
func (h *tenant) migrates(name, source, destination string) *api.Migration {
	h.t.Helper()
	m := &api.Migration{ObjectMeta: metav1.ObjectMeta{Namespace: h.namespace, Name: name}, Spec: api.MigrationSpec{
		Source: api.SourceReference{Name: "web"}, Destination: api.DestinationReference{Name: "web"}, Mode: api.ModeRun,
	}}
	if source != "" {
		m.Spec.Source.KubeConfigSecretRef = &api.SecretKeyReference{Name: source}
	}
	if destination != "" {
		m.Spec.Destination.KubeConfigSecretRef = &api.SecretKeyReference{Name: destination}
	}
	h.must(h.client.Create(h.t.Context(), m))
	return m
}

// awaitReason polls a Migration until one of its conditions has one of the reasons.
func (h *tenant) awaitReason(m *api.Migration, within time.Duration, reasons ...string) *metav1.Condition {
	h.t.Helper()
	deadline := time.Now().Add(within)
	for time.Now().Before(deadline) {
		h.must(h.client.Get(h.t.Context(), client.ObjectKeyFromObject(m), m))
		for _, kind := range []string{api.ConditionStalled, api.ConditionProgressing, api.ConditionCompleted} {
			condition := meta.FindStatusCondition(m.Status.Conditions, kind)
			for _, reason := range reasons {
				if condition != nil && condition.Reason == reason {
					return condition
				}
			}
		}
		harness.Sleep(h.t.Context(), 50*time.Millisecond)
	}
	h.t.Fatalf("Migration %s has none of %v after %s: %+v", m.Name, reasons, within, m.Status)
	return nil
}

// silence is the number of one tenant's servers that accept connections and never answer.
const silence = 12

// silent creates Migrations to servers that never answer.
func (h *tenant) silent() []*api.Migration {
	h.t.Helper()
	var all []*api.Migration
	for i := range silence {
		name := fmt.Sprintf("silent-%d", i)
		s := h.server(name)
		s.Hook(hostile.Always(s.Silent))
		all = append(all, h.migrates(name, "", name))
	}
	return all
}
