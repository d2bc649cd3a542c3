package slices

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/slices/execute"
	"github.com/sliceshift/sliceshift/slices/internal/slicetest"
)

// TestLatePod: a pod was requested without a response, and a migration gives up its ordinal. The range is not confirmed
// before the pod would exist. By then it is deleted, and only then the migration starts the ordinal elsewhere.
func TestLatePod(t *testing.T) {
	for _, c := range []struct {
		name string
		// deposed: the controller that requested the pod no longer runs.
		deposed, claims, migrating bool
		waits                      bool
	}{
		{"X-24 its request had no answer", false, false, true, true},
		{"X-24 its controller was deposed", true, false, true, true},
		{"X-24 it could not start, for its claim has lost its volume", true, true, true, false},
		{"X-24 no migration waits for it", true, false, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t, 2)
			if c.claims {
				s.change(func(spec *api.StatefulSetSpec) {
					spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{*slicetest.Sized("data", "1Gi")}
				})
			}
			s.migrating(c.migrating)
			if err := s.passes(5); err != nil {
				t.Fatal(err)
			}
			s.clock.SetTime(s.clock.Now().Add(2 * answerWithin))
			late := s.loses("web-1")
			asked := s.clock.Now()
			if c.deposed {
				s.succeeds()
			}
			s.change(func(spec *api.StatefulSetSpec) { spec.Replicas = new(int32(1)) })
			s.refuse = nil
			_ = s.passes(3)
			if got := s.observed(); got == c.waits {
				t.Fatalf("the range is confirmed: %t", got)
			}
			if !c.waits {
				return
			}
			s.clock.SetTime(asked.Add(answerWithin - 10*time.Second))
			late.ResourceVersion = ""
			if err := s.server.Create(s.ctx, late); err != nil {
				t.Fatal(err)
			}
			for range 20 {
				_ = s.passes(1)
				if s.observed() && s.pods()["web-1"] != nil {
					t.Fatal("the range is confirmed while web-1 is there: it would run twice")
				}
			}
			if !s.observed() {
				t.Error("the range is never confirmed")
			}
		})
	}
}

// observed reports whether the newest generation was observed.
func (s *stage) observed() bool {
	set := s.set()
	return set.Status.ObservedGeneration == set.Generation
}

// migrating sets or removes the mark of a migration.
func (s *stage) migrating(is bool) {
	s.t.Helper()
	set := s.set()
	if set.Annotations = nil; is {
		set.Annotations = map[string]string{api.MigratingAnnotationKey: "true"}
	}
	if err := s.server.Update(s.ctx, set); err != nil {
		s.t.Fatalf("%v", err)
	}
}

// loses deletes a pod, and drops the response to the creation of the next one. It returns that pod, which may still appear.
func (s *stage) loses(name string) *corev1.Pod {
	s.t.Helper()
	if err := s.server.Delete(s.ctx, s.pods()[name]); err != nil {
		s.t.Fatalf("%v", err)
	}
	var late *corev1.Pod
	s.refuse = func(verb string, o client.Object) error {
		if pod, is := o.(*corev1.Pod); is && verb == "create" {
			late = pod.DeepCopy()
			return errors.New("connection reset by peer")
		}
		return nil
	}
	for range 5 {
		_, _ = s.pass()
	}
	if late == nil {
		s.t.Fatalf("nobody asked for %s", name)
	}
	return late
}

// succeeds replaces the running controller by another one.
func (s *stage) succeeds() {
	s.r = &Reconciler{
		Client: s.r.Client, Live: s.r.Live, Clock: s.clock, Events: s.ears,
		expectations: execute.NewExpectations(), told: newModerate(s.ears, s.clock), memory: map[types.NamespacedName]memory{},
	}
}
