package kind

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/sliceshift/sliceshift/e2e/flock"
	"github.com/sliceshift/sliceshift/e2e/kind/docker"
)

// pairVariable names the file of clusters that another process holds.
const pairVariable = "E2E_KIND_PAIR"

// lease holds the data that a process needs to borrow clusters.
type lease struct {
	// Home is the folder of the clusters on this machine: the shared folder and the kubeconfigs.
	Home string `json:"home"`
	// Kind is the kind command, Image the image of the nodes.
	Kind  string `json:"kind"`
	Image string `json:"image"`
	// Hub is true if there is a hub.
	Hub bool `json:"hub"`
}

func (p *Pair) leaseFile() string { return filepath.Join(p.home, "pair.json") }

// Lend returns the environment variable that a process needs to use these clusters.
func (p *Pair) Lend() string {
	if p.Own() {
		return kubeconfigsVariable + "=" + os.Getenv(kubeconfigsVariable)
	}
	return pairVariable + "=" + p.leaseFile()
}

// lend writes the data for borrowers to a file.
func (p *Pair) lend() error {
	content, err := json.Marshal(lease{Home: p.home, Kind: p.machine.Kind, Image: p.machine.Image, Hub: p.Hub != nil})
	if err != nil {
		return err
	}
	return os.WriteFile(p.leaseFile(), content, 0o600)
}

// Borrowed reports whether another process holds the clusters. They outlive this process, with everything that it
// leaves in them.
func (p *Pair) Borrowed() bool { return p.home != p.dir }

// borrow connects to the clusters of a lease. Only one process can borrow them at a time.
func borrow(ctx context.Context, p *Pair, file string) (*Pair, error) {
	if release, err := lock(machineLock()); err == nil {
		release()
		return nil, nobodyHolds(nil)
	}
	l, err := readLease(file, p.Hub != nil)
	if err != nil {
		return nil, err
	}
	p.home, p.machine = l.Home, &Machine{Kind: l.Kind, Image: l.Image}
	if p.machine.release, err = lock(filepath.Join(l.Home, "borrowed.lock")); err != nil {
		return nil, err
	}
	if p.machine.host, err = docker.Inspect(); err != nil {
		return nil, err
	}
	if p.machine.Env, err = p.machine.host.Environment(filepath.Join(l.Home, "bin")); err != nil {
		return nil, err
	}
	for _, c := range p.All() {
		c.Kubeconfig = p.kubeconfig(c)
		if err := c.find(ctx); err != nil {
			return nil, fmt.Errorf("cluster %s of %s: %w", c.Name, file, err)
		}
	}
	return p, nil
}

func nobodyHolds(reason error) error {
	return errors.Join(errors.New(pairVariable+" names clusters that no process holds: unset it, or run make kind-up"), reason)
}

func readLease(file string, hub bool) (lease, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return lease{}, nobodyHolds(err)
	}
	var l lease
	if err := json.Unmarshal(content, &l); err != nil {
		return lease{}, fmt.Errorf("read %s, of %s: %w", file, pairVariable, err)
	}
	if hub && !l.Hub {
		return lease{}, fmt.Errorf("there is no hub in the clusters of %s, %s: run make kind-up", pairVariable, file)
	}
	return l, nil
}

// machineLock returns the lock that excludes other runs: the names of clusters and network are fixed.
func machineLock() string { return filepath.Join(os.TempDir(), "sliceshift-kind.lock") }

// lock locks a file for this process.
func lock(path string) (release func(), err error) {
	file, err := flock.Try(path)
	if err == nil && file == nil {
		err = fmt.Errorf("another run has the clusters %seast and %swest (lock %s): wait for its end", prefix, prefix, path)
	}
	if err != nil {
		return nil, err
	}
	return func() { _ = file.Close() }, nil
}

// kubeconfigsVariable names two kubeconfig files, of the source and of the destination, and optionally a third one, of
// the hub.
const kubeconfigsVariable = "E2E_KUBECONFIGS"

// connectOwn connects to clusters of the user.
func connectOwn(dir, list string) (*Pair, error) {
	files := strings.Split(list, ",")
	if len(files) != 2 && len(files) != 3 {
		return nil, fmt.Errorf("%s names %d files: it must be SOURCE,DESTINATION or SOURCE,DESTINATION,HUB", kubeconfigsVariable, len(files))
	}
	p := &Pair{dir: dir, East: &Cluster{Name: "east", Kubeconfig: files[0]}, West: &Cluster{Name: "west", Kubeconfig: files[1]}}
	if len(files) == 3 {
		p.Hub = &Cluster{Name: "hub", Kubeconfig: files[2]}
	}
	for _, c := range p.All() {
		if err := c.connect(); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// Own reports whether the clusters are the user's, so that their machines cannot be stopped.
func (p *Pair) Own() bool { return p.machine == nil }
