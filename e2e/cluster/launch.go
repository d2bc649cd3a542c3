package cluster

import (
	"context"
	"os"
	"path/filepath"

	"github.com/sliceshift/sliceshift/e2e/cluster/process"
)

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
