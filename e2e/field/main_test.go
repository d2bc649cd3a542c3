// Package field tests situations of real users. Each small situation lists the problems that a preflight must
// find in it, and it must find no others.
package field

import (
	"context"
	"fmt"
	"os"
	"testing"

	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/sliceshift/sliceshift/e2e/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m, nil, embedded, harness.Kind)) }

// embedded starts two clusters whose nodes run CSI driver disk.example.com.
func embedded(ctx context.Context) (end func(failed bool) error, err error) {
	end, err = harness.Embedded(ctx)
	if err != nil {
		return nil, err
	}
	for _, at := range []harness.Cluster{harness.East(), harness.West()} {
		if err := furnish(ctx, at.Name(), kubernetes.NewForConfigOrDie(at.RESTConfig())); err != nil {
			return end, err
		}
	}
	return end, nil
}

// driver is the CSI driver in the two clusters.
const driver = "disk.example.com"

// furnish registers the driver with each node, as its kubelet does, and creates a StorageClass for it. Each
// cluster has one zone, and the two clusters use the same node names.
func furnish(ctx context.Context, name string, at kubernetes.Interface) error {
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "disk"}, Provisioner: driver}
	if _, err := at.StorageV1().StorageClasses().Create(ctx, class, metav1.CreateOptions{}); err != nil {
		return err
	}
	nodes, err := at.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, node := range nodes.Items {
		labels := fmt.Sprintf(`{"metadata":{"labels":{"topology.kubernetes.io/zone":"%s-1","topology.topolvm.io/node":%q}}}`, name, node.Name)
		if _, err := at.CoreV1().Nodes().Patch(ctx, node.Name, types.MergePatchType, []byte(labels), metav1.PatchOptions{}); err != nil {
			return err
		}
		_, err := at.StorageV1().CSINodes().Create(ctx, &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: node.Name}}, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
		drivers := fmt.Sprintf(`{"spec":{"drivers":[{"name":%q,"nodeID":"x","topologyKeys":null}]}}`, driver)
		if _, err := at.StorageV1().CSINodes().Patch(ctx, node.Name, types.StrategicMergePatchType, []byte(drivers), metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	return nil
}
