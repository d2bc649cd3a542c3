package fresh

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// TestK0Fresh: a list that has failed, or was not answered yet, is reported. After a successful list it is not.
func TestK0Fresh(t *testing.T) {
	var w Watches
	options := w.Options(cache.Options{})
	var broken atomic.Bool
	broken.Store(true)
	lists := &toolscache.ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			if broken.Load() {
				return nil, errors.New("cannot unmarshal number into Go struct field")
			}
			return &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}}, nil
		},
		WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
			if broken.Load() {
				return nil, errors.New("cannot unmarshal number into Go struct field")
			}
			return watch.NewFake(), nil
		},
	}
	informer := options.NewInformer(toolscache.ToListWatcherWithWatchListSemantics(lists, unsupported{}), &corev1.Pod{}, 0, toolscache.Indexers{})
	if err := informer.SetWatchErrorHandlerWithContext(options.DefaultWatchErrorHandler); err != nil {
		t.Fatal(err)
	}
	if err := w.Check(nil); err == nil || !strings.Contains(err.Error(), "v1.Pod was not listed yet") {
		t.Errorf("before it is listed: %v", err)
	}
	go informer.RunWithContext(t.Context())
	await(t, func() bool {
		err := w.Check(nil)
		return err != nil && strings.Contains(err.Error(), "cannot unmarshal")
	})
	broken.Store(false)
	await(t, func() bool { return w.Check(nil) == nil })
	// A later failure counts until an event arrives, or until the last failure is long ago.
	w.fail("v1.Pod", errors.New("refused"), time.Now())
	if w.Check(nil) == nil {
		t.Error("a list has failed, and all is well")
	}
	w.fail("v1.Pod", errors.New("refused"), time.Now().Add(-recovered))
	if err := w.Check(nil); err != nil {
		t.Errorf("long ago: %v", err)
	}
}

// unsupported is a client without lists by watch.
type unsupported struct{}

// IsWatchListSemanticsUnSupported returns true.
func (unsupported) IsWatchListSemanticsUnSupported() bool { return true }

func await(t *testing.T, holds func() bool) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, 20*time.Second, true, func(context.Context) (bool, error) { return holds(), nil }); err != nil {
		t.Fatal(err)
	}
}
