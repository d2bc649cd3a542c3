package main

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// spawner is the one goroutine that starts processes that must not outlive this
// one. The kernel sends their signal when the thread that forked them ends, which
// may be long before the process does: this goroutine never gives its thread away.
var spawner = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for start := range work {
			start()
		}
	}()
	return work
})

// spawn starts a process in a group of its own, which dies with this process. When
// its context ends, the whole group does.
func spawn(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	result := make(chan error, 1)
	spawner() <- func() { result <- cmd.Start() }
	return <-result
}
