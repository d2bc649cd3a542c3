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
