// Package sets reads the StatefulSets of a cluster, of all kinds that it serves, page by page.
package sets

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/workload"
)

// Reader reads from one cluster.
type Reader struct {
	client.Reader
	Scheme *runtime.Scheme
	// Serves reports whether the cluster serves a kind.
	Serves func(context.Context, client.Object) (bool, error)
	// Kinds are the kinds of StatefulSet that the cluster serves. They are set by Read.
	Kinds []schema.GroupVersionKind
}

// Of returns the Reader of a connection.
func Of(connection *clusters.Connection) Reader {
	return Reader{Reader: connection.Live(), Scheme: connection.Live().Scheme(), Serves: connection.Serves}
}

// Scope selects StatefulSets: one by its name, or all with the labels, of a namespace or of all.
type Scope struct {
	Namespace, Name string
	Selector        labels.Selector
}

// Found is a StatefulSet as apps/v1, and the object of its own kind.
type Found struct {
	*appsv1.StatefulSet
	Kind   workload.Kind
	Object client.Object
}

// PageSize is the number of objects that are read in one request.
const PageSize = 500

// Pages reads a list page by page, and calls use with each page. The list is not changed.
func (r *Reader) Pages(ctx context.Context, list runtime.Object, use func(client.ObjectList) error, options ...client.ListOption) error {
	for next := ""; ; {
		page, is := list.DeepCopyObject().(client.ObjectList)
		if !is {
			return fmt.Errorf("%T is not a list", list)
		}
		if err := r.List(ctx, page, append(options, client.Limit(PageSize), client.Continue(next))...); err != nil {
			return err
		}
		if err := use(page); err != nil {
			return err
		}
		if next = page.GetContinue(); next == "" {
			return nil
		}
	}
}

// Read reads the StatefulSets of all kinds that the cluster serves.
func (r *Reader) Read(ctx context.Context, of Scope) (all []Found, err error) {
	for _, kind := range workload.All() {
		known, err := r.Serves(ctx, kind.New(metav1.ObjectMeta{}))
		if err != nil {
			return nil, err
		}
		if !known {
			continue
		}
		found, err := r.ofKind(ctx, kind, of)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// ofKind reads the StatefulSets of one kind.
func (r *Reader) ofKind(ctx context.Context, kind workload.Kind, of Scope) (all []Found, err error) {
	one := kind.New(metav1.ObjectMeta{})
	gvk, err := apiutil.GVKForObject(one, r.Scheme)
	if err != nil {
		return nil, err
	}
	r.Kinds = append(r.Kinds, gvk)
	add := func(object runtime.Object) error {
		found, err := foundOf(kind, object)
		if err == nil {
			all = append(all, found)
		}
		return err
	}
	if of.Name != "" {
		err := r.Get(ctx, client.ObjectKey{Namespace: of.Namespace, Name: of.Name}, one)
		switch {
		case apierrors.IsNotFound(err) && !apierrors.IsUnexpectedServerError(err):
			return nil, nil
		case err != nil:
			return nil, err
		}
		err = add(one)
		return all, err
	}
	empty, err := r.Scheme.New(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	if err != nil {
		return nil, err
	}
	use := func(page client.ObjectList) error { return meta.EachListItem(page, add) }
	err = r.Pages(ctx, empty, use, client.InNamespace(of.Namespace), client.MatchingLabelsSelector{Selector: of.Selector})
	return all, err
}

// foundOf returns a StatefulSet of a list.
func foundOf(kind workload.Kind, object runtime.Object) (Found, error) {
	set, is := object.(client.Object)
	if !is {
		return Found{}, fmt.Errorf("%T is not an object", object)
	}
	converted, err := endpoint.AsSet(set)
	return Found{converted, kind, set}, err
}
