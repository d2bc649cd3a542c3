package endpoint

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/migration/dependencies"
)

// Serves returns the first of some versions in which the side's API server serves a kind; nil if it serves none of
// them.
func (p Endpoint) Serves(kind dependencies.Kind, versions ...string) (*schema.GroupVersionKind, error) {
	mapping, err := p.Live.RESTMapper().RESTMapping(kind.GroupKind(), versions...)
	switch {
	case meta.IsNoMatchError(err):
		return nil, nil //nolint:nilnil // nil is the answer that it serves none
	case err != nil:
		return nil, fmt.Errorf("finding out whether %s is served: %w", kind.Name, err)
	}
	return &mapping.GroupVersionKind, nil
}

// CommonVersion returns the best version of a kind that the API servers of both sides serve; empty if there is none.
// A newer API server may no longer serve an old version, and an older one may not serve a new version yet.
func (e *Pair) CommonVersion(kind dependencies.Kind) (string, error) {
	for _, version := range kind.Versions {
		both := true
		for _, at := range []Endpoint{e.Source, e.Destination} {
			served, err := at.Serves(kind, version)
			if err != nil {
				return "", fmt.Errorf("cluster %s: %w", at.Cluster, err)
			}
			both = both && served != nil
		}
		if both {
			return version, nil
		}
	}
	return "", nil
}

// Dependency reads an object that pods depend on, in one of some versions. It returns nil without an error if the API
// server reports that the object does not exist, or does not serve the kind.
func (p Endpoint) Dependency(ctx context.Context, kind dependencies.Kind, name string, versions ...string) (*unstructured.Unstructured, error) {
	served, err := p.Serves(kind, versions...)
	if served == nil || err != nil {
		return nil, err
	}
	key := p.Key(name)
	if kind.Cluster {
		key.Namespace = ""
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(*served)
	err = p.Live.Get(ctx, key, object)
	switch {
	case apierrors.IsNotFound(err) && !apierrors.IsUnexpectedServerError(err):
		return nil, nil //nolint:nilnil // nil is the answer that it does not exist
	case err != nil:
		return nil, fmt.Errorf("reading %s %s in cluster %s: %w", kind.Name, name, p.Cluster, err)
	}
	return object, nil
}

// Dependents lists all objects of a kind, in the side's namespace if the kind is namespaced; none if the kind is not
// served.
func (p Endpoint) Dependents(ctx context.Context, kind dependencies.Kind, options ...client.ListOption) ([]unstructured.Unstructured, error) {
	served, err := p.Serves(kind, kind.Versions...)
	if served == nil || err != nil {
		return nil, err
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(served.GroupVersion().WithKind(served.Kind + "List"))
	if !kind.Cluster {
		options = append(options, client.InNamespace(p.Namespace))
	}
	if err := p.Live.List(ctx, list, options...); err != nil {
		return nil, fmt.Errorf("listing %s in namespace %s of cluster %s: %w", kind.Resource, p.Namespace, p.Cluster, err)
	}
	return list.Items, nil
}
