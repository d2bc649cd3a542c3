// Package feed follows the objects of an API server with a list and the watch that continues from it.
package feed

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// RetryPause is short, unlike client-go's backoff of up to half a minute: a change while a watch is down may never be
// seen.
const RetryPause = 100 * time.Millisecond

// Object is the constraint for the elements of a feed: a pointer to an API object.
type Object interface {
	comparable
	metav1.Object
	runtime.Object
}

// Change is one step in the life of one object. Old is nil for an object that appeared. New is nil for a deleted
// object; then Old is its last state. Objects that existed when the feed began have Initial set.
type Change[T Object] struct {
	Old, New T
	Initial  bool
}

// Feed is a list and the watch that follows it. When the API server returns, the feed continues where it stopped. When
// the API server no longer has that resourceVersion, the feed lists again and finds the changes that it missed. Its
// changes arrive one at a time and in the order of the API server.
type Feed[T Object] struct {
	Name  string
	List  func(context.Context, metav1.ListOptions) (items []T, rv string, err error)
	Watch func(context.Context, metav1.ListOptions) (watch.Interface, error)
	// Handle receives each change. Interrupted is called when a watch broke off.
	Handle      func(Change[T])
	Interrupted func()

	seen  map[string]T
	rv    string
	begun bool
}

// Run follows the objects until the context ends.
func (f *Feed[T]) Run(ctx context.Context) {
	for ctx.Err() == nil {
		if up := f.advance(ctx); up && ctx.Err() == nil {
			f.Interrupted()
		}
		Pause(ctx, RetryPause)
	}
}

// advance lists when it has no resourceVersion to continue from, and watches until the watch ends. up reports whether
// there was a watch. The next call tries again, whatever the reason of a failure.
func (f *Feed[T]) advance(ctx context.Context) (up bool) {
	if f.rv == "" {
		if err := f.Relist(ctx); err != nil {
			return false
		}
	}
	w, err := f.Watch(ctx, metav1.ListOptions{ResourceVersion: f.rv, AllowWatchBookmarks: true})
	if err != nil {
		f.forgetIfExpired(err)
		return false
	}
	defer w.Stop()
	for {
		select {
		case <-ctx.Done():
			return true
		case event, open := <-w.ResultChan():
			if !open || !f.apply(event) {
				return true
			}
		}
	}
}

// Relist lists all objects and passes the differences from the known state to Handle.
func (f *Feed[T]) Relist(ctx context.Context) error {
	items, rv, err := f.List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list %s: %w", f.Name, err)
	}
	listed := make(map[string]bool, len(items))
	for _, item := range items {
		listed[keyOf(item)] = true
		f.update(item)
	}
	for _, key := range slices.Sorted(maps.Keys(f.seen)) {
		if last := f.seen[key]; !listed[key] {
			delete(f.seen, key)
			f.Handle(Change[T]{Old: last})
		}
	}
	f.rv, f.begun = rv, true
	return nil
}

// apply passes one event on; false ends the watch.
func (f *Feed[T]) apply(event watch.Event) bool {
	item, ok := event.Object.(T)
	if event.Type == watch.Error || !ok {
		f.forgetIfExpired(apierrors.FromObject(event.Object))
		return false
	}
	f.rv = item.GetResourceVersion()
	switch event.Type {
	case watch.Added, watch.Modified:
		f.update(item)
	case watch.Deleted:
		delete(f.seen, keyOf(item))
		f.Handle(Change[T]{Old: item})
	case watch.Bookmark, watch.Error:
	}
	return true
}

// update passes on a new state. An object of the same name with another uid is a deletion and an appearance.
func (f *Feed[T]) update(item T) {
	if f.seen == nil {
		f.seen = map[string]T{}
	}
	var none T
	old, known := f.seen[keyOf(item)]
	if known && old.GetUID() == item.GetUID() && old.GetResourceVersion() == item.GetResourceVersion() {
		return
	}
	f.seen[keyOf(item)] = item
	if known && old.GetUID() != item.GetUID() {
		f.Handle(Change[T]{Old: old})
		old = none
	}
	f.Handle(Change[T]{Old: old, New: item, Initial: !f.begun})
}

// forgetIfExpired drops the resourceVersion of the watch when the API server no longer has it.
func (f *Feed[T]) forgetIfExpired(err error) {
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		f.rv = ""
	}
}

func keyOf(o metav1.Object) string {
	return o.GetNamespace() + "/" + o.GetName()
}

// Pause waits for d or until the context ends.
func Pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
