package preflight

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/dependencies"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// need is an object that must exist at the destination.
type need struct {
	dependencies.Reference
	kind dependencies.Kind
	// later is true if only an ordinal that is added later needs it.
	later bool
	// kept is true for an object that is never copied, whatever its kind.
	kept bool
	// template is the claim template of a claim that names it, and driver the CSI driver that provisions the claim's
	// volume; empty if it is not known.
	template, driver string
}

// needed returns the references of the selected kinds that pods cannot start without.
func needed(refs []dependencies.Reference, asks func(dependencies.Kind) bool) []need {
	var all []need
	for _, ref := range refs {
		if kind, _ := dependencies.KindOf(ref.Kind); !ref.Optional && asks(kind) {
			all = append(all, need{Reference: ref, kind: kind})
		}
	}
	return all
}

// missing looks up all needs, in parallel, and then the objects that the found ones need.
func (e *Inspector) missing(ctx context.Context, needs []need) ([]plan.Finding, error) {
	found := make([]*unstructured.Unstructured, len(needs))
	findings, err := e.lookUp(ctx, needs, found)
	if err != nil {
		return nil, err
	}
	var further []need
	for i, object := range found {
		if object != nil {
			further = append(further, classesOf(needs[i], object)...)
		}
	}
	more, err := e.lookUp(ctx, further, make([]*unstructured.Unstructured, len(further)))
	return append(findings, more...), err
}

// classesOf returns the device classes that a found object names.
func classesOf(n need, object *unstructured.Unstructured) []need {
	if n.later {
		return nil
	}
	return needed(dependencies.Further(object), func(kind dependencies.Kind) bool { return kind.Name == dependencies.DeviceClass })
}

// lookUp returns the findings in the order of the needs, and stores the objects that exist.
func (e *Inspector) lookUp(ctx context.Context, needs []need, objects []*unstructured.Unstructured) ([]plan.Finding, error) {
	found := make([]*plan.Finding, len(needs))
	var reads []func() error
	for i, n := range needs {
		reads = append(reads, func() (err error) {
			objects[i], found[i], err = dependency(ctx, e.Destination, n)
			return err
		})
	}
	if err := endpoint.Together(reads...); err != nil {
		return nil, err
	}
	var findings []plan.Finding
	for _, finding := range found {
		if finding == nil {
			continue
		}
		reported := func(f plan.Finding) bool { return f.Object == finding.Object && (!f.Warning || finding.Warning) }
		if !slices.ContainsFunc(findings, reported) {
			findings = append(findings, *finding)
		}
	}
	return findings, nil
}

// dependency reads an object, and returns why it does not serve the pods; nil if it does.
func dependency(ctx context.Context, at endpoint.Endpoint, n need) (*unstructured.Unstructured, *plan.Finding, error) {
	at.Namespace = cmp.Or(n.Namespace, at.Namespace)
	where := fmt.Sprintf("%s %s/%s in cluster %s", n.Kind, at.Namespace, n.Name, at.Cluster)
	if n.kind.Cluster {
		where = fmt.Sprintf("%s %s in cluster %s", n.Kind, n.Name, at.Cluster)
	}
	object, err := at.Dependency(ctx, n.kind, n.Name, n.kind.Versions...)
	switch {
	case apierrors.IsForbidden(err):
		return nil, &plan.Finding{
			Reason: api.ReasonDependencyMissing, Object: where, Warning: true,
			Message: where + " is needed by the pods (" + n.From + ") and may not be read, so see for yourself that it exists",
		}, nil
	case err != nil:
		return nil, nil, err
	case object == nil:
		return nil, n.absent(where, at.Cluster), nil
	}
	return object, n.ofAnother(where, object), nil
}

// absent returns the finding for an object that does not exist.
func (n need) absent(where, cluster string) *plan.Finding {
	finding := plan.Finding{
		Reason: api.ReasonDependencyMissing, Object: where, Warning: n.later,
		Message: where + " does not exist, and the pods need it (" + n.From + "): a moved ordinal would be stopped and not start again",
		Remedy:  fmt.Sprintf("create it in cluster %s before the move: it is never copied", cluster),
	}
	switch {
	case n.later:
		finding.Message = where + " does not exist, and " + n.From + " names it: no moved ordinal needs it, and the claim of an ordinal that is added there later would stay Pending"
		finding.Remedy = fmt.Sprintf("create it in cluster %s: it is never copied", cluster)
	case n.Kind == dependencies.VolumeAttributesClass:
		finding.Message = where + " does not exist, and " + n.From + " names it: a moved ordinal would be stopped, and its new volume never provisioned"
		finding.Remedy += n.remedyOfClass()
	case n.kind.Copied && !n.kept:
		finding.Remedy = fmt.Sprintf("create it in cluster %s before the move, or copy it: --copy-dependencies, or spec.dependencies.mode: Copy", cluster)
	}
	return &finding
}

// ofAnother returns the finding for a VolumeAttributesClass of another driver than that of the new volume, which that
// driver's provisioner refuses (external-provisioner, controller.go, prepareProvision); nil if there is none.
func (n need) ofAnother(where string, object *unstructured.Unstructured) *plan.Finding {
	driver, _, _ := unstructured.NestedString(object.Object, "driverName")
	if n.Kind != dependencies.VolumeAttributesClass || n.driver == "" || driver == n.driver {
		return nil
	}
	then := "a moved ordinal would be stopped, and its new volume never provisioned"
	if n.later {
		then = "the claim of an ordinal that is added there later would stay Pending"
	}
	return &plan.Finding{
		Reason: api.ReasonDependencyMissing, Object: where, Warning: n.later,
		Message: fmt.Sprintf("%s is of driver %s, and %s names it for volumes of driver %s: %s", where, driver, n.From, n.driver, then),
		Remedy:  "name a StorageClass of driver " + driver + n.remedyOfClass(),
	}
}

// remedyOfClass returns the setting by which new volumes get no VolumeAttributesClass.
func (n need) remedyOfClass() string {
	return fmt.Sprintf("; or name a StorageClass, with which new volumes get no VolumeAttributesClass: --storage-class %s=CLASS, storageClassName in spec.volumes", n.template)
}
