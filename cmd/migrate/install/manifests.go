package install

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	"github.com/sliceshift/sliceshift/config"
)

// defaultNamespace is the manager's namespace in the embedded manifests.
const defaultNamespace = "sliceshift-system"

// parts holds the objects to install, each list in the order in which it is applied. bounds are the roles that
// constrained impersonation needs in addition to the manager's own objects. They are applied first, so that a running
// manager never lacks permissions.
type parts struct{ crds, manager, bounds, authors, fence, volumes []*unstructured.Unstructured }

// parts reads the embedded manifests and changes them according to the flags. at is the namespace of the installed
// manager, or empty. constrained enables constrained impersonation.
func (o *installOptions) parts(at string, constrained bool) (*parts, error) {
	p, err := embedded(cmp.Or(o.namespace, at, defaultNamespace), constrained)
	if err != nil {
		return nil, err
	}
	if o.crdsOnly {
		p.manager, p.bounds = nil, nil
	} else if o.image != "" {
		err = setImage(p.deployment(), o.image)
	}
	return p, err
}

// embedded returns all parts for a manager in the given namespace.
func embedded(namespace string, constrained bool) (*parts, error) {
	p := &parts{}
	crds, err := config.CRDs()
	if err != nil {
		return nil, err
	}
	for _, crd := range crds {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(crd)
		if err != nil {
			return nil, err
		}
		unstructured.RemoveNestedField(content, "status")
		p.crds = append(p.crds, &unstructured.Unstructured{Object: content})
	}
	if err := p.readManager(namespace, constrained); err != nil {
		return nil, err
	}
	if p.authors, err = config.AuthorObjects(); err != nil {
		return nil, err
	}
	if p.fence, err = config.FenceObjects(); err != nil {
		return nil, err
	}
	p.volumes, err = config.VolumeObjects()
	for _, object := range p.volumes {
		moveTo(object, namespace)
	}
	return p, err
}

// readManager reads the manager's objects.
func (p *parts) readManager(namespace string, constrained bool) error {
	legacy, err := config.ManagerObjects()
	if err != nil {
		return err
	}
	all, err := config.ConstrainedObjects()
	if err != nil {
		return err
	}
	p.manager = legacy
	if constrained {
		p.manager = nil
	}
	for _, object := range all {
		switch own := slices.ContainsFunc(legacy, func(other *unstructured.Unstructured) bool { return titleOf(other) == titleOf(object) }); {
		case !own:
			p.bounds = append(p.bounds, object)
		case constrained:
			p.manager = append(p.manager, object)
		}
	}
	for _, object := range slices.Concat(p.manager, p.bounds) {
		moveTo(object, namespace)
	}
	return nil
}

// moveTo moves an object to another namespace, including its references to the manager's account and to the parameters
// of a policy.
func moveTo(object *unstructured.Unstructured, namespace string) {
	if object.GetKind() == "Namespace" {
		object.SetName(namespace)
	}
	if object.GetNamespace() != "" {
		object.SetNamespace(namespace)
	}
	subjects, _, _ := unstructured.NestedSlice(object.Object, "subjects")
	for _, each := range subjects {
		if subject, ok := each.(map[string]any); ok && subject["kind"] == "ServiceAccount" {
			subject["namespace"] = namespace
		}
	}
	if len(subjects) > 0 {
		object.Object["subjects"] = subjects
	}
	spec, _ := object.Object["spec"].(map[string]any)
	if parameters, ok := spec["paramRef"].(map[string]any); ok && parameters["namespace"] != nil {
		parameters["namespace"] = namespace
	}
}

// deployment returns the Deployment of the manager, or nil if only the definitions are installed.
func (p *parts) deployment() *unstructured.Unstructured { return find(p.manager, "Deployment") }

func find(objects []*unstructured.Unstructured, kind string) *unstructured.Unstructured {
	for _, object := range objects {
		if object.GetKind() == kind {
			return object
		}
	}
	return nil
}

var containersPath = []string{"spec", "template", "spec", "containers"}

// container returns all containers of the Deployment, and the manager's.
func container(deployment *unstructured.Unstructured) (all []any, manager map[string]any, err error) {
	all, _, err = unstructured.NestedSlice(deployment.Object, containersPath...)
	if err != nil {
		return nil, nil, err
	}
	for _, each := range all {
		if manager, ok := each.(map[string]any); ok && manager["name"] == "manager" {
			return all, manager, nil
		}
	}
	return nil, nil, errors.New("no container is called manager")
}

func setImage(deployment *unstructured.Unstructured, image string) error {
	all, manager, err := container(deployment)
	if err != nil {
		return err
	}
	manager["image"] = image
	return unstructured.SetNestedSlice(deployment.Object, all, containersPath...)
}

func imageOf(deployment *unstructured.Unstructured) (string, error) {
	_, manager, err := container(deployment)
	if err != nil {
		return "", err
	}
	image, _, err := unstructured.NestedString(manager, "image")
	return image, err
}

// titleOf returns the name of an object as kubectl prints it.
func titleOf(object *unstructured.Unstructured) string {
	gvk := object.GroupVersionKind()
	kind := strings.ToLower(gvk.Kind)
	if object.GetName() == "" {
		kind += "s" // the plural, for all objects of the kind
	}
	if gvk.Group != "" {
		kind += "." + gvk.Group
	}
	if object.GetName() == "" {
		return kind
	}
	return kind + "/" + object.GetName()
}

// printObjects prints objects as one stream of YAML documents, or as one list in JSON.
func printObjects(out io.Writer, format string, objects []*unstructured.Unstructured) error {
	if format == "json" {
		list := &metav1.List{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "List"}}
		for _, object := range objects {
			list.Items = append(list.Items, runtime.RawExtension{Object: object})
		}
		return terminal.Encode(out, format, list)
	}
	for i, object := range objects {
		data, err := yaml.Marshal(object.Object)
		if err != nil {
			return err
		}
		if i > 0 {
			data = append([]byte("---\n"), data...)
		}
		if _, err := out.Write(data); err != nil {
			return fmt.Errorf("writing the manifests: %w", err)
		}
	}
	return nil
}
