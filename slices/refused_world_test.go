package slices

import (
	"errors"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/slices/observe"
)

// refusals are permanent refusals of an API server: pods of the image "bad", and those that were drawn.
type refusals struct {
	// victim is a pod that cannot be changed. answer is the error.
	victim string
	answer error
	// prunes is true when no revision can be deleted. statuses is true when no status of a set with a bad image can be
	// written.
	prunes, statuses bool
	// pods is true once a write of a pod was refused.
	pods bool
}

func anyRefusals(t *rapid.T) *refusals {
	return &refusals{
		victim: rapid.SampledFrom([]string{"", "web-0", "web-2"}).Draw(t, "victim"),
		answer: rapid.SampledFrom([]error{errQuota, apierrors.NewConflict(corev1.Resource("pods"), "web-1", errors.New("changed"))}).Draw(t, "answer"),
		prunes: rapid.Bool().Draw(t, "refuses to prune"), statuses: rapid.Bool().Draw(t, "refuses a status"),
	}
}

func (r *refusals) refuse(verb string, o client.Object) error {
	var err error
	switch o := o.(type) {
	case *corev1.Pod:
		err = refusesImage("bad")(verb, o)
		if o.Name == r.victim && (verb == "patch" || verb == "patch status") {
			err = r.answer
		}
		r.pods = r.pods || err != nil && !apierrors.IsConflict(err)
	case *appsv1.ControllerRevision:
		if r.prunes && verb == "delete" {
			err = errQuota
		}
	case *api.StatefulSet:
		if image := o.Spec.Template.Spec.Containers[0].Image; r.statuses && verb == "update status" && (image == "bad" || image == "stuck") {
			err = errQuota
		}
	}
	return err
}

// happen applies one event to a pod. It does nothing if the pod does not exist.
func (s *stage) happen(what, name string) {
	s.t.Helper()
	pod := s.pods()[name]
	if pod == nil {
		return
	}
	var err error
	switch what {
	case "lost":
		err = s.server.Delete(s.ctx, pod)
	case "failed":
		pod.Status.Phase = corev1.PodFailed
		err = s.server.Status().Update(s.ctx, pod)
	case "closed":
		for i := range pod.Status.Conditions {
			pod.Status.Conditions[i].Status = corev1.ConditionFalse
		}
		err = s.server.Status().Update(s.ctx, pod)
	case "spoilt":
		delete(pod.Labels, appsv1.PodIndexLabel)
		err = s.server.Update(s.ctx, pod)
	}
	if err != nil {
		s.t.Fatalf("%v", err)
	}
}

// fault returns the fault of one of n pods except one, or an empty string.
func (s *stage) fault(n int32, except string) string {
	s.t.Helper()
	all := s.pods()
	for ordinal := range n {
		name := observe.PodName("web", ordinal)
		if name == except {
			continue
		}
		pod := all[name]
		if pod == nil {
			return name + " is missing"
		}
		if is, _ := observe.Readiness(pod); !is {
			return fmt.Sprintf("%s does not serve: %s, gate %s", name, pod.Spec.Containers[0].Image, observe.GateOf(pod))
		}
	}
	return ""
}

// TestRefusedWorld: with any permanent refusals, every pod that can be changed serves in the end, with an image that works.
// Refusals for pods are reported.
func TestRefusedWorld(t *testing.T) {
	t.Parallel()
	t.Run("X-01, X-16, X-20, X-21: random refusals, roll-outs and losses", func(t *testing.T) {
		rapid.Check(t, func(rt *rapid.T) {
			const pods = 9
			s, r := newStage(t, pods), anyRefusals(rt)
			s.t = rt
			s.change(func(spec *api.StatefulSetSpec) {
				spec.PodManagementPolicy, spec.RevisionHistoryLimit, spec.ProgressDeadlineSeconds = appsv1.ParallelPodManagement, new(int32), new(int32(60))
				spec.UpdateStrategy.RollingUpdate.MaxUnavailable = new(intstr.FromInt32(5))
			})
			_ = s.passes(5)
			s.refuse = r.refuse
			for range rapid.IntRange(1, 3).Draw(rt, "events") {
				if image := rapid.SampledFrom([]string{"", "b:1", "c:1", "bad", "stuck"}).Draw(rt, "image"); image != "" {
					s.image(image)
				}
				what := rapid.SampledFrom([]string{"lost", "failed", "closed", "spoilt"}).Draw(rt, "what")
				for _, ordinal := range rapid.SliceOfNDistinct(rapid.Int32Range(0, pods-1), 0, pods, rapid.ID).Draw(rt, "of") {
					s.happen(what, observe.PodName("web", ordinal))
				}
				_ = s.passes(rapid.IntRange(0, 5).Draw(rt, "passes"))
			}
			s.step = 20 * time.Second
			fault := "it was not looked at"
			for range 20 {
				r.pods = false
				if _ = s.passes(1); fault == "" {
					break // it was so after the previous pass too
				}
				fault = s.fault(pods, r.victim)
			}
			if fault != "" {
				rt.Fatalf("%s; %+v", fault, r)
			}
			image := s.set().Spec.Template.Spec.Containers[0].Image
			if r.statuses && (image == "bad" || image == "stuck") {
				return // its status cannot be written
			}
			if told := s.condition(api.ConditionFailedCreatePod) != nil || s.condition(api.ConditionFailedUpdatePod) != nil; r.pods && !told {
				rt.Fatalf("nothing is said of what is refused: %+v; %s", r, fmt.Sprint(s.set().Status.Conditions))
			}
		})
	})
}
