package clusters

import (
	"fmt"
	"reflect"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/internal/clusters/slim"
	"github.com/sliceshift/sliceshift/internal/clusters/weigh"
)

// keep drops what nobody reads of an object, and books the rest, before it is kept. A store in
// which there is no room for one ends.
func (s *store) keep(in any) (any, error) {
	object, isObject := in.(client.Object)
	if !isObject {
		return in, nil // a tombstone has nothing to drop
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
		return stub(object), nil // an error would have all of it logged, whatever it holds
	}
	return object, nil
}

// book takes room for an object.
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

// stub has nothing of an object but its name. A store that is full shows nobody that.
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

// nameOf tells an object from every other one of a store.
func nameOf(object client.Object) string {
	return fmt.Sprintf("%T/%s/%s", object, object.GetNamespace(), object.GetName())
}

// drop is for an object that is not kept any more.
func (s *store) drop(object client.Object) {
	key := nameOf(object)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept.give(s.weights[key])
	delete(s.weights, key)
}

// trusted is the error of a store that shows nothing any more.
func (s *store) trusted() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.full {
		return errFull{s.part.of()}
	}
	return nil
}
