package cluster

import (
	"context"
	"fmt"
	"time"

	"github.com/sliceshift/sliceshift/e2e/cluster/process"
)

// terminationGrace is how long StopRole lets a role end by itself.
const terminationGrace = 10 * time.Second

// Kill ends a role with SIGKILL and waits until it is gone. It is no error if
// the role does not run.
func (c *Cluster) Kill(role Role) error {
	p, err := c.dismiss(role)
	if err != nil {
		return err
	}
	p.Kill()
	return nil
}

// StopRole ends a role with SIGTERM, or with SIGKILL if it takes longer than
// ten seconds, and waits until it is gone.
func (c *Cluster) StopRole(role Role) error {
	p, err := c.dismiss(role)
	if err != nil {
		return err
	}
	p.Terminate(terminationGrace)
	return nil
}

// dismiss says that the role is to end, or to stay down if it has ended by
// itself, and returns its process.
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

// Freeze stops a role where it stands (SIGSTOP): its connections stay open and
// nobody answers. It returns once the last thread of the role stands still.
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

// hold marks the role as frozen, so that nobody restarts it from now on, and
// returns its process.
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

// Thaw lets a frozen role go on (SIGCONT). If it is the apiserver or etcd, its
// clients are restarted, as in StartRole.
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

// StartRole starts a role again after Kill or StopRole, and returns once it
// answers. An apiserver answers only with its etcd, so start that first. After
// either of them came back, controller manager, scheduler and kwok are started
// anew if they run; WaitReady waits for all.
func (c *Cluster) StartRole(ctx context.Context, role Role) error {
	if err := c.launch(role); err != nil {
		return err
	}
	return c.settle(ctx, role)
}

// PID returns the process id of a role, for a test that breaks the role behind
// the cluster's back; 0 if it does not run.
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
