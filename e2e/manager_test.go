package e2e

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/config"
	"github.com/sliceshift/sliceshift/e2e/child"
	"github.com/sliceshift/sliceshift/internal/clusters"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	slicesapi "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// programs builds a command of this repository once for all tests.
var programs = struct {
	sync.Mutex
	dir   string
	built map[string]string
}{built: map[string]string{}}

func program(t testing.TB, name string) string {
	t.Helper()
	programs.Lock()
	defer programs.Unlock()
	if path := programs.built[name]; path != "" {
		return path
	}
	if programs.dir == "" {
		dir, err := os.MkdirTemp("", "sliceshift-programs-") //nolint:usetesting // it outlives the test that asks first
		if err != nil {
			t.Fatal(err)
		}
		programs.dir = dir
	}
	path := filepath.Join(programs.dir, name)
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, "../cmd/"+name).CombinedOutput()
	if err != nil {
		t.Fatalf("building %s: %v\n%s", name, err, out)
	}
	programs.built[name] = path
	return path
}

// managerUser is the ServiceAccount that the shipped roles are bound to.
const managerUser = "system:serviceaccount:sliceshift-system:sliceshift-manager"

// install puts the resource definition and the shipped roles into a cluster. The
// manager itself is not among what is applied: the tests run it.
var install = oncePerPair(func() error {
	for _, each := range []site{east, west} {
		if err := installRoles(each); err != nil {
			return err
		}
	}
	return nil
})

// installCRDs puts the resource definitions into a cluster, and waits until they are
// served.
func installCRDs(at site) error {
	c, err := direct(at)
	if err != nil {
		return err
	}
	crds, err := config.CRDs()
	if err != nil {
		return err
	}
	for _, crd := range crds {
		if err := create(c, crd); err != nil {
			return err
		}
	}
	for _, list := range []client.ObjectList{&api.MigrationList{}, &slicesapi.StatefulSetList{}} {
		err := wait.PollUntilContextTimeout(context.Background(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			return c.List(ctx, list) == nil, nil
		})
		if err != nil {
			return fmt.Errorf("cluster %s does not serve %T: %w", at.Name(), list, err)
		}
	}
	return nil
}

func installRoles(c site) error {
	connection, err := direct(c)
	if err != nil {
		return err
	}
	objects, err := config.ManagerObjects()
	if err != nil {
		return err
	}
	for _, object := range objects {
		if object.GetKind() == "Deployment" {
			continue
		}
		if err := create(connection, object); err != nil {
			return err
		}
	}
	return nil
}

func create(c client.Client, object client.Object) error {
	if err := c.Create(context.Background(), object); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating %T %s: %w", object, object.GetName(), err)
	}
	return nil
}

func direct(c site) (client.Client, error) {
	scheme := clusters.NewScheme()
	for _, add := range extraTypes {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return client.New(c.RESTConfig(), client.Options{Scheme: scheme})
}

// manager is a running manager process.
type manager struct {
	t    testing.TB
	args []string
	env  []string
	log  *os.File
	cmd  *exec.Cmd
}

// startManager runs the manager for one namespace of east, with exactly the
// shipped rights.
func startManager(t *testing.T, namespace string, args ...string) *manager {
	t.Helper()
	m := newManager(t, namespace, "manager.log")
	m.args = append(m.args, args...)
	m.start()
	t.Cleanup(func() {
		m.kill()
		m.tellLog()
	})
	return m
}

// newManager is a manager that does not run yet.
func newManager(t testing.TB, namespace, logName string) *manager {
	t.Helper()
	if err := install(); err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := east.UserKubeconfig(managerUser)
	if err != nil {
		t.Fatal(err)
	}
	return managerWith(t, kubeconfig, namespace, logName)
}

// allowLocal is for clusters on this machine, which a manager refuses as it is shipped: see
// TestLocalAddresses, and the suite of kind, where it runs as it is shipped.
const allowLocal = "--cluster-client-allow-local-addresses"

// managerWith is a manager of the cluster and the identity of a kubeconfig.
func managerWith(t testing.TB, kubeconfig, namespace, logName string) *manager {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), logName))
	if err != nil {
		t.Fatal(err)
	}
	return &manager{t: t, log: log, args: []string{
		"--kubeconfig", kubeconfig, "--watch-namespace", namespace, "--metrics-bind-address", "0", "--health-probe-bind-address", "0",
		"--leader-election-namespace", "sliceshift-system", "--leader-election-id", cmp.Or(namespace, "everywhere"),
		"--leader-election-lease-duration", "2s", "--leader-election-renew-deadline", "1500ms", "--leader-election-retry-period", "200ms",
		"--cluster-client-qps", "1000", "--cluster-client-burst", "2000", allowLocal, "--volumes-allow-paths", "--log-format", "text",
	}}
}

// tellLog prints what a manager has logged when its test has failed.
func (m *manager) tellLog() {
	if m.t.Failed() {
		out, _ := os.ReadFile(m.log.Name())
		m.t.Logf("%s:\n%s", filepath.Base(m.log.Name()), out)
	}
}

func (m *manager) start() {
	m.t.Helper()
	m.cmd = exec.Command(program(m.t, "manager"), m.args...)
	m.cmd.Stdout, m.cmd.Stderr, m.cmd.Env = m.log, m.log, append(os.Environ(), m.env...)
	if err := child.Start(m.cmd); err != nil {
		m.t.Fatal(err)
	}
}

// kill ends the manager with SIGKILL and waits until it is gone.
func (m *manager) kill() {
	_ = m.cmd.Process.Kill() // it may be gone already
	_ = m.cmd.Wait()
}

// managed prepares a move that a manager drives: the kubeconfig of the destination
// in a Secret, and the shipped roles bound to whom it acts as.
func (v *move) managed() client.Client {
	v.t.Helper()
	v.must(install())
	v.grant(v.source, rbacv1.Subject{Kind: "ServiceAccount", Namespace: v.app.Namespace, Name: "default"})
	if v.to != v.from {
		v.grant(v.destination, rbacv1.Subject{Kind: "User", APIGroup: rbacv1.GroupName, Name: "mover"})
		v.useMover()
	}
	c, err := direct(v.from)
	v.must(err)
	return c
}

// useMover puts a kubeconfig of the user mover into the Secret of the destination.
func (v *move) useMover() {
	v.t.Helper()
	v.secret("west", v.kubeconfigOf("mover"))
	v.m.Spec.Destination.KubeConfigSecretRef = &api.SecretKeyReference{Name: "west"}
}

// kubeconfigOf is one of the destination's.
func (v *move) kubeconfigOf(user string) []byte {
	v.t.Helper()
	path, err := v.to.UserKubeconfig(user)
	v.must(err)
	data, err := os.ReadFile(path)
	v.must(err)
	return data
}

func (v *move) secret(name string, kubeconfig []byte) {
	v.t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: v.app.Namespace, Name: name}, Data: map[string][]byte{"value": kubeconfig}}
	_, err := v.source.CoreV1().Secrets(v.app.Namespace).Create(v.ctx, secret, metav1.CreateOptions{})
	v.must(err)
}

func (v *move) grant(client kubernetes.Interface, subject rbacv1.Subject) {
	v.t.Helper()
	for _, role := range []string{"sliceshift-mover", "sliceshift-mover-cluster"} {
		binding := &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: role + "-" + v.app.Namespace},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{subject},
		}
		_, err := client.RbacV1().ClusterRoleBindings().Create(v.ctx, binding, metav1.CreateOptions{})
		v.must(err)
	}
}

// await polls the Migration until a condition has a status.
func (v *move) await(c client.Client, kind string, status metav1.ConditionStatus) metav1.Condition {
	v.t.Helper()
	var found metav1.Condition
	m := &api.Migration{}
	defer func() {
		if v.t.Failed() {
			v.t.Logf("status: %+v", m.Status)
		}
	}()
	v.eventually(fmt.Sprintf("condition %s=%s", kind, status), func(ctx context.Context) (bool, error) {
		if err := c.Get(ctx, client.ObjectKeyFromObject(v.m), m); err != nil {
			return false, err
		}
		condition := meta.FindStatusCondition(m.Status.Conditions, kind)
		if condition == nil || condition.Status != status {
			return false, nil
		}
		found = *condition
		return true, nil
	})
	return found
}

// gone is the condition that a Migration does not exist any more.
func gone(c client.Client, m *api.Migration) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		err := c.Get(ctx, client.ObjectKeyFromObject(m), &api.Migration{})
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	}
}

func TestManagerMoves(t *testing.T) {
	for name, where := range map[string]setting{"clusters": acrossClusters, "namespaces": acrossNamespaces} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newMove(t, usual(3), where)
			c := v.managed()
			startManager(t, v.app.Namespace)
			v.must(c.Create(v.ctx, v.m))
			if condition := v.await(c, api.ConditionCompleted, metav1.ConditionTrue); condition.Reason != api.ReasonMoved {
				t.Errorf("completed with %s", condition.Reason)
			}
			v.expectMoved()
			v.audit()
			v.must(c.Delete(v.ctx, v.m))
			v.eventually("the Migration is gone", gone(c, v.m))
		})
	}
}

// TestDeletedAfterTheEnd: a Migration that is at its end goes though neither cluster can
// be reached in its name any more, as when its namespace is deleted.
func TestDeletedAfterTheEnd(t *testing.T) {
	t.Parallel()
	v := newMove(t, usual(1), acrossClusters)
	c := v.managed()
	startManager(t, v.app.Namespace)
	v.must(c.Create(v.ctx, v.m))
	v.await(c, api.ConditionCompleted, metav1.ConditionTrue)
	v.eventually("nothing holds the Migration", func(ctx context.Context) (bool, error) {
		err := c.Get(ctx, client.ObjectKeyFromObject(v.m), v.m)
		return len(v.m.Finalizers) == 0, err
	})
	v.must(v.source.CoreV1().Secrets(v.app.Namespace).Delete(v.ctx, "west", metav1.DeleteOptions{}))
	for _, role := range []string{"sliceshift-mover", "sliceshift-mover-cluster"} {
		v.must(v.source.RbacV1().ClusterRoleBindings().Delete(v.ctx, role+"-"+v.app.Namespace, metav1.DeleteOptions{}))
	}
	v.must(c.Delete(v.ctx, v.m))
	v.eventually("the Migration is gone", gone(c, v.m))
}

// TestAccountCorrected: a Migration that was refused for its account, or for the kubeconfig in
// its Secret, goes on when it is given another one.
func TestAccountCorrected(t *testing.T) {
	for name, tc := range map[string]struct {
		spoil, mend func(v *move, c client.Client)
	}{
		"the account": {
			func(v *move, _ client.Client) { v.m.Spec.ServiceAccountName = "weak" },
			func(v *move, c client.Client) {
				v.must(c.Patch(v.ctx, v.m, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"serviceAccountName":"default"}}`))))
			},
		},
		"the kubeconfig": {
			func(v *move, _ client.Client) { v.useKubeconfig(v.kubeconfigOf("nobody")) },
			func(v *move, _ client.Client) { v.useKubeconfig(v.kubeconfigOf("mover")) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newMove(t, usual(1), acrossClusters)
			c := v.managed()
			tc.spoil(v, c)
			startManager(t, v.app.Namespace)
			v.must(c.Create(v.ctx, v.m))
			if refused := v.await(c, api.ConditionAccepted, metav1.ConditionFalse); refused.Reason != api.ReasonPermissionMissing {
				t.Errorf("refused with %s", refused.Reason)
			}
			tc.mend(v, c)
			v.await(c, api.ConditionCompleted, metav1.ConditionTrue)
			v.expectMoved()
			v.audit()
		})
	}
}

// TestManagerKilled kills the manager in the middle of handoffs, and each time another one takes
// over what it finds, with a new epoch.
func TestManagerKilled(t *testing.T) {
	t.Parallel()
	v := newMove(t, usual(4), acrossClusters)
	c := v.managed()
	process := startManager(t, v.app.Namespace)
	v.must(c.Create(v.ctx, v.m))
	m := &api.Migration{}
	look := func() { v.must(c.Get(v.ctx, client.ObjectKeyFromObject(v.m), m)) }
	inMidMove := 0
	for moved, step := range []api.Step{api.StepAwaitRelease, api.StepCarryVolumes, api.StepAwaitReadiness} {
		v.eventually("the migration gets on", func(ctx context.Context) (bool, error) {
			if err := c.Get(ctx, client.ObjectKeyFromObject(v.m), m); err != nil {
				return false, err
			}
			handoff, at := m.Status.Handoff, m.Status.Moved
			return at > int32(moved) || at == int32(moved) && handoff != nil && handoff.Step == step || meta.IsStatusConditionTrue(m.Status.Conditions, api.ConditionCompleted), nil
		})
		process.kill()
		look()
		killed, epoch := m.Status.Handoff, m.Status.Claim.Epoch
		process.start()
		if killed == nil {
			continue
		}
		inMidMove++
		v.eventually("another one takes over", func(ctx context.Context) (bool, error) {
			err := c.Get(ctx, client.ObjectKeyFromObject(v.m), m)
			return err == nil && m.Status.Claim.Epoch > epoch, err
		})
		if next := m.Status.Handoff; next != nil && m.Status.Moved == int32(moved) && next.Ordinal != killed.Ordinal {
			t.Errorf("ordinal %d was on its way, and then ordinal %d", killed.Ordinal, next.Ordinal)
		}
	}
	v.await(c, api.ConditionCompleted, metav1.ConditionTrue)
	v.expectMoved()
	v.audit()
	if inMidMove == 0 {
		t.Error("it was never killed while an ordinal was on its way")
	}
}

// TestDeletedInMidMove deletes the Migration while an ordinal is on its way: it is
// brought up, both sides are let go, and nothing more moves.
func TestDeletedInMidMove(t *testing.T) {
	t.Parallel()
	v := newMove(t, usual(4), acrossClusters)
	c := v.managed()
	startManager(t, v.app.Namespace)
	v.must(c.Create(v.ctx, v.m))
	v.awaitFewer(3)
	v.must(c.Delete(v.ctx, v.m))
	v.eventually("the Migration is gone", gone(c, v.m))
	set, err := v.destination.AppsV1().StatefulSets(v.toNamespace).Get(v.ctx, v.app.Name, metav1.GetOptions{})
	v.must(err)
	moved := *set.Spec.Replicas
	if moved < 1 || moved > 3 {
		t.Errorf("%d ordinals are at the destination", moved)
	}
	v.expectSlice(v.here(), 0, 4-moved)
	v.expectSlice(v.there(), 4-moved, moved)
	v.audit()
}

// TestCleanup deletes at the source what is not needed any more.
func TestCleanup(t *testing.T) {
	for name, where := range map[string]setting{"clusters": acrossClusters, "namespaces": acrossNamespaces} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newMove(t, usual(2), where, withSpec(func(s *api.MigrationSpec) { s.Cleanup.Source = api.CleanupDelete }))
			v.run()
			v.expectSlice(v.there(), 0, 2)
			v.expectVolumes(v.there(), 2)
			_, err := v.source.AppsV1().StatefulSets(v.app.Namespace).Get(v.ctx, v.app.Name, metav1.GetOptions{})
			if !apierrors.IsNotFound(err) {
				t.Errorf("the source StatefulSet is still there: %v", err)
			}
			claims, err := v.source.CoreV1().PersistentVolumeClaims(v.app.Namespace).List(v.ctx, metav1.ListOptions{})
			v.must(err)
			if len(claims.Items) > 0 {
				t.Errorf("%d claims are still there", len(claims.Items))
			}
			v.audit()
		})
	}
}
