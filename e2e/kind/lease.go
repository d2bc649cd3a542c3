package kind

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

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
	return errors.Join(errors.New(pairVariable+" names clusters that nobody holds: unset it, or run make kind-up"), reason)
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
		return lease{}, fmt.Errorf("the clusters of %s, %s, have no hub, and this needs one: run make kind-up", pairVariable, file)
	}
	return l, nil
}
