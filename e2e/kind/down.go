package kind

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/yaml"

	"github.com/sliceshift/sliceshift/e2e/kind/docker"
)

// Down removes everything that Up and Load created, except dir and the node image. It leaves borrowed clusters in
// place.
func (p *Pair) Down(ctx context.Context) error {
	if p.Own() {
		return nil
	}
	var errs []error
	if !p.Borrowed() {
		errs = append(errs, os.RemoveAll(p.leaseFile()), p.removeClusters(ctx))
	}
	if len(p.loaded) > 0 {
		errs = append(errs, docker.Run(ctx, append([]string{"image", "rm"}, p.loaded...)...))
	}
	return errors.Join(append(errs, p.machine.Release())...)
}

// Sweep removes the clusters of a run that was killed. dir, an absolute path, gets the kind command.
func Sweep(ctx context.Context, dir string, progress io.Writer) error {
	p := &Pair{
		dir: dir, home: dir, machine: &Machine{}, progress: progress,
		East: &Cluster{Name: "east"}, West: &Cluster{Name: "west"}, Hub: &Cluster{Name: "hub"},
	}
	err := p.machine.takeTools(ctx, dir, progress)
	if err == nil {
		err = p.removeClusters(ctx)
	}
	return errors.Join(err, p.machine.Release())
}

// removeClusters retries for a while when docker refuses: it releases a container's file system and network some time
// after the container has ended.
func (p *Pair) removeClusters(ctx context.Context) error {
	const patience, interval = time.Minute, time.Second
	var refused error
	err := wait.PollUntilContextTimeout(ctx, interval, patience, true, func(ctx context.Context) (bool, error) {
		if refused = p.removeOnce(ctx); refused != nil {
			fmt.Fprintf(p.progress, "the clusters are not removed yet: %v\n", refused)
		}
		return refused == nil, nil
	})
	if err != nil {
		return errors.Join(err, refused)
	}
	return nil
}

func (p *Pair) removeOnce(ctx context.Context) error {
	err := p.deleteClusters(ctx)
	if docker.Run(ctx, "network", "inspect", network) == nil {
		err = errors.Join(err, docker.Run(ctx, "network", "rm", network))
	}
	return err
}

func (p *Pair) deleteClusters(ctx context.Context) error {
	var errs []error
	for _, c := range p.All() {
		nodes, err := nodeNames(ctx, prefix+c.Name)
		if err != nil {
			return err
		}
		for _, node := range nodes { // a frozen container cannot be removed by docker 20.10
			if state, _ := docker.Output(ctx, "inspect", "--format", "{{.State.Paused}}", node); state == "true" {
				errs = append(errs, docker.Run(ctx, "unpause", node))
			}
		}
		if len(nodes) > 0 {
			errs = append(errs, p.runKind(ctx, "delete", "cluster", "--name", prefix+c.Name, "--kubeconfig", p.kubeconfig(c)))
		}
	}
	return errors.Join(errs...)
}

// Logs returns a folder for the logs of a process next to the clusters. It is kept like the logs of the nodes.
func (p *Pair) Logs(of string) string { return filepath.Join(p.dir, "logs", of) }

// KeepLogs copies the logs of the nodes into dir/logs, for a run that failed.
func (p *Pair) KeepLogs(ctx context.Context) error {
	if p.Own() {
		return nil
	}
	var errs []error
	for _, c := range p.All() {
		logs := p.Logs(c.Name)
		errs = append(errs, os.MkdirAll(logs, 0o755), p.runKind(ctx, "export", "logs", logs, "--name", prefix+c.Name))
	}
	return errors.Join(errs...)
}

// Clear removes the namespaces of a test, and its volumes, which may be in any cluster.
func (p *Pair) Clear(volumes []string, namespaces ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var errs []error
	note := func(c *Cluster, err error) {
		if err != nil && !apierrors.IsNotFound(err) {
			errs = append(errs, fmt.Errorf("cluster %s: %w", c.Name, err))
		}
	}
	for _, c := range p.All() {
		for _, namespace := range namespaces {
			note(c, c.Client.CoreV1().Namespaces().Delete(ctx, namespace, metav1.DeleteOptions{}))
		}
		for _, volume := range volumes {
			note(c, c.Client.CoreV1().PersistentVolumes().Delete(ctx, volume, metav1.DeleteOptions{}))
		}
	}
	return errors.Join(errs...)
}

// Keep writes the objects of a failed test from all clusters into a new folder. It returns the path, or a description
// of the failure.
func (p *Pair) Keep(test string, namespaces ...string) string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	dir := filepath.Join(p.dir, strings.ReplaceAll(test, "/", "_"))
	errs := []error{os.MkdirAll(dir, 0o755)}
	for _, c := range p.All() {
		for _, namespace := range namespaces {
			errs = append(errs, c.keep(ctx, dir, namespace))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Sprintf("what the clusters hold is in %s, but for: %v", dir, err)
	}
	return "what the clusters hold is in " + dir
}

// keep writes a file for each kind of object.
func (c *Cluster) keep(ctx context.Context, dir, namespace string) error {
	core, apps, all := c.Client.CoreV1(), c.Client.AppsV1(), metav1.ListOptions{}
	var errs []error
	for kind, list := range map[string]func() (runtime.Object, error){
		"pods":         func() (runtime.Object, error) { return core.Pods(namespace).List(ctx, all) },
		"statefulsets": func() (runtime.Object, error) { return apps.StatefulSets(namespace).List(ctx, all) },
		"claims":       func() (runtime.Object, error) { return core.PersistentVolumeClaims(namespace).List(ctx, all) },
		"volumes":      func() (runtime.Object, error) { return core.PersistentVolumes().List(ctx, all) },
		"events":       func() (runtime.Object, error) { return core.Events(namespace).List(ctx, all) },
		"configmaps":   func() (runtime.Object, error) { return core.ConfigMaps(namespace).List(ctx, all) },
	} {
		held, err := list()
		if err != nil {
			errs = append(errs, fmt.Errorf("cluster %s: %w", c.Name, err))
			continue
		}
		text, err := yaml.Marshal(held)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%s-%s.yaml", c.Name, namespace, kind)), text, 0o600)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
