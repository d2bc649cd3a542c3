package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/sliceshift/sliceshift/e2e/cluster/process"
)

// terminationGrace is how long StopRole waits for a role to end before it kills it.
const terminationGrace = 10 * time.Second

// Kill ends a role with SIGKILL and waits for its exit. It is no error if the role does not run.
func (c *Cluster) Kill(role Role) error {
	p, err := c.dismiss(role)
	if err != nil {
		return err
	}
	p.Kill()
	return nil
}

// StopRole ends a role with SIGTERM, or with SIGKILL if it takes longer than ten seconds, and waits for its exit.
func (c *Cluster) StopRole(role Role) error {
	p, err := c.dismiss(role)
	if err != nil {
		return err
	}
	p.Terminate(terminationGrace)
	return nil
}

// dismiss marks the role as stopped on request, so that it is not restarted, and returns its process.
func (c *Cluster) dismiss(role Role) (*process.Process, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.processes[role]
	if p == nil {
		return nil, c.errorf(role, "was never started")
	}
	p.Dismissed.Store(true)
	return p, nil
}

// Freeze suspends a role (SIGSTOP): its connections stay open without an answer. It returns once the last thread of
// the role is stopped.
func (c *Cluster) Freeze(role Role) error {
	p, err := c.hold(role)
	if err != nil {
		return err
	}
	if err := p.Freeze(); err != nil {
		return c.errorf(role, "freeze: %w", err)
	}
	return nil
}

// hold marks the role as frozen, so that it is not restarted from now on, and returns its process.
func (c *Cluster) hold(role Role) (*process.Process, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.processes[role]
	if p == nil || !p.IsRunning() {
		return nil, c.errorf(role, "is not running")
	}
	p.Frozen.Store(true)
	return p, nil
}

// Thaw continues a frozen role (SIGCONT). If it is the apiserver or etcd, its clients are restarted, as in StartRole.
func (c *Cluster) Thaw(role Role) error {
	p := c.process(role)
	if p == nil || !p.IsRunning() {
		return c.errorf(role, "is not running")
	}
	if err := p.Thaw(); err != nil {
		return c.errorf(role, "thaw: %w", err)
	}
	return c.refresh(role)
}

// StartRole starts a role again after Kill or StopRole, and returns once it answers. An apiserver answers only with
// its etcd, so start etcd first. After a restart of either of them, controller manager, scheduler and kwok are
// restarted if they run; WaitReady waits for all.
func (c *Cluster) StartRole(ctx context.Context, role Role) error {
	if err := c.launch(role); err != nil {
		return err
	}
	return c.settle(ctx, role)
}

// PID returns the process id of a role, for a test that breaks the role without informing the cluster; 0 if the role
// does not run.
func (c *Cluster) PID(role Role) int {
	p := c.process(role)
	if p == nil || !p.IsRunning() {
		return 0
	}
	return p.PID()
}

func (c *Cluster) errorf(role Role, format string, args ...any) error {
	return fmt.Errorf("cluster %s: %s: "+format, append([]any{c.Name(), role}, args...)...)
}

// settle waits until a restarted role answers, and refreshes its clients.
func (c *Cluster) settle(ctx context.Context, role Role) error {
	if err := c.waitRole(ctx, role); err != nil {
		return err
	}
	if role == Etcd && c.isActive(APIServer) {
		if err := c.waitRole(ctx, APIServer); err != nil {
			return err
		}
	}
	return c.refresh(role)
}

// refresh restarts the clients of an apiserver or an etcd that restarted.
//
// kwok is no real kubelet: it drops a failed write, and the pod would be stuck until another change of it. Controller
// manager and scheduler recover, but after some outages they wait up to a minute before they watch again. (With leader
// election they would lose their leases and be restarted too.)
func (c *Cluster) refresh(cause Role) error {
	if cause != APIServer && cause != Etcd {
		return nil
	}
	for _, role := range []Role{ControllerManager, Scheduler, Kwok} {
		if err := c.restart(role); err != nil {
			return err
		}
	}
	return nil
}

// restart replaces the process of a role in one step. A role that a test stopped or froze is skipped, because the test
// wants it so. A role that exited unexpectedly is started by its supervisor.
func (c *Cluster) restart(role Role) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.processes[role]
	if p == nil || !p.IsActive() {
		return nil
	}
	p.Kill()
	return c.run(role)
}

// isActive reports whether a role runs and is not frozen.
func (c *Cluster) isActive(role Role) bool {
	p := c.process(role)
	return p != nil && p.IsActive()
}

// launch starts the process of a role.
func (c *Cluster) launch(role Role) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.processes[role]; p != nil && p.IsRunning() {
		return c.errorf(role, "is already running")
	}
	return c.run(role)
}

// run starts the process of a role that does not run, and its supervisor. The
// caller holds mu.
func (c *Cluster) run(role Role) error {
	if c.isStopped() {
		return c.errorf(role, "start: the cluster is stopped")
	}
	if role == Etcd {
		c.removeSockets()
	}
	p, err := process.Start(c.binary, c.dir, c.LogFile(role), c.arguments(role))
	if err != nil {
		return c.errorf(role, "start: %w", err)
	}
	c.processes[role] = p
	c.supervisors.Go(func() { c.supervise(role, p) })
	return nil
}

func (c *Cluster) isStopped() bool {
	select {
	case <-c.stopping:
		return true
	default:
		return false
	}
}

// removeSockets removes the sockets of a killed etcd: the existence of a socket is the sign that the successor
// listens.
func (c *Cluster) removeSockets() {
	for _, socket := range []string{etcdSocket, etcdPeerSocket} {
		_ = os.Remove(filepath.Join(c.dir, socket))
	}
}

// process returns the last process of a role, or nil.
func (c *Cluster) process(role Role) *process.Process {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.processes[role]
}
