package slices

import (
	"context"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// lags freezes the set in the cache in its current state until catchUp is called.
func (s *stage) lags() (catchUp func()) {
	shown, lagging := s.set(), true
	s.r.Client = interceptor.NewClient(s.r.Client.(client.WithWatch), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if set, is := o.(*api.StatefulSet); is && lagging {
				shown.DeepCopyInto(set)
				return nil
			}
			return c.Get(ctx, key, o, opts...)
		},
	})
	return func() { lagging = false }
}

// TestStatusThereAndBack: a count that falls and rises again while the cache shows no write of the set ends with the correct
// value.
func TestStatusThereAndBack(t *testing.T) {
	s := newStage(t, 2)
	if err := s.passes(10); err != nil {
		t.Fatal(err)
	}
	catchUp := s.lags()
	for _, want := range []int32{1, 2} {
		pod := s.pods()["web-0"]
		if pod.Status.Conditions[0].Status = "True"; want == 1 {
			pod.Status.Conditions[0].Status = "False"
		}
		if err := s.server.Status().Update(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
		if _, err := s.pass(); err != nil {
			t.Fatal(err)
		}
		if got := s.set().Status.ReadyReplicas; got != want {
			t.Errorf("%d of 2 pods are Ready, and %d are told", want, got)
		}
	}
	catchUp()
	if _, err := s.pass(); err != nil || s.r.recall(s.set()).written != nil {
		t.Errorf("what the cache shows is kept twice: %v", err)
	}
}

// TestLostWrite: after an API server has lost a write because its data was restored, the controller does not trust its own
// copy forever.
func TestLostWrite(t *testing.T) {
	for after, want := range map[time.Duration]bool{time.Second: true, answerWithin: false} {
		s := newStage(t, 1)
		shown := s.set()
		written := shown.DeepCopy()
		written.ResourceVersion += "0"
		s.r.memorise(shown, memory{uid: shown.UID, written: written, writtenAt: s.clock.Now().Add(-after)})
		if got := s.r.newest(shown).ResourceVersion == written.ResourceVersion; got != want {
			t.Errorf("%s after the write it is believed: %t", after, got)
		}
	}
}
