package slices

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/event"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/slices/internal/slicetest"
)

// reader returns a set with inputs.
func reader(namespace, name string, listed ...api.RevisionInput) *api.StatefulSet {
	set := slicetest.NamedSet(name, map[string]string{"app": name})
	set.Namespace, set.Spec.RevisionInputs = namespace, listed
	return set
}

// TestRevisionInputsWatched: one watch for each namespace that has a set with a ConfigMap input, and only while it has one. An
// event requeues the sets that have this ConfigMap.
func TestRevisionInputsWatched(t *testing.T) {
	app, other, key := api.RevisionInput{Kind: api.InputConfigMap, Name: "app"}, api.RevisionInput{Kind: api.InputConfigMap, Name: "other"}, api.RevisionInput{Kind: api.InputSecret, Name: "app"}
	opened, streams := make(chan string), make(chan *watch.FakeWatcher)
	w := &inputWatches{
		life: t.Context(), changes: make(chan event.GenericEvent), namespaces: map[string]*watchedNamespace{},
		open: func(ctx context.Context, namespace string) (watch.Interface, error) {
			stream := watch.NewFake()
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case opened <- namespace:
				streams <- stream
				return stream, nil
			}
		},
	}
	w.want(reader("shop", "none"))
	w.want(reader("shop", "secret", key))
	if len(w.namespaces) > 0 {
		t.Errorf("watches %v", w.namespaces)
	}
	w.want(reader("shop", "web", app, key))
	if namespace := <-opened; namespace != "shop" {
		t.Errorf("watches %s", namespace)
	}
	stream := <-streams
	w.want(reader("shop", "db", other, app))
	w.want(reader("shop", "cache", other))
	w.want(reader("shop", "web", app, key))
	changed := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "app"}}
	go func() {
		stream.Modify(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "third"}})
		stream.Modify(changed)
	}()
	names := []string{(<-w.changes).Object.GetName(), (<-w.changes).Object.GetName()}
	if slices.Sort(names); !slices.Equal(names, []string{"db", "web"}) {
		t.Errorf("requeues %v", names)
	}
	w.forget(types.NamespacedName{Namespace: "shop", Name: "web"})
	w.want(reader("shop", "db", other))
	go func() {
		stream.Delete(changed)
		stream.Add(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "other"}})
	}()
	names = []string{(<-w.changes).Object.GetName(), (<-w.changes).Object.GetName()}
	if slices.Sort(names); !slices.Equal(names, []string{"cache", "db"}) {
		t.Errorf("requeues %v", names)
	}
	deleted := reader("shop", "db", other)
	deleted.DeletionTimestamp = &metav1.Time{Time: slicetest.Noon}
	w.want(deleted)
	w.want(reader("shop", "cache"))
	w.forget(types.NamespacedName{Namespace: "elsewhere", Name: "web"})
	if len(w.namespaces) > 0 {
		t.Errorf("still watches %v", w.namespaces)
	}
	for range 100 {
		if stream.IsStopped() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("the watch goes on")
}

// TestRevisionInputsUnwatched: where a watch is refused, the sets are reconciled at intervals.
func TestRevisionInputsUnwatched(t *testing.T) {
	asked := make(chan bool, 1)
	w := &inputWatches{
		life: t.Context(), namespaces: map[string]*watchedNamespace{},
		open: func(context.Context, string) (watch.Interface, error) {
			asked <- true
			return nil, errors.New("forbidden")
		},
	}
	w.want(reader("shop", "web", api.RevisionInput{Kind: api.InputConfigMap, Name: "app"}))
	<-asked
	w.forget(types.NamespacedName{Namespace: "shop", Name: "web"})
	var none *inputWatches
	none.want(reader("shop", "web"))
	none.forget(types.NamespacedName{})
	if len(w.namespaces) > 0 {
		t.Errorf("watches %v", w.namespaces)
	}
}
