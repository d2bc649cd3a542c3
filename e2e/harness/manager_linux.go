package harness

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Peak returns the peak memory of the manager, in bytes.
func (m *Manager) Peak() int64 {
	m.T.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", m.Cmd.Process.Pid))
	if err != nil {
		m.T.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if len(fields) > 1 && fields[0] == "VmHWM:" {
			kilobytes, err := strconv.ParseInt(fields[1], 10, 64)
			if err != nil {
				m.T.Fatal(err)
			}
			return kilobytes << 10
		}
	}
	m.T.Fatal("the kernel does not tell the manager's memory")
	return 0
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
