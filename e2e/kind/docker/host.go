package docker

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
)

// Host holds the properties of this machine that decide how a node runs.
type Host struct {
	// CgroupV1 is true if the machine has version 1 of control groups, which a kubelet refuses unless configured
	// otherwise.
	CgroupV1 bool
	// Unprivileged is true if CAP_SYS_RESOURCE is not available: a container that requests every capability, as kind's
	// nodes do, cannot start.
	Unprivileged bool
}

// Inspect inspects this machine.
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

// boundingSet returns the set of capabilities that this process and its children can ever have.
func boundingSet(status string) (uint64, error) {
	found := capBnd.FindStringSubmatch(status)
	if found == nil {
		return 0, errors.New("/proc/self/status names no CapBnd")
	}
	return strconv.ParseUint(found[1], 16, 64)
}
