package kind

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"k8s.io/apimachinery/pkg/types"
)

// Kill kills the processes of a program in a pod of a node of this machine, like the OOM killer, and returns how many.
func Kill(pod types.UID, program string) (int, error) {
	// The path of a process's cgroup contains the uid of its pod, with dashes or with underscores.
	uid := strings.ReplaceAll(string(pod), "-", "_")
	found, err := filepath.Glob("/proc/[0-9]*/comm")
	if err != nil {
		return 0, err
	}
	killed := 0
	for _, path := range found {
		name, err := os.ReadFile(path)
		if err != nil || strings.TrimSpace(string(name)) != program {
			continue // it has ended, or is another program
		}
		groups, err := os.ReadFile(filepath.Join(filepath.Dir(path), "cgroup"))
		if err != nil || !strings.Contains(strings.ReplaceAll(string(groups), "-", "_"), uid) {
			continue
		}
		number, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err == nil {
			err = syscall.Kill(number, syscall.SIGKILL)
		}
		switch {
		case errors.Is(err, syscall.ESRCH):
		case err != nil:
			return killed, fmt.Errorf("kill %s of pod %s: %w", program, pod, err)
		default:
			killed++
		}
	}
	return killed, nil
}
