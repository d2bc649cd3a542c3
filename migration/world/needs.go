package world

import (
	"context"
	"fmt"
	"slices"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/dependencies"
	"github.com/sliceshift/sliceshift/migration/endpoint"
)

// Needs lists the objects that the pods of a source need, other than their volumes.
type Needs struct {
	// References lists all of them, in the order in which they are copied.
	References []dependencies.Reference
	// Origins holds those that exist in the source's namespace, by their reference.
	Origins map[Named]*unstructured.Unstructured
}

// Named identifies an object in its namespace.
type Named struct{ Kind, Name string }

func namedBy(ref dependencies.Reference) Named { return Named{ref.Kind, ref.Name} }

// needsReader reads the dependencies of the source's pods.
type needsReader struct {
	at  endpoint.Endpoint
	set *appsv1.StatefulSet

	mu    sync.Mutex
	refs  []dependencies.Reference
	found map[Named]*unstructured.Unstructured
}

// ReadNeeds finds the dependencies of the source's pods: the objects that their template references, directly or
// indirectly, the rights of their ServiceAccount, and the objects that select the pods.
func ReadNeeds(ctx context.Context, at endpoint.Endpoint, set *appsv1.StatefulSet) (Needs, error) {
	r := &needsReader{at: at, set: set, found: map[Named]*unstructured.Unstructured{}}
	spec := set.Spec.Template.Spec
	account := dependencies.Reference{Kind: dependencies.ServiceAccount, Name: dependencies.AccountOf(spec), From: "the pods' account", Optional: spec.ServiceAccountName == ""}
	templates := ClaimTemplates(set)
	begin := dependencies.Together(dependencies.Walk(spec, templates), dependencies.SharedClaims(spec, templates), []dependencies.Reference{account})
	err := endpoint.Together(
		func() error { return r.read(ctx, begin) },
		func() error {
			return r.list(ctx, dependencies.RoleBinding, func(o *unstructured.Unstructured) bool { return dependencies.Reaches(o, account.Name) })
		},
		func() error { return r.list(ctx, dependencies.Service, r.selects) },
		func() error { return r.list(ctx, dependencies.NetworkPolicy, r.selects) },
	)
	if err != nil {
		return Needs{}, err
	}
	var further []dependencies.Reference
	for _, object := range r.found {
		further = append(further, dependencies.Further(object)...)
	}
	if err := r.read(ctx, further); err != nil {
		return Needs{}, err
	}
	needs := Needs{References: r.needed(), Origins: r.found}
	return needs, r.tooMany(needs.References)
}

// tooMany returns an error if more objects are needed than are read for one migration.
func (r *needsReader) tooMany(refs []dependencies.Reference) error {
	if len(refs) <= mostNeeds {
		return nil
	}
	return fmt.Errorf("the pods of %s need %d objects: more than %d are not copied", r.at.Object(), len(refs), mostNeeds)
}

// needed returns all references, except to optional objects that do not exist, and to an account of which nothing
// would be copied.
func (r *needsReader) needed() []dependencies.Reference {
	way := dependencies.Way{Account: dependencies.AccountOf(r.set.Spec.Template.Spec)}
	return slices.DeleteFunc(dependencies.Together(r.refs), func(ref dependencies.Reference) bool {
		kind, _ := dependencies.KindOf(ref.Kind)
		origin := r.found[namedBy(ref)]
		return kind.Copied && ref.Optional && (origin == nil || dependencies.Bare(dependencies.Clean(origin, way)))
	})
}

// mostNeeds limits the objects that are read for one migration, because the cluster that answers is not trusted.
const mostNeeds = 500

// read reads the objects that are copied; the others are only looked up at the destination.
func (r *needsReader) read(ctx context.Context, refs []dependencies.Reference) error {
	r.add(nil, refs...)
	if err := r.tooMany(refs); err != nil {
		return err
	}
	var reads []func() error
	for _, ref := range refs {
		kind, _ := dependencies.KindOf(ref.Kind)
		if !kind.Copied || r.has(ref) {
			continue
		}
		reads = append(reads, func() error {
			object, err := r.at.Dependency(ctx, kind, ref.Name, kind.Versions...)
			if object != nil {
				r.add(object)
			}
			return err
		})
	}
	return endpoint.Together(reads...)
}

// list reads the objects of a kind that belong to the pods.
func (r *needsReader) list(ctx context.Context, name string, wanted func(*unstructured.Unstructured) bool) error {
	kind, _ := dependencies.KindOf(name)
	objects, err := r.at.Dependents(ctx, kind)
	for i := range objects {
		object := &objects[i]
		object.SetGroupVersionKind(kind.GroupKind().WithVersion(kind.Versions[0])) // a list may leave it out
		if wanted(object) {
			r.add(object, dependencies.Reference{Kind: name, Name: object.GetName(), From: "StatefulSet " + r.set.Name})
		}
	}
	return err
}

func (r *needsReader) has(ref dependencies.Reference) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.found[namedBy(ref)] != nil
}

func (r *needsReader) add(object *unstructured.Unstructured, refs ...dependencies.Reference) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refs = append(r.refs, refs...)
	if object != nil {
		r.found[Named{object.GetKind(), object.GetName()}] = object
	}
}

// selects reports whether a Service or a NetworkPolicy selects pods of the set. The governing Service, and Services
// that a migration created for single ordinals, are not copied in this way.
func (r *needsReader) selects(object *unstructured.Unstructured) bool {
	_, made := object.GetAnnotations()[api.OwnerAnnotationKey]
	governing := object.GetKind() == dependencies.Service && object.GetName() == r.set.Spec.ServiceName
	return !made && !governing && dependencies.Selects(dependencies.Selector(object), r.set.Name, r.set.Spec.Template.Labels)
}
