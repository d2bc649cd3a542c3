package cluster

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

// process is one run of a role.
type process struct {
	cmd       *exec.Cmd
	logFile   string
	logStart  int64 // what is before it in logFile is of earlier runs
	exited    chan struct{}
	err       error       // why it exited; to be read once exited is closed
	dismissed atomic.Bool // told to end: that it exits is no accident
	frozen    atomic.Bool
}

// startProcess runs binary in dir, with its output appended to logFile. The
// environment is made up, so that nothing of the user's changes the outcome.
func startProcess(binary, dir, logFile string, args []string) (*process, error) {
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
	cmd.Env = []string{"HOME=" + dir, "TMPDIR=" + os.TempDir()}
	cmd.Stdout, cmd.Stderr = log, log
	if err := child.Start(cmd); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, logFile: logFile, logStart: info.Size(), exited: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		close(p.exited)
	}()
	return p, nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }

func (p *process) isRunning() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// isActive tells whether the process runs, is to run on, and is not frozen.
func (p *process) isActive() bool {
	return p.isRunning() && !p.dismissed.Load() && !p.frozen.Load()
}

// status says how the process ended; to be asked once exited is closed.
func (p *process) status() string {
	if p.err == nil {
		return "exit status 0"
	}
	return p.err.Error()
}

// kill ends the process at once and waits until it is gone.
func (p *process) kill() {
	p.dismissed.Store(true)
	_ = p.cmd.Process.Kill() // fails only if it has gone already
	<-p.exited
}

// terminate lets the process end by itself, for as long as the grace lasts.
func (p *process) terminate(grace time.Duration) {
	p.dismissed.Store(true)
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	_ = p.cmd.Process.Signal(syscall.SIGCONT) // a frozen process could not hear it
	select {
	case <-p.exited:
	case <-time.After(grace):
		p.kill()
	}
}

// freeze stops the process and waits until the last of its threads stands
// still: the signal itself returns earlier.
func (p *process) freeze() error {
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	const bound = 10 * time.Second
	return wait.PollUntilContextTimeout(context.Background(), time.Millisecond, bound, true,
		func(context.Context) (bool, error) {
			if !p.isRunning() {
				return false, os.ErrProcessDone
			}
			return isStopped(p.pid())
		})
}

func (p *process) thaw() error {
	if err := p.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		return err
	}
	p.frozen.Store(false) // not before: nobody restarts it until then
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
