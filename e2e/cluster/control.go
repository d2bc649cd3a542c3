package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// terminationGrace is how long StopRole lets a role end by itself.
const terminationGrace = 10 * time.Second

// Kill ends a role with SIGKILL and waits until it is gone. It is no error if
// the role does not run.
func (c *Cluster) Kill(role Role) error {
	p := c.process(role)
	if p == nil {
		return c.errorf(role, "was never started")
	}
	p.kill()
	return nil
}

// StopRole ends a role with SIGTERM, or with SIGKILL if it takes longer than
// ten seconds, and waits until it is gone.
func (c *Cluster) StopRole(role Role) error {
	p := c.process(role)
	if p == nil {
		return c.errorf(role, "was never started")
	}
	p.terminate(terminationGrace)
	return nil
}

// Freeze stops a role where it stands (SIGSTOP): its connections stay open and
// nobody answers. It returns once the last thread of the role stands still.
func (c *Cluster) Freeze(role Role) error {
	p := c.process(role)
	if p == nil || !p.isRunning() {
		return c.errorf(role, "is not running")
	}
	if err := p.freeze(); err != nil {
		return c.errorf(role, "freeze: %w", err)
	}
	return nil
}

// Thaw lets a frozen role go on (SIGCONT). If it is the apiserver or etcd, its
// clients are restarted, as in StartRole.
func (c *Cluster) Thaw(role Role) error {
	p := c.process(role)
	if p == nil || !p.isRunning() {
		return c.errorf(role, "is not running")
	}
	if err := p.thaw(); err != nil {
		return c.errorf(role, "thaw: %w", err)
	}
	return c.refresh(role)
}

// StartRole starts a role again after Kill or StopRole, and returns once it
// answers. An apiserver answers only with its etcd, so start that first. After
// either of them came back, controller manager, scheduler and kwok are started
// anew if they run; WaitReady waits for all.
func (c *Cluster) StartRole(ctx context.Context, role Role) error {
	if err := c.launch(role); err != nil {
		return err
	}
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

// refresh restarts the clients of an apiserver or an etcd that came back.
//
// kwok is no real kubelet: it drops a write that failed, and the pod would be
// stuck until somebody touches it. Controller manager and scheduler recover,
// but after some outages they wait up to a minute before they watch again.
// (With leader election they would lose their leases and be restarted too.)
func (c *Cluster) refresh(cause Role) error {
	if cause != APIServer && cause != Etcd {
		return nil
	}
	for _, role := range []Role{ControllerManager, Scheduler, Kwok} {
		if !c.isActive(role) {
			continue // because the test wants it so
		}
		c.process(role).kill()
		if err := c.launch(role); err != nil {
			return err
		}
	}
	return nil
}

// isActive tells whether a role runs and is not frozen.
func (c *Cluster) isActive(role Role) bool {
	p := c.process(role)
	return p != nil && p.isRunning() && !p.frozen.Load()
}

// launch starts the process of a role.
func (c *Cluster) launch(role Role) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return c.errorf(role, "start: the cluster is stopped")
	}
	if p := c.processes[role]; p != nil && p.isRunning() {
		return c.errorf(role, "is already running")
	}
	if role == Etcd {
		c.removeSockets()
	}
	p, err := startProcess(c.binary, c.dir, c.LogFile(role), c.arguments(role))
	if err != nil {
		return c.errorf(role, "start: %w", err)
	}
	c.processes[role] = p
	return nil
}

// removeSockets removes what a killed etcd left: that the socket is there again
// is the sign that its successor listens.
func (c *Cluster) removeSockets() {
	for _, socket := range []string{etcdSocket, etcdPeerSocket} {
		_ = os.Remove(filepath.Join(c.dir, socket))
	}
}

// process returns the last process of a role, or nil.
func (c *Cluster) process(role Role) *process {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.processes[role]
}

func (c *Cluster) errorf(role Role, format string, args ...any) error {
	return fmt.Errorf("cluster %s: %s: "+format, append([]any{c.Name(), role}, args...)...)
}
