// Package policy gives a kind cluster an engine that enforces NetworkPolicies, which the built node image lacks, and counts
// the packets of pods. The engine is that of kube-router, by iptables and ipset.
package policy

import (
	"bytes"
	"context"
	_ "embed" // the manifest
	"errors"
	"fmt"
	"io"
	"text/template"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/sliceshift/sliceshift/e2e/built"
	"github.com/sliceshift/sliceshift/e2e/kind"
	"github.com/sliceshift/sliceshift/e2e/kind/debian"
	"github.com/sliceshift/sliceshift/e2e/kind/setup"
)

// name is that of the engine's objects.
const name = "kuberouter"

// BuildImage builds the image of the engine: its program, and the programs of Debian that it calls. dir is for
// intermediate files.
func BuildImage(ctx context.Context, progress io.Writer, dir, image string) error {
	if err := debian.Image(ctx, progress, image, "iptables", "ipset"); err != nil {
		return err
	}
	source, err := built.Module("e2e", "kind", "policy", name)
	if err != nil {
		return err
	}
	return kind.AddProgram(ctx, dir, source, image)
}

//go:embed engine.yaml
var manifest string

var manifestTemplate = template.Must(template.New("engine").Parse(manifest))

// Install runs the engine, of this image, on every node of a cluster, and waits until it runs.
//
// It learns of a pod when the API server has its address, some time after its containers have started. Until then it lets
// the pod's packets through: see Close.
func Install(ctx context.Context, at *kind.Cluster, image string) error {
	var text bytes.Buffer
	if err := manifestTemplate.Execute(&text, struct{ Image string }{image}); err != nil {
		return err
	}
	const size = 4096
	documents := utilyaml.NewYAMLOrJSONDecoder(&text, size)
	for {
		object := &unstructured.Unstructured{}
		switch err := documents.Decode(object); {
		case errors.Is(err, io.EOF):
			return await(ctx, at)
		case err != nil:
			return fmt.Errorf("read the manifest of %s: %w", name, err)
		}
		if err := setup.Create(ctx, at, object); err != nil {
			return err
		}
	}
}

// await waits until the engine runs on every node.
func await(ctx context.Context, at *kind.Cluster) error {
	const interval, patience = 100 * time.Millisecond, 2 * time.Minute
	err := wait.PollUntilContextTimeout(ctx, interval, patience, true, func(ctx context.Context) (bool, error) {
		set, err := at.Client.AppsV1().DaemonSets(metav1.NamespaceSystem).Get(ctx, name, metav1.GetOptions{})
		return err == nil && set.Status.DesiredNumberScheduled > 0 && set.Status.NumberAvailable == set.Status.DesiredNumberScheduled, err
	})
	if err != nil {
		return fmt.Errorf("cluster %s: DaemonSet %s/%s is not available: %w", at.Name, metav1.NamespaceSystem, name, err)
	}
	return nil
}

// Close makes every node drop the packets of its own pods that the engine has not accepted, and with them those of pods
// that it does not know yet. The engine accepts explicitly what policies allow, and all of a pod without any.
func Close(ctx context.Context, at *kind.Cluster) error {
	nodes, err := at.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("cluster %s: list the nodes: %w", at.Name, err)
	}
	for _, node := range nodes.Items {
		for _, rule := range [][]string{{"-P", "FORWARD", "DROP"}, {"-A", "INPUT", "-s", node.Spec.PodCIDR, "-j", "DROP"}} {
			if err := kind.In(ctx, node.Name, append([]string{"iptables", "-w"}, rule...)...); err != nil {
				return fmt.Errorf("cluster %s: %w", at.Name, err)
			}
		}
	}
	return nil
}
