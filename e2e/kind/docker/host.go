package docker

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
)

// Host is what of this machine decides how a node is run.
type Host struct {
	// CgroupV1 says that the machine has the first kind of control groups, which
	// a kubelet refuses unless it is told otherwise.
	CgroupV1 bool
	// Unprivileged says that CAP_SYS_RESOURCE is not to be had: a container that
	// asks for every capability, as kind's nodes do, cannot be started.
	Unprivileged bool
}

// Inspect looks at this machine.
func Inspect() (Host, error) {
	_, err := os.Stat("/sys/fs/cgroup/cgroup.controllers")
	host := Host{CgroupV1: err != nil}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return Host{}, fmt.Errorf("read the capabilities of this process: %w", err)
	}
	bounds, err := boundingSet(string(status))
	if err != nil {
		return Host{}, err
	}
	host.Unprivileged = bounds&(1<<capSysResource) == 0
	return host, nil
}

const capSysResource = 24

var capBnd = regexp.MustCompile(`(?m)^CapBnd:\s*([0-9a-f]+)$`)

// boundingSet is the set of capabilities that this process, and what it starts, can
// ever have.
func boundingSet(status string) (uint64, error) {
	found := capBnd.FindStringSubmatch(status)
	if found == nil {
		return 0, errors.New("/proc/self/status names no CapBnd")
	}
	return strconv.ParseUint(found[1], 16, 64)
}
