package kind

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

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
