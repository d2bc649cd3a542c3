package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sliceshift/sliceshift/e2e/flock"
)

const (
	dirPrefix = "sliceshift-cluster-"
	lockName  = "lock"
)

// makeDir creates the cluster's folder, readable by no other user, and locks it.
func (c *Cluster) makeDir() error {
	dir := c.options.Dir
	var err error
	if dir == "" {
		sweep()
		dir, err = os.MkdirTemp("", dirPrefix+c.Name()+"-")
	} else {
		err = makeEmpty(dir)
	}
	if err != nil {
		return err
	}
	if c.dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	if err := os.Mkdir(c.logDir(), 0o700); err != nil {
		return err
	}
	c.lock, err = flock.Own(filepath.Join(c.dir, lockName))
	return err
}

// linkBinary links the binary into the cluster's folder, for the roles that a test starts again: a Build from changed
// sources removes the original. If the folders are on different file systems, that risk remains.
func (c *Cluster) linkBinary() {
	c.binary = filepath.Join(c.dir, "controlplane")
	if err := os.Link(c.options.Binary, c.binary); err != nil {
		c.binary = c.options.Binary
	}
}

func makeEmpty(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if len(entries) > 0 {
		return fmt.Errorf("folder %s is not empty", dir)
	}
	return nil
}

// removeDir removes the cluster's folder except for the parts to keep.
func (c *Cluster) removeDir() error {
	defer c.lock.Close()
	c.mu.Lock()
	keepLogs := c.keepLogs
	c.mu.Unlock()
	switch {
	case c.options.Keep:
		return os.Remove(filepath.Join(c.dir, lockName)) // without it, sweep skips the folder
	case !keepLogs:
		return os.RemoveAll(c.dir)
	}
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, entry := range entries {
		if path := filepath.Join(c.dir, entry.Name()); path != c.logDir() {
			errs = append(errs, os.RemoveAll(path))
		}
	}
	return errors.Join(errs...)
}

// sweep removes the folders of clusters whose process was killed before it could stop them, 100 MB each. The kernel
// has released their locks. It is best effort: folders that it cannot remove remain.
func sweep() {
	flock.Sweep(filepath.Join(os.TempDir(), dirPrefix+"*", lockName), func(dir string) { _ = os.RemoveAll(dir) })
}

// Stop ends all roles, also frozen ones, and removes the cluster's folder except for the parts that Options.Keep and
// KeepLogs preserve. A second call is harmless.
func (c *Cluster) Stop() error {
	return c.stop()
}

// KeepLogs makes Stop preserve the logs of the roles, and returns their folder.
func (c *Cluster) KeepLogs() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keepLogs = true
	return c.logDir()
}

// TB is the part of testing.TB that StopAfter needs.
type TB interface {
	Helper()
	Cleanup(f func())
	Failed() bool
	Errorf(format string, args ...any)
	Logf(format string, args ...any)
}

// StopAfter stops the cluster when the test ends, reports the roles that exited unexpectedly, and keeps and names the
// logs if the test failed.
func (c *Cluster) StopAfter(t TB) {
	t.Helper()
	t.Cleanup(func() {
		for _, death := range c.Deaths() {
			t.Logf("cluster %s: %s", c.Name(), death)
		}
		if t.Failed() {
			t.Logf("cluster %s: logs in %s", c.Name(), c.KeepLogs())
		}
		if err := c.Stop(); err != nil {
			t.Errorf("%v", err)
		}
	})
}

func (c *Cluster) tearDown() error {
	volumes := c.volumes()
	c.mu.Lock()
	close(c.stopping)
	c.mu.Unlock()
	// The data is removed, so no role gets time to finish.
	roles := Roles()
	slices.Reverse(roles)
	for _, role := range roles {
		if p := c.process(role); p != nil {
			p.Kill()
		}
	}
	c.supervisors.Wait()
	for _, p := range c.ports {
		p.release()
	}
	removeVolumes(volumes)
	if err := c.removeDir(); err != nil {
		return fmt.Errorf("stop cluster %s: %w", c.Name(), err)
	}
	return nil
}

// volumeDir is where the host-path provisioner of the controller manager creates its volumes. Its path is fixed, and
// all clusters share it.
const volumeDir = "/tmp/hostpath_pv"

// volumes returns the folders of the cluster's volumes. If the apiserver is dead or frozen, they are unknown and
// remain.
func (c *Cluster) volumes() []string {
	if !c.isActive(APIServer) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	volumes, err := c.client.CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil
	}
	var paths []string
	for _, volume := range volumes.Items {
		if volume.Spec.HostPath != nil && filepath.Dir(volume.Spec.HostPath.Path) == volumeDir {
			paths = append(paths, volume.Spec.HostPath.Path)
		}
	}
	return paths
}

// removeVolumes removes the empty folders of paths. Only tests write into them. A volume that was handed over to
// another cluster is in the lists of the two clusters.
func removeVolumes(paths []string) {
	for _, path := range paths {
		_ = os.Remove(path)
	}
}
