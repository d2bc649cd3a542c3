package harness

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

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
