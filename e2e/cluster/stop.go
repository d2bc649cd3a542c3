package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Stop ends all roles, also frozen ones, and removes the cluster's folder but
// for what Options.Keep and KeepLogs say. To stop twice does no harm.
func (c *Cluster) Stop() error {
	return c.stop()
}

// KeepLogs lets Stop leave the logs of the roles, and returns their folder.
func (c *Cluster) KeepLogs() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keepLogs = true
	return c.logDir()
}

// TB is what StopAfter needs of a testing.TB.
type TB interface {
	Helper()
	Cleanup(f func())
	Failed() bool
	Errorf(format string, args ...any)
	Logf(format string, args ...any)
}

// StopAfter stops the cluster when the test ends, tells which roles ended by
// themselves, and keeps and names the logs if the test failed.
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
	// The data goes away, so nobody gets time to finish.
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

// volumeDir is where the host-path provisioner of the controller manager makes
// its volumes. Its name is fixed, and all clusters share it.
const volumeDir = "/tmp/hostpath_pv"

// volumes returns the folders of the cluster's volumes. The apiserver may be
// dead or frozen: then nobody knows, and they stay.
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

// removeVolumes removes the empty folders among these. Nobody but a test writes
// into them, and a volume that was handed over to another cluster is in the
// lists of both.
func removeVolumes(paths []string) {
	for _, path := range paths {
		_ = os.Remove(path)
	}
}
