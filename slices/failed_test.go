package slices

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/waitertest"
)

// failing returns a stage whose roll-out to the image "stuck" has failed, and whose pods run the former image.
func failing(t *testing.T, replicas int32, edits ...func(*api.StatefulSetSpec)) *stage {
	t.Helper()
	s := newStage(t, replicas)
	for _, edit := range edits {
		s.change(edit)
	}
	if err := s.passes(10); err != nil || s.serves("a:1") != int(replicas) {
		t.Fatalf("%d pods serve: %v", s.serves("a:1"), err)
	}
	s.step = 20 * time.Second
	s.image("stuck")
	if err := s.passes(30); err != nil {
		t.Fatal(err)
	}
	s.held(t, int(replicas))
	return s
}

// held checks that the failed revision is remembered, that every pod serves with the former image, and that the template is
// the user's.
func (s *stage) held(t *testing.T, replicas int) {
	t.Helper()
	set := s.set()
	if s.serves("a:1") != replicas || len(s.pods()) != replicas {
		t.Errorf("%d of %d pods serve, want %d", s.serves("a:1"), len(s.pods()), replicas)
	}
	if image := set.Spec.Template.Spec.Containers[0].Image; image != "stuck" {
		t.Errorf("the template has image %s", image)
	}
	if set.Status.FailedRevision == "" || set.Status.FailedRevision != set.Status.UpdateRevision || set.Status.CurrentRevision == set.Status.UpdateRevision {
		t.Errorf("failed %q, current %q, update %q", set.Status.FailedRevision, set.Status.CurrentRevision, set.Status.UpdateRevision)
	}
	stalled := s.condition(api.ConditionStalled)
	if stalled == nil || stalled.Reason != api.ReasonRevisionFailed || !strings.Contains(stalled.Message, set.Status.FailedRevision) || !strings.Contains(stalled.Message, "is not Ready") {
		t.Errorf("condition %+v", stalled)
	}
	if got := waitertest.Kstatus(t, asObject(t, set)); got != status.FailedStatus {
		t.Errorf("%s, want Failed: %+v", got, set.Status.Conditions)
	}
	agree(t, set.Status)
	of := map[string]string{"namespace": s.key.Namespace, "name": s.key.Name}
	if got := measured(t, of); got["is stalled"] != 1 || got["is failed"] != 1 || got["is ready"] != 0 {
		t.Errorf("metrics %v", got)
	}
}

// rolledBack counts the events of roll-outs that were taken back.
func (s *stage) rolledBack() (count int) {
	for _, line := range s.ears.Lines {
		if strings.Contains(line, "RolledBack:") {
			count++
		}
	}
	return count
}

// settles checks that every pod serves with an image, and that no revision is remembered as failed.
func (s *stage) settles(t *testing.T, image string, replicas int) {
	t.Helper()
	if err := s.passes(20); err != nil || s.serves(image) != replicas {
		t.Errorf("%d pods serve: %v", s.serves(image), err)
	}
	set := s.set()
	if set.Status.FailedRevision != "" || set.Status.CurrentRevision != set.Status.UpdateRevision || waitertest.Kstatus(t, asObject(t, set)) != status.CurrentStatus {
		t.Errorf("failed %q, %+v", set.Status.FailedRevision, set.Status.Conditions)
	}
}

// TestY4FailedRevisionIsRemembered: with onFailure: Rollback the failed revision is remembered in the status, and the pods
// are kept at the current revision until the template changes, whatever else happens.
func TestY4FailedRevisionIsRemembered(t *testing.T) {
	uids := func(s *stage) map[string]string {
		all := map[string]string{}
		for name, pod := range s.pods() {
			all[name] = string(pod.UID)
		}
		return all
	}
	for name, happens := range map[string]func(s *stage){
		"nothing": func(*stage) {},
		"a GitOps tool applies the failed template again": func(s *stage) {
			for range 9 {
				s.image("stuck")
				_ = s.passes(3)
			}
		},
		"another controller": func(s *stage) { s.succeeds() },
		"a pod is lost":      func(s *stage) { s.happen("lost", "web-1") },
		"a pod fails":        func(s *stage) { s.happen("failed", "web-0") },
		"it is paused":       func(s *stage) { s.change(func(spec *api.StatefulSetSpec) { spec.Paused = true }) },
		"a partition": func(s *stage) {
			s.change(func(spec *api.StatefulSetSpec) { spec.UpdateStrategy.RollingUpdate.Partition = new(int32(1)) })
		},
		"another deadline": func(s *stage) {
			s.change(func(spec *api.StatefulSetSpec) { spec.ProgressDeadlineSeconds = new(int32(0)) })
		},
		"another strategy": func(s *stage) {
			s.change(func(spec *api.StatefulSetSpec) {
				spec.UpdateStrategy = api.StatefulSetUpdateStrategy{Type: api.Recreate, Recreate: &api.RecreateStrategy{OnFailure: api.Rollback}}
			})
		},
		"no revision is kept": func(s *stage) {
			s.change(func(spec *api.StatefulSetSpec) { spec.RevisionHistoryLimit = new(int32(0)) })
		},
		"metadata": func(s *stage) {
			set := s.set()
			set.Annotations = map[string]string{"team": "x"}
			if err := s.server.Update(s.ctx, set); err != nil {
				s.t.Fatalf("%v", err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := failing(t, 3)
			before, failed := uids(s), s.set().Status.FailedRevision
			happens(s)
			_ = s.passes(30)
			s.held(t, 3)
			if s.set().Status.FailedRevision != failed || s.rolledBack() != 1 {
				t.Errorf("%q has failed, then %q; taken back %d times", failed, s.set().Status.FailedRevision, s.rolledBack())
			}
			if name == "nothing" && !equality.Semantic.DeepEqual(before, uids(s)) {
				t.Error("pods were replaced for nothing")
			}
		})
	}
}

// TestY4ScaledWhileFailed: new pods get the current revision.
func TestY4ScaledWhileFailed(t *testing.T) {
	s := failing(t, 2)
	s.change(func(spec *api.StatefulSetSpec) { spec.Replicas = new(int32(4)) })
	_ = s.passes(30)
	s.held(t, 4)
	s.change(func(spec *api.StatefulSetSpec) { spec.Replicas = new(int32(1)) })
	_ = s.passes(30)
	s.held(t, 1)
}

// TestY4Cleared: another template, the former one, or another onFailure clears the failed revision.
func TestY4Cleared(t *testing.T) {
	t.Run("another template", func(t *testing.T) {
		s := failing(t, 3)
		s.image("b:1")
		s.settles(t, "b:1", 3)
	})
	t.Run("the template of the current revision", func(t *testing.T) {
		s := failing(t, 3)
		before := s.pods()
		s.image("a:1")
		s.settles(t, "a:1", 3)
		for name, pod := range s.pods() {
			if pod.UID != before[name].UID {
				t.Errorf("pod %s was replaced", name)
			}
		}
	})
	t.Run("another one that fails, too", func(t *testing.T) {
		s := failing(t, 3)
		s.change(func(spec *api.StatefulSetSpec) { spec.Template.Annotations = map[string]string{"attempt": "2"} })
		_ = s.passes(30)
		s.held(t, 3)
		if s.rolledBack() != 2 {
			t.Errorf("taken back %d times", s.rolledBack())
		}
		s.image("b:1")
		s.settles(t, "b:1", 3)
	})
	t.Run("onFailure: Halt tries it again", func(t *testing.T) {
		s := failing(t, 3)
		s.change(func(spec *api.StatefulSetSpec) { spec.UpdateStrategy.RollingUpdate.OnFailure = api.Halt })
		_ = s.passes(20)
		if set := s.set(); set.Status.FailedRevision != "" || s.serves("a:1") != 2 {
			t.Errorf("failed %q, %d pods serve", set.Status.FailedRevision, s.serves("a:1"))
		}
	})
}

// TestY4StatusIsRefused: a failed roll-out is taken back although its status cannot be written, and remembered once it can.
func TestY4StatusIsRefused(t *testing.T) {
	for name, answer := range map[string]error{
		"X-19 by a policy":   errQuota,
		"X-19 as a conflict": apierrors.NewConflict(api.GroupVersion.WithResource("statefulsets").GroupResource(), "web", errors.New("changed")),
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, 2)
			if err := s.passes(10); err != nil || s.serves("a:1") != 2 {
				t.Fatalf("%d pods serve: %v", s.serves("a:1"), err)
			}
			s.refuse = func(verb string, o client.Object) error {
				if set, is := o.(*api.StatefulSet); is && verb == "update status" && set.Spec.Template.Spec.Containers[0].Image == "stuck" {
					return answer
				}
				return nil
			}
			s.step = 20 * time.Second
			s.image("stuck")
			if _ = s.passes(30); s.serves("a:1") != 2 || s.set().Status.FailedRevision != "" {
				t.Errorf("%d pods serve, failed %q", s.serves("a:1"), s.set().Status.FailedRevision)
			}
			s.refuse = nil
			_ = s.passes(10)
			s.held(t, 2)
			if s.rolledBack() != 1 {
				t.Errorf("taken back %d times", s.rolledBack())
			}
		})
	}
}

// TestY4RestartBeforeItFails: another controller continues the deadline of a pod that is late, and not that of a roll-out
// that was held.
func TestY4RestartBeforeItFails(t *testing.T) {
	s := newStage(t, 3)
	if err := s.passes(10); err != nil {
		t.Fatal(err)
	}
	s.step = 10 * time.Second
	s.image("stuck")
	for range 8 {
		_ = s.passes(4) // 40 s, of a deadline of 300
		s.succeeds()
	}
	_ = s.passes(6)
	s.held(t, 3)
}

// TestY4FormerResourceDefinition: an API server whose resource definition lacks status.failedRevision drops it. The pods
// return nevertheless, and one event says so.
func TestY4FormerResourceDefinition(t *testing.T) {
	s := newStage(t, 2)
	if err := s.passes(10); err != nil {
		t.Fatal(err)
	}
	s.refuse = func(verb string, o client.Object) error {
		if set, is := o.(*api.StatefulSet); is && verb == "update status" {
			set.Status.FailedRevision = ""
		}
		return nil
	}
	s.step = 20 * time.Second
	s.image("stuck")
	if err := s.passes(30); err != nil || s.serves("a:1") != 2 || s.rolledBack() != 1 {
		t.Errorf("%d pods serve, taken back %d times: %v", s.serves("a:1"), s.rolledBack(), err)
	}
	if stalled := s.condition(api.ConditionStalled); stalled == nil || stalled.Reason != api.ReasonRevisionFailed {
		t.Errorf("condition %+v", stalled)
	}
}
