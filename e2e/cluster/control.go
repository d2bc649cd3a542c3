package cluster

import (
	"context"
	"fmt"
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
