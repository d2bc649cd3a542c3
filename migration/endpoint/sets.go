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

// Kind returns the kind of the side's StatefulSet.
func (p Endpoint) Kind() workload.Kind { return workload.Of(p.APIVersion) }

// NewSet returns an empty StatefulSet of the side's kind.
func (p Endpoint) NewSet(meta metav1.ObjectMeta) client.Object { return p.Kind().New(meta) }

// GetSet reads the side's StatefulSet; nil without an error when it does not exist.
func (p Endpoint) GetSet(ctx context.Context, reader client.Reader) (*appsv1.StatefulSet, error) {
	set, _, err := p.GetBoth(ctx, reader)
	return set, err
}

// GetBoth reads the side's StatefulSet, and returns it as apps/v1 and in its own kind; nil without an error when it
// does not exist.
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

// Convert converts one kind of StatefulSet to another. Fields that the other kind lacks are dropped.
func Convert[T any](from client.Object) (*T, error) {
	to := new(T)
	if err := ConvertTo(to, from); err != nil {
		return nil, err
	}
	return to, nil
}

// ConvertTo is Convert into an existing object.
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

// AsSet returns an object as a StatefulSet of apps/v1; nil if it is not of a kind of StatefulSet.
func AsSet(object client.Object) (*appsv1.StatefulSet, error) {
	if set, native := object.(*appsv1.StatefulSet); native {
		return set, nil
	}
	if !workload.Is(object) {
		return nil, nil
	}
	return Convert[appsv1.StatefulSet](object)
}

// UnstructuredOf returns an object in the JSON form that is sent.
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
