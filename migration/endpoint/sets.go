package endpoint

import (
	"context"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	slicesapi "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// NativeVersion is the apiVersion of the native kind. Ours has all fields of it under the same
// names, so both are looked at as apps/v1.
const NativeVersion = "apps/v1"

// SliceVersion is the apiVersion of our own kind of StatefulSet.
var SliceVersion = slicesapi.GroupVersion.String()

// NewSet is an empty StatefulSet of the place's kind.
func (p Endpoint) NewSet(meta metav1.ObjectMeta) client.Object {
	if p.APIVersion == SliceVersion {
		return &slicesapi.StatefulSet{ObjectMeta: meta}
	}
	return &appsv1.StatefulSet{ObjectMeta: meta}
}

// GetSet reads the place's StatefulSet; nil without an error when it does not exist.
func (p Endpoint) GetSet(ctx context.Context, reader client.Reader) (*appsv1.StatefulSet, error) {
	set, _, err := p.GetSlice(ctx, reader)
	return set, err
}

// GetSlice reads the place's StatefulSet, whichever kind it is of, and as it is when it is of our
// own kind.
func (p Endpoint) GetSlice(ctx context.Context, reader client.Reader) (*appsv1.StatefulSet, *slicesapi.StatefulSet, error) {
	if p.APIVersion != SliceVersion {
		set, err := Get[appsv1.StatefulSet](ctx, reader, p.Key(p.Set))
		return set, nil, err
	}
	slice, err := Get[slicesapi.StatefulSet](ctx, reader, p.Key(p.Set))
	if slice == nil || err != nil {
		return nil, nil, err
	}
	set, err := Convert[appsv1.StatefulSet](slice)
	return set, slice, err
}

// Convert makes one kind of StatefulSet of another: fields that the other kind does
// not have are left out.
func Convert[T any](from client.Object) (*T, error) {
	data, err := json.Marshal(from)
	if err != nil {
		return nil, fmt.Errorf("reading %T %s: %w", from, client.ObjectKeyFromObject(from), err)
	}
	to := new(T)
	if err := json.Unmarshal(data, to); err != nil {
		return nil, fmt.Errorf("reading %T %s: %w", from, client.ObjectKeyFromObject(from), err)
	}
	return to, nil
}

// AsSet is an object as a StatefulSet of apps/v1; nil: it is of no kind of StatefulSet.
func AsSet(object client.Object) (*appsv1.StatefulSet, error) {
	switch object.(type) {
	case *appsv1.StatefulSet, *slicesapi.StatefulSet:
		return Convert[appsv1.StatefulSet](object)
	default:
		return nil, nil
	}
}

// UnstructuredOf is an object as the very JSON that is sent.
func UnstructuredOf(at Endpoint, object client.Object) (*unstructured.Unstructured, error) {
	kinds, err := apiutil.GVKForObject(object, at.Live.Scheme())
	if err != nil {
		return nil, err
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, err
	}
	raw := &unstructured.Unstructured{Object: fields}
	raw.SetGroupVersionKind(kinds)
	return raw, nil
}
