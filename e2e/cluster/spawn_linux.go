package cluster

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// spawner is the one goroutine that starts processes. The kernel sends a
// child's Pdeathsig when the thread that forked it ends, which Go does to idle
// threads at will: this goroutine keeps its thread to itself and never ends, so
// that the signal means the end of the whole process.
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

// spawn starts cmd as a child that dies with this process, even if this process
// is killed with SIGKILL and even if the child is frozen (C4).
func spawn(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	result := make(chan error, 1)
	spawner() <- func() { result <- cmd.Start() }
	return <-result
}
