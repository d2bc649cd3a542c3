package harness

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/sliceshift/sliceshift/e2e/measure"
)

// Peak returns the peak memory of the manager, in bytes.
func (m *Manager) Peak() int64 {
	m.T.Helper()
	peak, err := measure.PeakMiB(m.Cmd.Process.Pid)
	if err != nil {
		m.T.Fatal(err)
	}
	const mib = 1 << 20
	return int64(peak * mib)
}

// mostData is the memory limit of a manager. It protects the machine from a manager that allocates without
// bound.
const mostData = 3 << 30

// LimitMemory makes the manager fail when it allocates far too much memory, as in a container.
func (m *Manager) LimitMemory() {
	m.T.Helper()
	if err := unix.Prlimit(m.Cmd.Process.Pid, unix.RLIMIT_DATA, &unix.Rlimit{Cur: mostData, Max: mostData}, nil); err != nil {
		m.T.Fatal(err)
	}
}

// Said returns the log of the manager.
func (m *Manager) Said() string {
	m.T.Helper()
	data, err := os.ReadFile(m.Log.Name())
	if err != nil {
		m.T.Fatal(err)
	}
	return string(data)
}
