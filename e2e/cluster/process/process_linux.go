// Package process runs one program of a control plane: it can be ended, frozen and thawed, and
// what it has logged is at hand.
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
	logStart int64 // what is before it in logFile is of earlier runs
	err      error // why it exited; to be read once Exited is closed

	// Exited is closed when the process has ended.
	Exited chan struct{}
	// Dismissed: it was told to end, so that its end is no accident.
	Dismissed atomic.Bool
	Frozen    atomic.Bool
}

// garbage lets a heap grow to four times what is in use: at Go's default a fifth of an API server's time is spent on garbage
// collection, and memory is not what the tests lack.
const garbage = "GOGC=300"

// Start runs binary in dir, with its output appended to logFile. The
// environment is made up, so that nothing of the user's changes the outcome.
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

// PID is the number of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// IsRunning says that it has not ended.
func (p *Process) IsRunning() bool {
	select {
	case <-p.Exited:
		return false
	default:
		return true
	}
}

// IsActive tells whether the process runs, is to run on, and is not frozen.
func (p *Process) IsActive() bool {
	return p.IsRunning() && !p.Dismissed.Load() && !p.Frozen.Load()
}

// Status says how the process ended; to be asked once Exited is closed.
func (p *Process) Status() string {
	if p.err == nil {
		return "exit status 0"
	}
	return p.err.Error()
}

// Kill ends the process at once and waits until it is gone.
func (p *Process) Kill() {
	p.Dismissed.Store(true)
	_ = p.cmd.Process.Kill() // fails only if it has gone already
	<-p.Exited
}

// Terminate lets the process end by itself, for as long as the grace lasts.
func (p *Process) Terminate(grace time.Duration) {
	p.Dismissed.Store(true)
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	_ = p.cmd.Process.Signal(syscall.SIGCONT) // a frozen process could not hear it
	select {
	case <-p.Exited:
	case <-time.After(grace):
		p.Kill()
	}
}

// Freeze stops the process and waits until the last of its threads stands
// still: the signal itself returns earlier.
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

// Thaw lets a frozen process go on.
func (p *Process) Thaw() error {
	if err := p.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		return err
	}
	p.Frozen.Store(false) // not before: nobody restarts it until then
	return nil
}

// isStopped reads the state of every thread: the letter that follows the
// command name, which is in brackets and may hold anything.
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
