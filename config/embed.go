package config

import (
	"bufio"
	"bytes"
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

//go:embed crd/*.yaml
var crdFiles embed.FS

//go:embed rbac/*.yaml manager/manager.yaml
var managerFiles embed.FS

//go:embed impersonation/manager_role.yaml impersonation/impersonated_role.yaml
var impersonationFiles embed.FS

//go:embed fence/statefulset.yaml fence/scale.yaml
var fenceFiles embed.FS

//go:embed admission/authors.yaml admission/rehearsals.yaml
var authorFiles embed.FS

//go:embed admission/volumes.yaml admission/snapshots.yaml
var volumeFiles embed.FS

//go:embed recipes/*.yaml
var recipeFiles embed.FS

// ManagerImage is the placeholder image of the Deployment in ManagerObjects. An installer replaces it.
const ManagerImage = "sliceshift-manager:latest"

// order lists kinds so that dependencies come first. A kind that it lacks sorts before all others.
var order = []string{"Namespace", "ServiceAccount", "ClusterRole", "Role", "ClusterRoleBinding", "RoleBinding", "Service", "Deployment"}

// CRDs returns the CustomResourceDefinitions of this product, sorted by file name. The caller may change them.
func CRDs() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	var crds []*apiextensionsv1.CustomResourceDefinition
	err := eachDocument(crdFiles, "crd/*.yaml", func(document []byte) error {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		crds = append(crds, crd)
		return yaml.UnmarshalStrict(document, crd)
	})
	return crds, err
}

// ManagerObjects returns the objects that run the manager, without the CRDs, in the order in which they can be applied;
// see order. The caller may change them.
func ManagerObjects() ([]*unstructured.Unstructured, error) {
	objects, err := read(managerFiles, "manager/*.yaml", "rbac/*.yaml")
	sortObjects(objects)
	return objects, err
}

// ConstrainedObjects returns the ManagerObjects with constrained impersonation, which limits each verb that the manager
// may use as another account. API servers before Kubernetes 1.36 do not know these verbs, so the manager can impersonate
// no account there. The caller may change them.
func ConstrainedObjects() ([]*unstructured.Unstructured, error) {
	objects, err := ManagerObjects()
	if err != nil {
		return nil, err
	}
	constrained, err := read(impersonationFiles, "impersonation/*.yaml")
	for _, object := range constrained {
		objects = slices.DeleteFunc(objects, func(other *unstructured.Unstructured) bool {
			return other.GetKind() == object.GetKind() && other.GetName() == object.GetName()
		})
	}
	objects = append(objects, constrained...)
	sortObjects(objects)
	return objects, err
}

// sortObjects sorts objects into the order in which they can be applied.
func sortObjects(objects []*unstructured.Unstructured) {
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int {
		return cmp.Compare(slices.Index(order, a.GetKind()), slices.Index(order, b.GetKind()))
	})
}

// FenceObjects returns the admission policies, with their bindings, that let only the migration scale the sets that it
// holds. They need the CRDs. The caller may change them.
func FenceObjects() ([]*unstructured.Unstructured, error) {
	return read(fenceFiles, "fence/*.yaml")
}

// AuthorObjects returns the admission policies, with their bindings, that stop users from using through a Migration or the
// role of a rehearsal what they may not use directly. The caller may change them.
func AuthorObjects() ([]*unstructured.Unstructured, error) {
	return read(authorFiles, "admission/*.yaml")
}

// VolumeObjects returns the admission policies, with their bindings, that restrict the PersistentVolumes and
// VolumeSnapshotContents that accounts may write. ConfigMaps name the accounts. The caller may change them.
func VolumeObjects() ([]*unstructured.Unstructured, error) {
	return read(volumeFiles, "admission/*.yaml")
}

// Recipes returns the folder of the recipes, one file each, in the form that package recipes reads.
func Recipes() (fs.FS, error) { return fs.Sub(recipeFiles, "recipes") }

// read returns the objects in the matching files.
func read(files fs.FS, patterns ...string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for _, pattern := range patterns {
		err := eachDocument(files, pattern, func(document []byte) error {
			object := &unstructured.Unstructured{}
			objects = append(objects, object)
			return yaml.UnmarshalStrict(document, &object.Object)
		})
		if err != nil {
			return nil, err
		}
	}
	return objects, nil
}

// eachDocument calls do with every YAML document in the matching files.
func eachDocument(files fs.FS, pattern string, do func(document []byte) error) error {
	names, err := fs.Glob(files, pattern)
	if err != nil {
		return fmt.Errorf("list %s: %w", pattern, err)
	}
	for _, name := range names {
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		if err := split(data, do); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func split(data []byte, do func(document []byte) error) error {
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if len(bytes.TrimSpace(document)) == 0 {
			continue
		}
		if err := do(document); err != nil {
			return err
		}
	}
}
