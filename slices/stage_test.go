package slices

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters/clustertest"
	"github.com/sliceshift/sliceshift/slices/internal/slicetest"
	"github.com/sliceshift/sliceshift/slices/observe"
)

// stage is one set with its Reconciler, on an API server that refuses requests as configured.
type stage struct {
	t      failer
	ctx    context.Context //nolint:containedctx // that of the test
	r      *Reconciler
	server client.Client
	clock  *testingclock.FakePassiveClock
	ears   *slicetest.Heard
	key    client.ObjectKey
	mu     sync.Mutex
	// step is the time between two passes.
	step time.Duration
	// refuse is called before each write, with its verb and the new object.
	refuse func(verb string, o client.Object) error
	// made counts the created pods and claims, each of which gets its own UID.
	made int
}

// newStage returns a stage for a set of n pods with a readiness gate, a deadline of 5 minutes and onFailure: Rollback.
func newStage(t *testing.T, n int32, objects ...client.Object) *stage {
	t.Helper()
	set := slicetest.NamedSet("web", map[string]string{"app": "web"})
	set.Generation = 1
	set.Finalizers = []string{api.Finalizer}
	set.Spec.Replicas, set.Spec.ProgressDeadlineSeconds = new(n), new(int32(300))
	set.Spec.UpdateStrategy = api.StatefulSetUpdateStrategy{Type: api.RollingUpdate, RollingUpdate: &api.RollingUpdateStrategy{OnFailure: api.Rollback}}
	set.Spec.Template = corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{
			ReadinessGates: []corev1.PodReadinessGate{{ConditionType: api.InPlaceUpdateReady}},
			Containers:     []corev1.Container{{Name: "web", Image: "a:1"}},
		},
	}
	s := &stage{t: t, step: 2 * time.Second, ctx: t.Context(), clock: testingclock.NewFakePassiveClock(slicetest.Noon), ears: &slicetest.Heard{}, key: client.ObjectKeyFromObject(set)}
	server := serve(t, set, interceptor.Funcs{}, objects...)
	s.server = server
	s.r = newReconciler(interceptor.NewClient(server, clustertest.Before(s.asks)), s.ears, s.clock)
	s.r.Events = s.ears
	return s
}

// asks returns the error of a write, one call at a time. A created pod, claim or revision gets its UID. No write may change the spec of
// the set, which is the user's (Y4).
func (s *stage) asks(verb string, object runtime.Object) error {
	o, one := object.(client.Object)
	if !one || verb == "get" {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, pod := o.(*corev1.Pod)
	if set, is := o.(*api.StatefulSet); is && !equality.Semantic.DeepEqual(set.Spec, s.set().Spec) {
		s.t.Fatalf("%s changes the spec: %+v", verb, set.Spec)
	}
	_, revision := o.(*appsv1.ControllerRevision)
	if _, claim := o.(*corev1.PersistentVolumeClaim); (pod || claim || revision) && verb == "create" {
		s.made++
		o.SetUID(types.UID(fmt.Sprintf("uid-%d", s.made)))
	}
	if s.refuse == nil {
		return nil
	}
	return s.refuse(verb, o)
}

func (s *stage) set() *api.StatefulSet {
	s.t.Helper()
	set := &api.StatefulSet{}
	if err := s.server.Get(s.ctx, s.key, set); err != nil {
		s.t.Fatalf("%v", err)
	}
	return set
}

// change edits the set like a user. The fake API server does not count generations.
func (s *stage) change(edit func(*api.StatefulSetSpec)) {
	s.t.Helper()
	set := s.set()
	set.Generation++
	edit(&set.Spec)
	if err := s.server.Update(s.ctx, set); err != nil {
		s.t.Fatalf("%v", err)
	}
}

// image rolls out another image.
func (s *stage) image(name string) {
	s.t.Helper()
	s.change(func(spec *api.StatefulSetSpec) { spec.Template.Spec.Containers[0].Image = name })
}

// pods returns the pods of the set, by name.
func (s *stage) pods() map[string]*corev1.Pod {
	s.t.Helper()
	var list corev1.PodList
	if err := s.server.List(s.ctx, &list); err != nil {
		s.t.Fatalf("%v", err)
	}
	pods := map[string]*corev1.Pod{}
	for i := range list.Items {
		pods[list.Items[i].Name] = &list.Items[i]
	}
	return pods
}

// kubelets run every pod with an open gate, except those of an image that never becomes Ready.
func (s *stage) kubelets() {
	s.t.Helper()
	for _, pod := range s.pods() {
		ready := corev1.ConditionFalse
		if observe.GateOf(pod) == corev1.ConditionTrue && pod.Spec.Containers[0].Image != "stuck" {
			ready = corev1.ConditionTrue
		}
		if was, _ := observe.Readiness(pod); was == (ready == corev1.ConditionTrue) && pod.Status.Phase != "" || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		pod.Status.Phase = corev1.PodRunning
		conditions := []corev1.PodCondition{{Type: corev1.PodReady, Status: ready, LastTransitionTime: metav1.NewTime(s.clock.Now())}}
		for _, c := range pod.Status.Conditions {
			if c.Type != corev1.PodReady {
				conditions = append(conditions, c)
			}
		}
		pod.Status.Conditions = conditions
		if err := s.server.Status().Update(s.ctx, pod); err != nil {
			s.t.Fatalf("%v", err)
		}
	}
}

// provisioners bind every claim to a volume of the requested size.
func (s *stage) provisioners() {
	s.t.Helper()
	var claims corev1.PersistentVolumeClaimList
	if err := s.server.List(s.ctx, &claims); err != nil {
		s.t.Fatalf("%v", err)
	}
	for i := range claims.Items {
		claim := &claims.Items[i]
		if claim.Status.Phase == corev1.ClaimBound {
			continue
		}
		claim.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound, Capacity: claim.Spec.Resources.Requests}
		if err := s.server.Status().Update(s.ctx, claim); err != nil {
			s.t.Fatalf("%v", err)
		}
	}
}

func (s *stage) pass() (ctrl.Result, error) {
	s.clock.SetTime(s.clock.Now().Add(s.step))
	return s.r.Reconcile(s.ctx, ctrl.Request{NamespacedName: s.key})
}

// passes runs all participants n times, and retries refused writes. It returns the last error.
func (s *stage) passes(n int) (err error) {
	s.t.Helper()
	for range n {
		_, err = s.pass()
		s.provisioners()
		s.kubelets()
	}
	return err
}

func (s *stage) condition(kind string) *metav1.Condition {
	s.t.Helper()
	return meta.FindStatusCondition(s.set().Status.Conditions, kind)
}

// serves returns the number of pods that are Ready and run an image.
func (s *stage) serves(image string) (count int) {
	s.t.Helper()
	for _, pod := range s.pods() {
		if is, _ := observe.Readiness(pod); is && pod.Spec.Containers[0].Image == image {
			count++
		}
	}
	return count
}

var errQuota = apierrors.NewForbidden(corev1.Resource("pods"), "web-1", errors.New("exceeded quota"))

// refusesImage refuses to create pods of an image.
func refusesImage(image string) func(string, client.Object) error {
	return func(verb string, o client.Object) error {
		if pod, is := o.(*corev1.Pod); is && verb == "create" && pod.Spec.Containers[0].Image == image {
			return errQuota
		}
		return nil
	}
}

type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}
