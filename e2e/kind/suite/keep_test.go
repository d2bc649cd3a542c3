package suite

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/sliceshift/sliceshift/e2e/kind"
)

// keep writes what both clusters hold of a test that failed into a folder of its own.
func (v *move) keep() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	dir := filepath.Join("..", "..", "..", "out", "e2e-kind", strings.ReplaceAll(v.t.Name(), "/", "_"))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		v.t.Log(err)
		return
	}
	for _, c := range pair.Both() {
		for kindOf, list := range v.held(ctx, c) {
			text, err := yaml.Marshal(list)
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%s.yaml", c.Name, kindOf)), text, 0o600)
			}
			if err != nil {
				v.t.Log(err)
			}
		}
	}
	v.t.Logf("what both clusters hold is in %s", dir)
}

// held lists what a cluster has of the application.
func (v *move) held(ctx context.Context, c *kind.Cluster) map[string]runtime.Object {
	in, all := v.app.namespace, metav1.ListOptions{}
	lists := map[string]runtime.Object{}
	add := func(name string, list runtime.Object, err error) {
		if err != nil {
			v.t.Logf("cluster %s: %v", c.Name, err)
			return
		}
		lists[name] = list
	}
	pods, err := c.Client.CoreV1().Pods(in).List(ctx, all)
	add("pods", pods, err)
	sets, err := c.Client.AppsV1().StatefulSets(in).List(ctx, all)
	add("statefulsets", sets, err)
	claims, err := c.Client.CoreV1().PersistentVolumeClaims(in).List(ctx, all)
	add("claims", claims, err)
	volumes, err := c.Client.CoreV1().PersistentVolumes().List(ctx, all)
	add("volumes", volumes, err)
	events, err := c.Client.CoreV1().Events(in).List(ctx, all)
	add("events", events, err)
	records, err := c.Client.CoreV1().ConfigMaps(in).List(ctx, all)
	add("configmaps", records, err)
	return lists
}
