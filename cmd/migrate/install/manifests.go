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

// defaultNamespace is the manager's in the embedded manifests.
const defaultNamespace = "sliceshift-system"

// parts are what is installed, each in the order in which it is applied. bounds are what constrained impersonation needs
// besides the manager's own objects: they come first, so that a manager that runs lacks nothing in between.
type parts struct{ crds, manager, bounds, authors, fence, volumes []*unstructured.Unstructured }

// parts reads the embedded manifests, and changes them as the flags say. at is the
// namespace of the manager that is installed, if any; constrained bounds what the manager does as other accounts.
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

// embedded are all parts as they are for a manager in that namespace.
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

// readManager reads what runs the manager.
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

// moveTo puts an object of the manager, and what it says of the manager's account or of a
// policy's parameters, into another namespace.
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

// deployment is that of the manager; nil when only the definitions are installed.
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

// container is the manager's, in its Deployment.
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

// titleOf names an object as kubectl does.
func titleOf(object *unstructured.Unstructured) string {
	gvk := object.GroupVersionKind()
	kind := strings.ToLower(gvk.Kind)
	if object.GetName() == "" {
		kind += "s" // all of them
	}
	if gvk.Group != "" {
		kind += "." + gvk.Group
	}
	if object.GetName() == "" {
		return kind
	}
	return kind + "/" + object.GetName()
}

// printObjects writes objects as one stream of YAML documents, or as one list in JSON.
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
