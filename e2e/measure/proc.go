package measure

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// PeakMiB returns the peak resident memory of a process.
func PeakMiB(pid int) (float64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if rest, found := strings.CutPrefix(line, "VmHWM:"); found {
			kib, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			const kibOfMib = 1024
			return kib / kibOfMib, err
		}
	}
	return 0, fmt.Errorf("the status of process %d names no peak", pid)
}

// cpuSeconds returns the CPU time of a process, in user and kernel mode.
func cpuSeconds(pid int) (float64, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	return parseStat(string(stat))
}

func parseStat(stat string) (float64, error) {
	// proc(5): pid (comm) state ..., where comm may contain any character; utime is the 14th, stime the 15th.
	const utime, stime, ticksASecond = 14 - 3, 15 - 3, 100
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) <= stime {
		return 0, fmt.Errorf("the state of a process is not understood: %s", stat)
	}
	sum := 0.0
	for _, field := range []string{fields[utime], fields[stime]} {
		ticks, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return 0, err
		}
		sum += ticks / ticksASecond
	}
	return sum, nil
}
