package harness

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sliceshift/sliceshift/e2e/child"
)

// ManagerCount is the number of managers: one leader and one standby.
const ManagerCount = 2

// ManagerReplicas runs the managers of a namespace. It restarts a manager that exits, as a Deployment does.
type ManagerReplicas struct {
	replicas [ManagerCount]*managerReplica
}

// managerReplica is one of the managers. It has no process between an exit and the restart.
type managerReplica struct {
	Manager
	mu      sync.Mutex
	process *os.Process
}

// StartManagerReplicas starts the managers of a namespace and stops them with the test.
func StartManagerReplicas(t testing.TB, namespace string) *ManagerReplicas {
	t.Helper()
	r := &ManagerReplicas{}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var ended sync.WaitGroup
	for i := range r.replicas {
		m := NewManager(t, namespace, fmt.Sprintf("manager-%d.log", i))
		m.Args = append(m.Args, Hasty...)
		r.replicas[i] = &managerReplica{Manager: *m}
		ended.Go(func() { r.replicas[i].keep(ctx, t) })
	}
	t.Cleanup(func() {
		stop()
		ended.Wait()
		for _, m := range r.replicas {
			m.TellLog()
		}
	})
	return r
}

// keep restarts the manager each time that it exits.
func (m *managerReplica) keep(ctx context.Context, t testing.TB) {
	const startDelay = 200 * time.Millisecond
	for ctx.Err() == nil {
		cmd := exec.CommandContext(ctx, Program(t, "manager"), m.Args...)
		cmd.Stdout, cmd.Stderr = m.Log, m.Log
		if err := child.Start(cmd); err != nil {
			t.Error(err)
			return
		}
		m.mu.Lock()
		m.process = cmd.Process
		m.mu.Unlock()
		_ = cmd.Wait() // it was killed, or has lost its lease
		Sleep(ctx, startDelay)
	}
}

func (m *managerReplica) signal(signal syscall.Signal) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.process != nil {
		_ = m.process.Signal(signal) // it may have exited meanwhile
	}
}

// Kill kills a manager with SIGKILL.
func (r *ManagerReplicas) Kill(i int) error {
	r.replicas[i].signal(syscall.SIGKILL)
	return nil
}

// Freeze suspends a manager for d. Another manager may be the leader when it resumes.
func (r *ManagerReplicas) Freeze(ctx context.Context, i int, d time.Duration) error {
	r.replicas[i].signal(syscall.SIGSTOP)
	Sleep(ctx, d)
	r.replicas[i].signal(syscall.SIGCONT)
	return nil
}
