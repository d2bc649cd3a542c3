package inflight

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/procfs"

	"github.com/sliceshift/sliceshift/e2e/cluster"
)

// mover is the name of this process, which moves the ordinals.
const mover = "the mover"

// processors is the processor time that processes have used, by their names. Those of both clusters are added up.
type processors map[string]time.Duration

// usedBy returns the processor time so far of this process and of the processes of clusters.
func usedBy(clusters ...*cluster.Cluster) (processors, error) {
	used := processors{}
	add := func(name string, pid int) error {
		process, err := procfs.NewProc(pid)
		if err != nil {
			return err
		}
		stat, err := process.Stat()
		used[name] += time.Duration(stat.CPUTime() * float64(time.Second))
		return err
	}
	err := add(mover, os.Getpid())
	for _, c := range clusters {
		for _, role := range cluster.Roles() {
			err = errors.Join(err, add(string(role), c.PID(role)))
		}
	}
	return used, err
}

// shares returns the parts of all processors of the machine that were in use since an earlier time.
func (p processors) shares(before processors, since time.Duration) map[string]float64 {
	all := since.Seconds() * float64(runtime.NumCPU())
	shares := make(map[string]float64, len(p))
	for name, used := range p {
		shares[name] = (used - before[name]).Seconds() / all
	}
	return shares
}

// shown describes shares for people, the largest first.
func shown(shares map[string]float64) string {
	names := slices.SortedFunc(maps.Keys(shares), func(a, b string) int {
		return cmp.Or(cmp.Compare(shares[b], shares[a]), strings.Compare(a, b))
	})
	sum, each := 0.0, make([]string, 0, len(names))
	for _, name := range names {
		sum += shares[name]
		each = append(each, fmt.Sprintf("%s %.0f %%", name, 100*shares[name]))
	}
	return fmt.Sprintf("%.0f %%: %s", 100*sum, strings.Join(each, ", "))
}
