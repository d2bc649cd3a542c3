// Package child starts processes that end with this one, even when this one is
// killed with SIGKILL and even when the child is frozen.
package child

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// starter is the only goroutine that starts processes. The kernel sends a child's Pdeathsig when the thread that
// forked it ends, and Go ends idle threads at any time. This goroutine locks its thread and never ends, so that the
// signal means the end of the whole process.
var starter = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for start := range work {
			start()
		}
	}()
	return work
})

// Start is cmd.Start for a child that ends with this process. Other settings in cmd.SysProcAttr are kept.
func Start(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	result := make(chan error, 1)
	starter() <- func() { result <- cmd.Start() }
	return <-result
}
