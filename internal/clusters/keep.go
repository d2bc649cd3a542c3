package clusters

import (
	"context"
	"fmt"
	"reflect"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// keep drops what nobody reads of an object, and books the rest, before it is kept. A view in
// which there is no room for one ends.
func (v *View) keep(in any) (any, error) {
	out := slim(in)
	object, isObject := out.(client.Object)
	if !isObject || v.kept.of == nil {
		return out, nil
	}
	weight, err := weigh(object)
	if err != nil {
		return nil, err
	}
	key := nameOf(object)
	v.mu.Lock()
	defer v.mu.Unlock()
	if more := weight - v.weights[key]; more > 0 && !v.kept.take(more) {
		v.full = true
		v.stop()
		return stub(object), nil // an error would have all of it logged, whatever it holds
	} else if more < 0 {
		v.kept.give(-more)
	}
	v.weights[key] = weight
	return out, nil
}

// stub has nothing of an object but its name. A view that is full shows nobody that.
func stub(of client.Object) client.Object {
	empty, ok := reflect.TypeAssert[client.Object](reflect.New(reflect.TypeOf(of).Elem()))
	if !ok {
		return of
	}
	empty.SetNamespace(of.GetNamespace())
	empty.SetName(of.GetName())
	empty.SetResourceVersion(of.GetResourceVersion())
	return empty
}

// nameOf tells an object from every other one of a view.
func nameOf(object client.Object) string {
	return fmt.Sprintf("%T/%s/%s", object, object.GetNamespace(), object.GetName())
}

// dropped is for an object that is not kept any more.
func (v *View) dropped(in any) {
	if unknown, ok := in.(toolscache.DeletedFinalStateUnknown); ok {
		in = unknown.Obj
	}
	if object, ok := in.(client.Object); ok {
		key := nameOf(object)
		v.mu.Lock()
		v.kept.give(v.weights[key])
		delete(v.weights, key)
		v.mu.Unlock()
	}
	v.changed()
}

func (v *View) tooMuch() error {
	return fmt.Errorf("cluster %s holds more in namespace %s than is kept for one namespace; see what it holds so much of, or raise clusterClient.memory of the manager", v.connection.name, v.scope.Namespace)
}

// shown is the error of a view that shows nothing any more.
func (v *View) shown() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.full {
		return v.tooMuch()
	}
	return nil
}

// Get implements client.Reader.
func (v *View) Get(ctx context.Context, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
	if err := v.shown(); err != nil {
		return err
	}
	return v.Reader.Get(ctx, key, object, opts...)
}

// List implements client.Reader.
func (v *View) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if err := v.shown(); err != nil {
		return err
	}
	return v.Reader.List(ctx, list, opts...)
}
