package migration

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

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	slicesapi "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// The kinds of StatefulSet that the engine drives, by their apiVersion. Ours has all
// fields of apps/v1 under the same names, so both are looked at as apps/v1.
const nativeVersion = "apps/v1"

var sliceVersion = slicesapi.GroupVersion.String()

// newSet is an empty StatefulSet of the place's kind.
func (p place) newSet(meta metav1.ObjectMeta) client.Object {
	if p.version == sliceVersion {
		return &slicesapi.StatefulSet{ObjectMeta: meta}
	}
	return &appsv1.StatefulSet{ObjectMeta: meta}
}

// getSet reads the place's StatefulSet; nil without an error when it does not exist.
func (p place) getSet(ctx context.Context, reader client.Reader) (*appsv1.StatefulSet, error) {
	set, _, err := p.getSlice(ctx, reader)
	return set, err
}

// getSlice reads the place's StatefulSet, whichever kind it is of, and as it is when it is of our
// own kind.
func (p place) getSlice(ctx context.Context, reader client.Reader) (*appsv1.StatefulSet, *slicesapi.StatefulSet, error) {
	if p.version != sliceVersion {
		set, err := get[appsv1.StatefulSet](ctx, reader, p.key(p.set))
		return set, nil, err
	}
	slice, err := get[slicesapi.StatefulSet](ctx, reader, p.key(p.set))
	if slice == nil || err != nil {
		return nil, nil, err
	}
	set, err := convert[appsv1.StatefulSet](slice)
	return set, slice, err
}

// convert makes one kind of StatefulSet of another: fields that the other kind does
// not have are left out.
func convert[T any](from client.Object) (*T, error) {
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

// copiedSet makes the destination's StatefulSet: the source's as it is now, without
// replicas, of the destination's kind.
func (e *executor) copiedSet(ctx context.Context, meta func(metav1.ObjectMeta) metav1.ObjectMeta, start int32, classes map[string]*string) (client.Object, error) {
	from := e.source.newSet(metav1.ObjectMeta{})
	if err := e.source.live.Get(ctx, e.source.key(e.source.set), from); err != nil {
		return nil, err
	}
	to, err := convert[slicesapi.StatefulSet](from)
	if err != nil {
		return nil, err
	}
	none := int32(0)
	to.TypeMeta, to.Status, to.ObjectMeta = metav1.TypeMeta{}, slicesapi.StatefulSetStatus{}, meta(to.ObjectMeta)
	to.Spec.Replicas, to.Spec.Ordinals = &none, &slicesapi.Ordinals{Start: start}
	to.Annotations[api.TemplateAnnotationKey] = templateHash(&to.Spec.Template)
	mapClasses(to.Spec.VolumeClaimTemplates, classes)
	if e.destination.version == sliceVersion {
		return to, nil
	}
	return convert[appsv1.StatefulSet](to)
}

// asSet is an object as a StatefulSet of apps/v1; nil: it is of no kind of StatefulSet.
func asSet(object client.Object) (*appsv1.StatefulSet, error) {
	switch object.(type) {
	case *appsv1.StatefulSet, *slicesapi.StatefulSet:
		return convert[appsv1.StatefulSet](object)
	default:
		return nil, nil
	}
}

// unstructuredOf is an object as the very JSON that is sent.
func unstructuredOf(at place, object client.Object) (*unstructured.Unstructured, error) {
	kinds, err := apiutil.GVKForObject(object, at.live.Scheme())
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
