package site

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sliceshift/sliceshift/e2e/csi/sidecar"
	"github.com/sliceshift/sliceshift/e2e/fixture"
)

// SnapshotVersion is the API of VolumeSnapshots, VolumeSnapshotContents and VolumeSnapshotClasses.
var SnapshotVersion = schema.GroupVersion{Group: "snapshot.storage.k8s.io", Version: "v1"}

// DefineSnapshots creates the resource definitions of snapshots.
func DefineSnapshots(ctx context.Context, c client.Client) error {
	dir, err := sidecar.Definitions(ctx)
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(dir, "*snapshot.storage.k8s.io_*.yaml"))
	if err != nil {
		return err
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(content, crd); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if err := fixture.Define(ctx, c, crd); err != nil {
			return err
		}
	}
	for _, kind := range []string{"VolumeSnapshot", "VolumeSnapshotContent", "VolumeSnapshotClass"} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(SnapshotVersion.WithKind(kind + "List"))
		if err := fixture.AwaitServed(ctx, c, list); err != nil {
			return err
		}
	}
	return nil
}

// createSnapshots creates the resource definitions of snapshots, and the class of the driver.
func createSnapshots(ctx context.Context, c client.Client, driver string) error {
	if err := DefineSnapshots(ctx, c); err != nil {
		return err
	}
	class := &unstructured.Unstructured{Object: map[string]any{"driver": driver, "deletionPolicy": "Delete"}}
	class.SetGroupVersionKind(SnapshotVersion.WithKind("VolumeSnapshotClass"))
	class.SetName(driver)
	return fixture.Create(ctx, c, class)
}
