package endpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/sliceshift/sliceshift/workload"
)

// Kind is the kind of the side's StatefulSet.
func (p Endpoint) Kind() workload.Kind { return workload.Of(p.APIVersion) }

// NewSet is an empty StatefulSet of the side's kind.
func (p Endpoint) NewSet(meta metav1.ObjectMeta) client.Object { return p.Kind().New(meta) }

// GetSet reads the side's StatefulSet; nil without an error when it does not exist.
func (p Endpoint) GetSet(ctx context.Context, reader client.Reader) (*appsv1.StatefulSet, error) {
	set, _, err := p.GetBoth(ctx, reader)
	return set, err
}

// GetBoth reads the side's StatefulSet, and returns it as apps/v1 and as it is of its kind; nil
// without an error when it does not exist.
func (p Endpoint) GetBoth(ctx context.Context, reader client.Reader) (*appsv1.StatefulSet, client.Object, error) {
	if problem := workload.Problem(p.APIVersion); problem != "" {
		return nil, nil, errors.New(problem)
	}
	object := p.NewSet(metav1.ObjectMeta{})
	switch err := reader.Get(ctx, p.Key(p.Set), object); {
	case apierrors.IsNotFound(err):
		return nil, nil, nil
	case err != nil:
		return nil, nil, err
	}
	set, err := AsSet(object)
	return set, object, err
}

// Convert makes one kind of StatefulSet of another: fields that the other kind does
// not have are left out.
func Convert[T any](from client.Object) (*T, error) {
	to := new(T)
	if err := ConvertTo(to, from); err != nil {
		return nil, err
	}
	return to, nil
}

// ConvertTo is Convert into an object that is there.
func ConvertTo(to any, from client.Object) error {
	data, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(data, to)
	}
	if err != nil {
		return fmt.Errorf("reading %T %s: %w", from, client.ObjectKeyFromObject(from), err)
	}
	return nil
}

// AsSet is an object as a StatefulSet of apps/v1; nil: it is of no kind of StatefulSet.
func AsSet(object client.Object) (*appsv1.StatefulSet, error) {
	if set, native := object.(*appsv1.StatefulSet); native {
		return set, nil
	}
	if !workload.Is(object) {
		return nil, nil
	}
	return Convert[appsv1.StatefulSet](object)
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
