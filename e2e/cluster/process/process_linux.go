// Package process runs one program of a control plane. The program can be ended, frozen and thawed, and the end of its
// log can be read.
package process

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/sliceshift/sliceshift/e2e/child"
)

// Process is one run of a program.
type Process struct {
	cmd      *exec.Cmd
	logFile  string
	logStart int64 // offset in logFile at which this run begins
	err      error // why it exited; valid once Exited is closed

	// Exited is closed when the process has ended.
	Exited chan struct{}
	// Dismissed is true when the process was ended on request, so that its exit is not unexpected.
	Dismissed atomic.Bool
	Frozen    atomic.Bool
}

// garbage lets a heap grow to four times its live size. At Go's default, a fifth of an API server's time is spent on
// garbage collection, and the tests have enough memory.
const garbage = "GOGC=300"

// Start runs binary in dir, with its output appended to logFile. The environment is fixed, so that the user's
// environment does not change the outcome.
func Start(binary, dir, logFile string, args []string) (*Process, error) {
	log, err := os.OpenFile(logFile, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close() // the child has its own
	info, err := log.Stat()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(binary, args...)
	cmd.Dir = dir
	cmd.Env = []string{"HOME=" + dir, "TMPDIR=" + os.TempDir(), garbage}
	cmd.Stdout, cmd.Stderr = log, log
	if err := child.Start(cmd); err != nil {
		return nil, err
	}
	p := &Process{cmd: cmd, logFile: logFile, logStart: info.Size(), Exited: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		close(p.Exited)
	}()
	return p, nil
}

// PID returns the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// IsRunning reports whether the process has not ended.
func (p *Process) IsRunning() bool {
	select {
	case <-p.Exited:
		return false
	default:
		return true
	}
}

// IsActive reports whether the process runs, was not dismissed, and is not frozen.
func (p *Process) IsActive() bool {
	return p.IsRunning() && !p.Dismissed.Load() && !p.Frozen.Load()
}

// Status describes how the process ended. Call it only once Exited is closed.
func (p *Process) Status() string {
	if p.err == nil {
		return "exit status 0"
	}
	return p.err.Error()
}

// Kill ends the process at once and waits for its exit.
func (p *Process) Kill() {
	p.Dismissed.Store(true)
	_ = p.cmd.Process.Kill() // fails only if it has ended already
	<-p.Exited
}

// Terminate requests the end of the process and kills it after the grace period.
func (p *Process) Terminate(grace time.Duration) {
	p.Dismissed.Store(true)
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	_ = p.cmd.Process.Signal(syscall.SIGCONT) // a frozen process could not receive SIGTERM
	select {
	case <-p.Exited:
	case <-time.After(grace):
		p.Kill()
	}
}

// Freeze suspends the process and waits until the last of its threads is stopped: the signal itself returns earlier.
func (p *Process) Freeze() error {
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	const bound = 10 * time.Second
	return wait.PollUntilContextTimeout(context.Background(), time.Millisecond, bound, true,
		func(context.Context) (bool, error) {
			if !p.IsRunning() {
				return false, os.ErrProcessDone
			}
			return isStopped(p.PID())
		})
}

// Thaw continues a frozen process.
func (p *Process) Thaw() error {
	if err := p.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		return err
	}
	p.Frozen.Store(false) // not before: until then it is not restarted
	return nil
}

// isStopped reads the state of every thread: the letter after the command name. That name is in brackets and may
// contain any character.
func isStopped(pid int) (bool, error) {
	threads, err := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task", "*", "stat"))
	if err != nil {
		return false, err
	}
	for _, thread := range threads {
		stat, err := os.ReadFile(thread)
		if err != nil {
			continue // the thread has ended since
		}
		_, state, found := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" "))
		if !found || len(state) == 0 {
			return false, fmt.Errorf("cannot read %s", thread)
		}
		if state[0] != 'T' {
			return false, nil
		}
	}
	return len(threads) > 0, nil
}
