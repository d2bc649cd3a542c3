package slices

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/slices/internal/slicetest"
	"github.com/sliceshift/sliceshift/slices/observe"
)

// errResize returns the API server's error for a resize: one that the node can never do, or one that may succeed later.
func errResize(cause metav1.CauseType) error {
	err := apierrors.NewForbidden(corev1.Resource("pods"), "web-1", errors.New("node didn't have enough allocatable resources: cpu"))
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{Type: cause})
	return err
}

// refusedResize returns a set whose resize the API server refuses, and the UIDs of its pods.
func refusedResize(t *testing.T, policy api.PodUpdatePolicy, refusal error) (*stage, map[string]types.UID) {
	t.Helper()
	s := newStage(t, 2)
	s.change(func(spec *api.StatefulSetSpec) {
		spec.UpdateStrategy.RollingUpdate.PodUpdatePolicy = policy
		spec.Template.Spec.Containers[0].Resources = slicetest.Requests(corev1.ResourceCPU, "1")
	})
	if err := s.passes(10); err != nil {
		t.Fatal(err)
	}
	uids := map[string]types.UID{}
	for name, pod := range s.pods() {
		uids[name] = pod.UID
	}
	s.refuse = func(verb string, _ client.Object) error {
		if verb == "patch resize" {
			return refusal
		}
		return nil
	}
	s.change(func(spec *api.StatefulSetSpec) {
		spec.Template.Spec.Containers[0].Resources = slicetest.Requests(corev1.ResourceCPU, "100")
	})
	return s, uids
}

// TestRefusedResize: a resize that the API server reports as impossible is treated like one that the kubelet reports as
// infeasible.
func TestRefusedResize(t *testing.T) {
	invalid := apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Pod").GroupKind(), "web-1", nil)
	for name, refusal := range map[string]error{"X-05 by its node": errResize("NodeCapacity"), "X-05 by its platform": errResize("UnsupportedPlatform"), "X-05 by its rules": invalid} {
		t.Run(name+", InPlaceOnly: held, and it serves", func(t *testing.T) {
			s, before := refusedResize(t, api.InPlaceOnly, refusal)
			if err := s.passes(20); err != nil {
				t.Fatal(err)
			}
			held := s.condition(api.ConditionHeld)
			if held == nil || held.Status != metav1.ConditionTrue || !strings.Contains(held.Message, "web-1: spec.template.spec.containers[].resources cannot be changed in place") {
				t.Errorf("held: %+v", held)
			}
			pods := s.pods()
			for name, uid := range before {
				if is, _ := observe.Readiness(pods[name]); !is || pods[name].UID != uid {
					t.Errorf("%s does not go on: %+v", name, pods[name].Status)
				}
			}
			if observe.InPlaceOf(pods["web-0"]) != nil {
				t.Error("the roll-out went on")
			}
			s.change(func(spec *api.StatefulSetSpec) {
				spec.Template.Spec.Containers[0].Resources = slicetest.Requests(corev1.ResourceCPU, "1")
			})
			if err := s.passes(20); err != nil || observe.InPlaceOf(s.pods()["web-1"]) != nil {
				t.Errorf("taken back: %v, note %+v", err, observe.InPlaceOf(s.pods()["web-1"]))
			}
		})
		t.Run(name+", InPlaceIfPossible: made anew", func(t *testing.T) {
			s, before := refusedResize(t, api.InPlaceIfPossible, refusal)
			if err := s.passes(60); err != nil {
				t.Fatal(err)
			}
			for name, pod := range s.pods() {
				if is, _ := observe.Readiness(pod); !is || pod.UID == before[name] || pod.Spec.Containers[0].Resources.Requests.Cpu().Value() != 100 {
					t.Errorf("%s was not made anew", name)
				}
			}
		})
	}
}

// TestResizeRefusedForNow: a resize that may succeed later is retried.
func TestResizeRefusedForNow(t *testing.T) {
	t.Run("X-05 for now: it is asked for again", func(t *testing.T) {
		s, before := refusedResize(t, api.InPlaceIfPossible, errQuota)
		if err := s.passes(20); err == nil {
			t.Error("no refusal is told")
		}
		if now := s.pods()["web-1"]; now.UID != before["web-1"] || s.condition(api.ConditionFailedUpdatePod) == nil {
			t.Errorf("conditions %+v", s.set().Status.Conditions)
		}
	})
}
