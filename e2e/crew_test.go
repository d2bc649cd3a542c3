package e2e

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

// crewSize is one manager that leads, and one that stands by.
const crewSize = 2

// crew is the managers of a namespace: who ends is started again, as a Deployment
// does.
type crew struct {
	t       testing.TB
	members [crewSize]*member
}

// member is one place in the crew.
type member struct {
	manager
	mu      sync.Mutex
	process *os.Process
}

func startCrew(t testing.TB, namespace string) *crew {
	t.Helper()
	c := &crew{t: t}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var ended sync.WaitGroup
	for i := range c.members {
		m := newManager(t, namespace, fmt.Sprintf("manager-%d.log", i))
		c.members[i] = &member{manager: *m}
		ended.Go(func() { c.members[i].keep(ctx, t) })
	}
	t.Cleanup(func() {
		stop()
		ended.Wait()
		for _, m := range c.members {
			m.tellLog()
		}
	})
	return c
}

// keep starts the manager again and again.
func (m *member) keep(ctx context.Context, t testing.TB) {
	const startDelay = 200 * time.Millisecond
	for ctx.Err() == nil {
		cmd := exec.CommandContext(ctx, program(t, "manager"), m.args...)
		cmd.Stdout, cmd.Stderr = m.log, m.log
		if err := child.Start(cmd); err != nil {
			t.Error(err)
			return
		}
		m.mu.Lock()
		m.process = cmd.Process
		m.mu.Unlock()
		_ = cmd.Wait() // it was killed, or has lost its lease
		pass(ctx, startDelay)
	}
}

func (m *member) signal(signal syscall.Signal) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.process != nil {
		_ = m.process.Signal(signal) // it may have ended meanwhile
	}
}

func (c *crew) kill(i int) error {
	c.members[i].signal(syscall.SIGKILL)
	return nil
}

// freeze stops a manager where it is, for a while: it may lead no more when it goes
// on.
func (c *crew) freeze(ctx context.Context, i int, d time.Duration) error {
	c.members[i].signal(syscall.SIGSTOP)
	pass(ctx, d)
	c.members[i].signal(syscall.SIGCONT)
	return nil
}
