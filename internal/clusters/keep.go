package clusters

import (
	"fmt"
	"reflect"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/internal/clusters/slim"
	"github.com/sliceshift/sliceshift/internal/clusters/weigh"
)

// keep removes unused fields of an object and charges the rest, before it is kept. If the allowance is used up, the store
// ends.
func (s *store) keep(in any) (any, error) {
	object, isObject := in.(client.Object)
	if !isObject {
		return in, nil // a tombstone has no fields to remove
	}
	slim.Down(object)
	object = s.volumes.Once(object)
	if s.kept.of == nil {
		return object, nil
	}
	weight, err := weigh.Object(object)
	if err != nil {
		return nil, err
	}
	if !s.book(nameOf(object), weight+weightIndexed(object)) {
		s.hub.wake(audience{everyone: true})
		return stub(object), nil // after an error, the reflector would log the whole object
	}
	return object, nil
}

// book charges the memory of an object.
func (s *store) book(key string, weight int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if more := weight - s.weights[key]; more > 0 && !s.kept.take(more) {
		s.full = true
		s.stop()
		return false
	} else if more < 0 {
		s.kept.give(-more)
	}
	s.weights[key] = weight
	return true
}

// stub returns an object with only its name and version. A full store does not show it.
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

// nameOf returns a key that is unique in a store.
func nameOf(object client.Object) string {
	return fmt.Sprintf("%T/%s/%s", object, object.GetNamespace(), object.GetName())
}

// drop returns the memory of a deleted object.
func (s *store) drop(object client.Object) {
	key := nameOf(object)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept.give(s.weights[key])
	delete(s.weights, key)
}

// trusted returns an error if the store is full, because it then shows nothing.
func (s *store) trusted() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.full {
		return errFull{s.part.of()}
	}
	return nil
}
