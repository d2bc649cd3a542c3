package harness

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/child"
	"github.com/sliceshift/sliceshift/e2e/fixture"
)

// Manager is a running manager process.
type Manager struct {
	T testing.TB
	// Args and Env are the arguments and environment of the process.
	Args, Env []string
	Log       *os.File
	Cmd       *exec.Cmd
}

// AllowLocal permits clusters on this machine, which the manager refuses by default. TestLocalAddresses proves
// the refusal, and in the kind suite the manager runs with its defaults.
const AllowLocal = "--cluster-client-allow-local-addresses"

// Hasty makes another manager the leader within two seconds after a leader was killed, for tests that wait for
// that. In return, a manager on a slow machine may lose its lease and exit.
var Hasty = []string{"--leader-election-lease-duration", "2s", "--leader-election-renew-deadline", "1500ms", "--leader-election-retry-period", "200ms"}

// StartManager runs the manager for one namespace of east with exactly the shipped rights.
func StartManager(t *testing.T, namespace string, args ...string) *Manager {
	t.Helper()
	m := NewManager(t, namespace, "manager.log")
	m.Args = append(m.Args, args...)
	m.Run()
	return m
}

// NewManager returns a manager that does not run yet, with the default settings of leader election.
func NewManager(t testing.TB, namespace, logName string) *Manager {
	t.Helper()
	if err := Install(); err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := east.UserKubeconfig(fixture.ManagerUser)
	if err != nil {
		t.Fatal(err)
	}
	return ManagerWith(t, kubeconfig, namespace, logName)
}

// ManagerWith returns a manager that uses the cluster and the identity of a kubeconfig.
func ManagerWith(t testing.TB, kubeconfig, namespace, logName string) *Manager {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), logName))
	if err != nil {
		t.Fatal(err)
	}
	return &Manager{T: t, Log: log, Args: []string{
		"--kubeconfig", kubeconfig, "--watch-namespace", namespace, "--metrics-bind-address", "0", "--health-probe-bind-address", "0",
		"--leader-election-namespace", "sliceshift-system", "--leader-election-id", cmp.Or(namespace, "everywhere"),
		"--cluster-client-qps", "1000", "--cluster-client-burst", "2000", AllowLocal, "--volumes-allow-paths", "--log-format", "text",
	}}
}

// TellLog prints the manager's log if its test has failed.
func (m *Manager) TellLog() {
	if m.T.Failed() {
		out, _ := os.ReadFile(m.Log.Name())
		m.T.Logf("%s:\n%s", filepath.Base(m.Log.Name()), out)
	}
}

// Run starts the manager and stops it when its test ends.
func (m *Manager) Run() {
	m.T.Helper()
	m.Start()
	m.T.Cleanup(func() {
		m.Kill()
		m.TellLog()
	})
}

// Start starts the manager.
func (m *Manager) Start() {
	m.T.Helper()
	m.Cmd = exec.Command(Program(m.T, "manager"), m.Args...)
	m.Cmd.Stdout, m.Cmd.Stderr, m.Cmd.Env = m.Log, m.Log, append(os.Environ(), m.Env...)
	if err := child.Start(m.Cmd); err != nil {
		m.T.Fatal(err)
	}
}

// Kill kills the manager with SIGKILL and waits until it has exited.
func (m *Manager) Kill() {
	_ = m.Cmd.Process.Kill() // it may have exited already
	_ = m.Cmd.Wait()
}

// Managed prepares a move that a manager drives. It stores the destination's kubeconfig in a Secret and binds
// the shipped roles to the identities that the manager uses.
func (v *Move) Managed() client.Client {
	v.T.Helper()
	v.Must(Install())
	v.Grant(v.Source, rbacv1.Subject{Kind: "ServiceAccount", Namespace: v.App.Namespace, Name: "default"})
	if v.To != v.From {
		v.Grant(v.Destination, rbacv1.Subject{Kind: "User", APIGroup: rbacv1.GroupName, Name: "mover"})
		v.UseMover()
	}
	c, err := Client(v.From)
	v.Must(err)
	return c
}

// UseMover stores a kubeconfig of the user mover in the Secret of the destination.
func (v *Move) UseMover() {
	v.T.Helper()
	v.Secret("west", v.KubeconfigOf("mover"))
	v.Migration.Spec.Destination.KubeConfigSecretRef = &api.SecretKeyReference{Name: "west"}
}

// KubeconfigOf returns a user's kubeconfig for the destination.
func (v *Move) KubeconfigOf(user string) []byte {
	v.T.Helper()
	path, err := v.To.UserKubeconfig(user)
	v.Must(err)
	data, err := os.ReadFile(path)
	v.Must(err)
	return data
}

// Secret stores a kubeconfig in a Secret in the namespace of the Migration.
func (v *Move) Secret(name string, kubeconfig []byte) {
	v.T.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: v.App.Namespace, Name: name}, Data: map[string][]byte{"value": kubeconfig}}
	_, err := v.Source.CoreV1().Secrets(v.App.Namespace).Create(v.Ctx, secret, metav1.CreateOptions{})
	v.Must(err)
}

// Grant gives a subject the rights for a move in a cluster.
func (v *Move) Grant(client kubernetes.Interface, subject rbacv1.Subject) {
	v.T.Helper()
	v.Must(fixture.GrantMove(v.Ctx, client, v.App.Namespace, subject))
}

// Await polls the Migration until a condition has a status.
func (v *Move) Await(c client.Client, kind string, status metav1.ConditionStatus) metav1.Condition {
	v.T.Helper()
	var found metav1.Condition
	m := &api.Migration{}
	defer func() {
		if v.T.Failed() {
			v.T.Logf("status: %+v", m.Status)
		}
	}()
	v.Eventually(fmt.Sprintf("condition %s=%s", kind, status), func(ctx context.Context) (bool, error) {
		if err := c.Get(ctx, client.ObjectKeyFromObject(v.Migration), m); err != nil {
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

// Gone returns a condition that is true once the Migration no longer exists.
func Gone(c client.Client, m *api.Migration) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		err := c.Get(ctx, client.ObjectKeyFromObject(m), &api.Migration{})
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	}
}

// Install applies the shipped roles to both clusters. It does not deploy the manager, which the tests run
// themselves.
var Install = OnceInBoth(InstallRoles)

// installCRDs applies the resource definitions to a cluster and waits until they are served.
func installCRDs(at Cluster) error { return with(at, fixture.InstallCRDs) }

// InstallRoles applies the shipped roles to a cluster.
func InstallRoles(at Cluster) error { return with(at, fixture.InstallRoles) }

func with(at Cluster, do func(context.Context, client.Client) error) error {
	c, err := Client(at)
	if err == nil {
		err = do(context.Background(), c)
	}
	if err != nil {
		return fmt.Errorf("cluster %s: %w", at.Name(), err)
	}
	return nil
}

// Client returns a client with the rights of the cluster's administrator.
func Client(at Cluster) (client.Client, error) { return fixture.Client(at.RESTConfig()) }

// Steps runs the parts of a case as subtests. T points to the variable that holds the case's test; during a
// step it holds that of the step.
type Steps struct{ T **testing.T }

// Run runs a step. The case ends with the first failing step.
func (s Steps) Run(name string, step func(*testing.T)) {
	outer := *s.T
	outer.Helper()
	passed := outer.Run(name, func(t *testing.T) {
		*s.T = t
		step(t)
	})
	if *s.T = outer; !passed {
		outer.FailNow()
	}
}
