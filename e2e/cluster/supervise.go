package cluster

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/utils/clock"

	"github.com/sliceshift/sliceshift/e2e/cluster/process"
)

// Bounds of a supervisor.
const (
	// maxDeaths of one role within deathWindow mean that another restart does not help.
	maxDeaths   = 5
	deathWindow = time.Minute
	// firstBackoff doubles with each further death within deathWindow.
	firstBackoff = 100 * time.Millisecond
	// settleTimeout bounds the wait for an etcd or an apiserver to answer.
	settleTimeout = time.Minute
)

// Death is an unexpected exit of a role: not by Kill, StopRole or Stop, nor by a restart of the clients of an
// apiserver.
type Death struct {
	Role Role
	Time time.Time
	// Status is how the process ended, such as "exit status 2".
	Status string
	// Log is the panic of the process if it logged one, otherwise its last lines.
	Log string
}

// String returns the role and how it ended, with its last log lines.
func (d Death) String() string {
	return fmt.Sprintf("%s ended by itself at %s: %s\n%s", d.Role, d.Time.Format(time.TimeOnly), d.Status, d.Log)
}

// Deaths returns all unexpected exits of roles, the oldest first.
func (c *Cluster) Deaths() []Death {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.deaths)
}

// Broken returns nil while every role that exited unexpectedly could be restarted. After the first failure, roles
// start only on request: only a new cluster helps.
func (c *Cluster) Broken() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.broken
}

// supervise waits for the end of a process, and restarts its role if the end was unexpected.
func (c *Cluster) supervise(role Role, p *process.Process) {
	<-p.Exited
	if p.Dismissed.Load() {
		return
	}
	select {
	case <-c.started:
	case <-c.stopping:
		return
	}
	pause, again := c.record(role, p)
	if !again {
		return
	}
	select {
	case <-time.After(pause):
	case <-c.stopping:
		return
	}
	c.revive(role, p)
}

// record records the unexpected end of a process. It returns the pause before the restart of its role, or false if the
// role stays down.
func (c *Cluster) record(role Role, p *process.Process) (pause time.Duration, again bool) {
	death := Death{Role: role, Time: clock.RealClock{}.Now(), Status: p.Status(), Log: p.LastLines()}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isStopped() || p.Dismissed.Load() {
		return 0, false
	}
	c.deaths = append(c.deaths, death)
	if c.broken != nil {
		return 0, false
	}
	var times []time.Time
	for _, d := range c.deaths {
		if d.Role == role {
			times = append(times, d.Time)
		}
	}
	if pause, again = backoff(times); !again {
		c.broken = c.errorf(role, "ended by itself %d times within %s, the last time with %q (log: %s): start the cluster anew\n%s",
			maxDeaths, deathWindow, death.Status, c.LogFile(role), death.Log)
	}
	return pause, again
}

// backoff returns the pause before the restart of a role that exited unexpectedly at these times. It returns false
// when there were too many exits.
func backoff(deaths []time.Time) (time.Duration, bool) {
	last, recent := deaths[len(deaths)-1], 0
	for _, death := range deaths {
		if last.Sub(death) < deathWindow {
			recent++
		}
	}
	if recent >= maxDeaths {
		return 0, false
	}
	return firstBackoff << (recent - 1), true
}

// revive restarts a role, unless the role was started, stopped or frozen since its process ended.
func (c *Cluster) revive(role Role, dead *process.Process) {
	if !c.succeed(role, dead) || role != Etcd && role != APIServer {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), settleTimeout)
	defer cancel()
	// A failure needs no report: the role ends again, or WaitReady reports that it does not answer.
	_ = c.settle(ctx, role)
}

// succeed starts the successor of a process that exited unexpectedly, and reports whether it did.
func (c *Cluster) succeed(role Role, dead *process.Process) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isStopped() || c.broken != nil || c.processes[role] != dead || dead.Dismissed.Load() {
		return false
	}
	if err := c.run(role); err != nil {
		c.broken = fmt.Errorf("%w (it had ended by itself): start the cluster anew", err)
		return false
	}
	return true
}
