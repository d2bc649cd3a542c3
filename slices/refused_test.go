package slices

import (
	"errors"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/slices/internal/slicetest"
)

// TestRefusedRollout: a roll-out that the API server refuses is rolled back at its deadline, like a roll-out whose pods
// never become Ready.
func TestRefusedRollout(t *testing.T) {
	for name, tc := range map[string]struct {
		policy api.PodUpdatePolicy
		refuse func(verb string, o client.Object) error
		// ends is true when the API server refuses nothing any more after that.
		ends bool
	}{
		"X-01 a refused pod does not keep the roll-out from being taken back": {api.ReCreate, refusesImage("b:1"), true},
		"X-01 nor does a refused change in place": {api.InPlaceIfPossible, func(verb string, o client.Object) error {
			if pod, is := o.(*corev1.Pod); is && verb == "patch" && pod.Spec.Containers[0].Image == "b:1" {
				return errQuota
			}
			return nil
		}, true},
		"X-01 nor does a status that cannot be written": {api.ReCreate, func(verb string, o client.Object) error {
			if set, is := o.(*api.StatefulSet); is && verb == "update status" && set.Spec.Template.Spec.Containers[0].Image == "b:1" {
				return errQuota
			}
			return refusesImage("b:1")(verb, o)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, 3)
			s.change(func(spec *api.StatefulSetSpec) { spec.UpdateStrategy.RollingUpdate.PodUpdatePolicy = tc.policy })
			if err := s.passes(20); err != nil || s.serves("a:1") != 3 {
				t.Fatalf("%d pods serve: %v", s.serves("a:1"), err)
			}
			s.refuse = tc.refuse
			s.image("b:1")
			if err := s.passes(200); (err == nil) != tc.ends || s.serves("a:1") != 3 || !s.ears.Has("RolledBack") {
				t.Errorf("%d pods serve: %v; %v", s.serves("a:1"), err, s.ears.Lines)
			}
		})
	}
}

// TestRefusedGrowth: claims that cannot grow are not rolled back, because claims cannot shrink. The template that was
// changed with them is rolled back once.
func TestRefusedGrowth(t *testing.T) {
	for name, image := range map[string]string{"X-01 claims alone": "a:1", "X-01 claims and a template": "b:1"} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, 2)
			grow := func(size, image string) {
				s.change(func(spec *api.StatefulSetSpec) {
					spec.VolumeClaimUpdateStrategy = &api.VolumeClaimUpdateStrategy{Type: api.OnPodRollingUpdate}
					spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{*slicetest.Sized("data", size)}
					spec.Template.Spec.Containers[0].Image = image
				})
			}
			grow("1Gi", "a:1")
			if err := s.passes(10); err != nil || s.serves("a:1") != 2 {
				t.Fatalf("%d pods serve: %v", s.serves("a:1"), err)
			}
			s.refuse = func(verb string, o client.Object) error {
				claim, is := o.(*corev1.PersistentVolumeClaim)
				if is && verb == "patch" && claim.Spec.Resources.Requests.Storage().Cmp(resource.MustParse("1Gi")) > 0 {
					return errQuota
				}
				return nil
			}
			grow("2Gi", image)
			_ = s.passes(500)
			events := slices.DeleteFunc(slices.Clone(s.ears.Lines), func(line string) bool { return !strings.Contains(line, "RolledBack") })
			if want := len(image) - len(strings.TrimPrefix(image, "b")); len(events) != want || s.serves("a:1") != 2 {
				t.Errorf("%d pods serve, want %d roll-backs: %v", s.serves("a:1"), want, events)
			}
			// A revision that has failed is not tried again: what refused it stays in the message.
			kind := map[string]string{"a:1": api.ConditionFailedUpdatePod, "b:1": api.ConditionStalled}[image]
			if c := s.condition(kind); c == nil || !strings.Contains(c.Message, "exceeded quota") {
				t.Errorf("condition %+v", c)
			}
		})
	}
}

// TestHealsBeside: a lost pod is recreated, whatever else is refused meanwhile, for any number of other pods.
func TestHealsBeside(t *testing.T) {
	const pods = 12
	gate := func(verb string, o client.Object) bool { return verb == "patch status" && o.GetName() != "web-11" }
	closeGate := func(pod *corev1.Pod) {
		pod.Status.Conditions = []corev1.PodCondition{{Type: api.InPlaceUpdateReady, Status: corev1.ConditionFalse}}
	}
	for name, tc := range map[string]struct {
		// spoil is applied to all pods except the lost one.
		spoil  func(*corev1.Pod)
		refuse func(verb string, o client.Object) bool
		with   error
		// rolls is true when a roll-out precedes the loss.
		rolls bool
	}{
		"X-20 a revision that cannot be pruned": {
			func(*corev1.Pod) {}, func(verb string, o client.Object) bool {
				_, is := o.(*appsv1.ControllerRevision)
				return is && verb == "delete"
			}, errQuota, true,
		},
		"X-16 gates that cannot be opened": {closeGate, gate, errQuota, false},
		"X-16 gates of pods that change":   {closeGate, gate, apierrors.NewConflict(corev1.Resource("pods"), "web-1", errors.New("changed")), false},
		"X-16 pods that cannot be repaired": {
			func(pod *corev1.Pod) { delete(pod.Labels, appsv1.PodIndexLabel) },
			func(verb string, _ client.Object) bool { return verb == "patch" }, errQuota, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, pods)
			s.change(func(spec *api.StatefulSetSpec) {
				spec.PodManagementPolicy, spec.RevisionHistoryLimit = appsv1.ParallelPodManagement, new(int32)
			})
			if err := s.passes(10); err != nil || s.serves("a:1") != pods {
				t.Fatalf("%d pods serve: %v", s.serves("a:1"), err)
			}
			refused := 0
			s.refuse = func(verb string, o client.Object) error {
				if !tc.refuse(verb, o) {
					return nil
				}
				refused++
				return tc.with
			}
			if tc.rolls {
				s.image("b:1")
				_ = s.passes(100)
			}
			for name, pod := range s.pods() {
				if tc.spoil(pod); name == "web-11" {
					continue
				}
				if err := errors.Join(s.server.Update(s.ctx, pod.DeepCopy()), s.server.Get(s.ctx, client.ObjectKeyFromObject(pod), pod)); err != nil {
					t.Fatal(err)
				}
				if tc.spoil(pod); s.server.Status().Update(s.ctx, pod) != nil {
					t.Fatal("no status")
				}
			}
			lost := s.pods()["web-11"]
			if err := s.server.Delete(s.ctx, lost); err != nil {
				t.Fatal(err)
			}
			_ = s.passes(5)
			now := s.pods()["web-11"]
			if now == nil || now.UID == lost.UID || refused == 0 {
				t.Errorf("it does not come again, and %d writes were refused", refused)
			}
		})
	}
}
