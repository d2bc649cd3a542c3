package slices

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/waitertest"
	"github.com/sliceshift/sliceshift/slices/observe"
)

// config returns ConfigMap shop/app with a value.
func config(value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "app"}, Data: map[string]string{"value": value}}
}

// readsConfig makes ConfigMap app a revision input, which pods read.
func readsConfig(spec *api.StatefulSetSpec) {
	spec.Template.Spec.Containers[0].EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "app"}}}}
	spec.RevisionInputs = []api.RevisionInput{{Kind: api.InputConfigMap, Name: "app"}}
}

// configure writes a value to the ConfigMap.
func (s *stage) configure(value string) {
	s.t.Helper()
	err := s.server.Update(s.ctx, config(value))
	if apierrors.IsNotFound(err) {
		err = s.server.Create(s.ctx, config(value))
	}
	if err != nil {
		s.t.Fatalf("%v", err)
	}
}

// reads returns the values that the pods read, by their ordinals.
func (s *stage) reads() string {
	s.t.Helper()
	var values []string
	for ordinal := range int32(9) {
		pod := s.pods()[observe.PodName(s.key.Name, ordinal)]
		if pod == nil {
			continue
		}
		found, value := &corev1.ConfigMap{}, "-"
		if err := s.server.Get(s.ctx, client.ObjectKey{Namespace: s.key.Namespace, Name: pod.Spec.Containers[0].EnvFrom[0].ConfigMapRef.Name}, found); err == nil {
			value = found.Data["value"]
		}
		values = append(values, value)
	}
	return strings.Join(values, " ")
}

// collectCopies deletes the copies whose revisions do not exist, like the garbage collector, and returns the number of the others.
func (s *stage) collectCopies() (left int) {
	s.t.Helper()
	var copies corev1.ConfigMapList
	if err := s.server.List(s.ctx, &copies, client.HasLabels{api.InputCopyLabelKey}); err != nil {
		s.t.Fatalf("%v", err)
	}
	for i := range copies.Items {
		owned := false
		for _, owner := range copies.Items[i].OwnerReferences {
			var revision appsv1.ControllerRevision
			err := s.server.Get(s.ctx, client.ObjectKey{Namespace: s.key.Namespace, Name: owner.Name}, &revision)
			owned = owned || err == nil && revision.UID == owner.UID
		}
		if owned {
			left++
		} else if err := s.server.Delete(s.ctx, &copies.Items[i]); err != nil {
			s.t.Fatalf("%v", err)
		}
	}
	return left
}

// withConfig returns a stage whose pods read ConfigMap app with the value 1.
func withConfig(t *testing.T, replicas int32, edits ...func(*api.StatefulSetSpec)) *stage {
	t.Helper()
	s := newStage(t, replicas)
	s.configure("1")
	s.change(readsConfig)
	for _, edit := range edits {
		s.change(edit)
	}
	if err := s.passes(12); err != nil || s.reads() != strings.TrimSpace(strings.Repeat("1 ", int(replicas))) {
		t.Fatalf("the pods read %s: %v; %+v", s.reads(), err, s.set().Status.Conditions)
	}
	return s
}

// TestRevisionInputsRollOut: a change of a ConfigMap is rolled out like a change of the template, within the partition and only
// while the set is not paused.
func TestRevisionInputsRollOut(t *testing.T) {
	s := withConfig(t, 3)
	first := s.set().Status.UpdateRevision
	result, err := s.pass()
	if err != nil || result.RequeueAfter != inputsEvery {
		t.Errorf("it looks again after %s: %v", result.RequeueAfter, err)
	}
	s.change(func(spec *api.StatefulSetSpec) { spec.UpdateStrategy.RollingUpdate.Partition = new(int32(1)) })
	s.configure("2")
	if err := s.passes(10); err != nil || s.reads() != "1 2 2" {
		t.Fatalf("the pods read %s: %v", s.reads(), err)
	}
	s.happen("lost", "web-0")
	if err := s.passes(5); err != nil || s.reads() != "1 2 2" {
		t.Errorf("a pod below the partition was recreated: the pods read %s: %v", s.reads(), err)
	}
	s.change(func(spec *api.StatefulSetSpec) { spec.Paused = true; spec.UpdateStrategy.RollingUpdate.Partition = nil })
	s.configure("3")
	if err := s.passes(5); err != nil || s.reads() != "1 2 2" {
		t.Errorf("while it is paused, the pods read %s: %v", s.reads(), err)
	}
	s.change(func(spec *api.StatefulSetSpec) { spec.Paused = false })
	if err := s.passes(12); err != nil || s.reads() != "3 3 3" {
		t.Errorf("the pods read %s: %v", s.reads(), err)
	}
	s.configure("1")
	if err := s.passes(12); err != nil || s.reads() != "1 1 1" || s.set().Status.UpdateRevision != first {
		t.Errorf("back: the pods read %s at %s: %v", s.reads(), s.set().Status.UpdateRevision, err)
	}
	if left := s.collectCopies(); left != 3 {
		t.Errorf("%d copies are left", left)
	}
	s.change(func(spec *api.StatefulSetSpec) { spec.RevisionHistoryLimit = new(int32(0)) })
	if err := s.passes(3); err != nil || s.collectCopies() != 1 || s.reads() != "1 1 1" {
		t.Errorf("%d copies are left, and the pods read %s: %v", s.collectCopies(), s.reads(), err)
	}
}

// TestRevisionInputsOvertaken: a ConfigMap that changes during a roll-out is rolled out instead, like another template.
func TestRevisionInputsOvertaken(t *testing.T) {
	s := withConfig(t, 3)
	s.configure("2")
	for range 20 {
		if s.reads() == "1 1 2" {
			break
		}
		if err := s.passes(1); err != nil {
			t.Fatal(err)
		}
	}
	s.configure("3")
	if err := s.passes(1); err != nil || strings.Count(s.reads(), "2") > 1 {
		t.Errorf("the pods read %s: %v", s.reads(), err)
	}
	if err := s.passes(12); err != nil || s.reads() != "3 3 3" {
		t.Errorf("the pods read %s: %v", s.reads(), err)
	}
}

// TestRevisionInputsRollBack: a roll-out that fails because of a content is rolled back to the former content, although the
// ConfigMap keeps the new one. Another content is rolled out.
func TestRevisionInputsRollBack(t *testing.T) {
	s := withConfig(t, 2)
	s.step = 20 * time.Second
	s.configure("2")
	s.change(func(spec *api.StatefulSetSpec) { spec.Template.Spec.Containers[0].Image = "stuck" })
	if err := s.passes(30); err != nil || s.reads() != "1 1" || s.set().Status.FailedRevision == "" {
		t.Fatalf("the pods read %s, failed revision %q: %v", s.reads(), s.set().Status.FailedRevision, err)
	}
	s.configure("3")
	s.change(func(spec *api.StatefulSetSpec) { spec.Template.Spec.Containers[0].Image = "a:1" })
	if err := s.passes(12); err != nil || s.reads() != "3 3" || s.set().Status.FailedRevision != "" {
		t.Errorf("the pods read %s, failed revision %q: %v", s.reads(), s.set().Status.FailedRevision, err)
	}
}

// TestRevisionInputsUndone: a content that was rolled back is replaced until the ConfigMap changes.
func TestRevisionInputsUndone(t *testing.T) {
	s := withConfig(t, 2)
	s.configure("2")
	if err := s.passes(10); err != nil || s.reads() != "2 2" {
		t.Fatalf("the pods read %s: %v", s.reads(), err)
	}
	seen := observe.ReadInputs(s.ctx, s.server, s.set())
	s.configure("1")
	former := observe.ReadInputs(s.ctx, s.server, s.set())
	s.configure("2")
	s.change(func(spec *api.StatefulSetSpec) {
		spec.RevisionInputs[0].RolledBack = &api.RolledBackInput{From: seen.Records[0].Content, To: former.Records[0].Content}
	})
	if err := s.passes(10); err != nil || s.reads() != "1 1" || s.condition(api.ConditionReady).Status != metav1.ConditionTrue {
		t.Errorf("the pods read %s: %v", s.reads(), err)
	}
	s.configure("3")
	if err := s.passes(10); err != nil || s.reads() != "3 3" {
		t.Errorf("the pods read %s: %v", s.reads(), err)
	}
}

// blocked checks that the set waits for an input, and says so.
func (s *stage) blocked(t *testing.T, message string, want status.Status) {
	t.Helper()
	ready := s.condition(api.ConditionReady)
	if ready == nil || ready.Status != metav1.ConditionFalse || ready.Reason != api.ReasonRevisionInput || !strings.Contains(ready.Message, message) {
		t.Errorf("condition %+v, want %q", ready, message)
	}
	if got := waitertest.Kstatus(t, asObject(t, s.set())); got != want {
		t.Errorf("%s, want %s: %+v", got, want, s.set().Status.Conditions)
	}
	if !s.ears.Has(api.ReasonRevisionInput) {
		t.Errorf("no event: %v", s.ears.Lines)
	}
}

// TestRevisionInputsMissing: a set without its input creates no pod. One that loses its input keeps its pods, recreates lost ones
// with the copy, and fails after the deadline, even after a restart of the controller.
func TestRevisionInputsMissing(t *testing.T) {
	s := newStage(t, 2)
	s.change(readsConfig)
	if err := s.passes(2); err != nil || len(s.pods()) > 0 {
		t.Fatalf("%d pods: %v", len(s.pods()), err)
	}
	s.blocked(t, "no pod is created: ConfigMap app does not exist: create it", status.InProgressStatus)
	if result, err := s.pass(); err != nil || result.RequeueAfter != inputsAgain {
		t.Errorf("it looks again after %s: %v", result.RequeueAfter, err)
	}
	s.step = 200 * time.Second
	if err := s.passes(2); err != nil {
		t.Error(err)
	}
	s.blocked(t, "no pod is created", status.FailedStatus)
	s.step = 2 * time.Second
	s.configure("1")
	if err := s.passes(10); err != nil || s.reads() != "1 1" {
		t.Fatalf("the pods read %s: %v", s.reads(), err)
	}
	if err := s.server.Delete(s.ctx, config("")); err != nil {
		t.Fatal(err)
	}
	s.image("a:2")
	s.happen("lost", "web-0")
	if err := s.passes(5); err != nil || s.reads() != "1 1" || s.serves("a:1") != 2 {
		t.Errorf("the pods read %s, and %d serve: %v", s.reads(), s.serves("a:1"), err)
	}
	s.blocked(t, "no pod is updated: ConfigMap app does not exist", status.InProgressStatus)
	s.r.memory = map[client.ObjectKey]memory{} // another process
	s.step = 200 * time.Second
	if err := s.passes(2); err != nil {
		t.Error(err)
	}
	s.blocked(t, "no pod is updated", status.FailedStatus)
	if s.set().Status.FailedRevision != "" || s.serves("a:1") != 2 {
		t.Errorf("failed revision %q, %d pods serve", s.set().Status.FailedRevision, s.serves("a:1"))
	}
	s.step = 2 * time.Second
	s.configure("2")
	if err := s.passes(10); err != nil || s.reads() != "2 2" || s.serves("a:2") != 2 || s.condition(api.ConditionReady).Status != metav1.ConditionTrue {
		t.Errorf("the pods read %s, and %d serve: %v; %+v", s.reads(), s.serves("a:2"), err, s.condition(api.ConditionReady))
	}
}

// TestRevisionInputsRefused: where the API server refuses reads or copies of inputs, no pod is deleted, and the update revision is
// the former one. The roll-out continues when they are granted.
func TestRevisionInputsRefused(t *testing.T) {
	refused := apierrors.NewForbidden(corev1.Resource("configmaps"), "app", errors.New("no"))
	taken := func(s *stage) {
		content := observe.ReadInputs(s.ctx, s.server, s.set()).Records[0]
		if err := s.server.Create(s.ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: content.Copy()}}); err != nil {
			s.t.Fatalf("%v", err)
		}
	}
	free := func(s *stage) {
		content := observe.ReadInputs(s.ctx, s.server, s.set()).Records[0]
		if err := s.server.Delete(s.ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: content.Copy()}}); err != nil {
			s.t.Fatalf("%v", err)
		}
	}
	forbid := func(s *stage) {
		s.refuse = func(verb string, o client.Object) error {
			if _, is := o.(*corev1.ConfigMap); is && verb == "create" {
				return refused
			}
			return nil
		}
	}
	allow := func(s *stage) { s.refuse = nil }
	for name, tc := range map[string]struct {
		before, after func(*stage)
		message       string
	}{
		"the copy is forbidden": {forbid, allow, "bind the ClusterRole sliceshift-revision-inputs"},
		"the name is taken":     {taken, free, "cannot be the copy of ConfigMap app"},
	} {
		t.Run(name, func(t *testing.T) {
			s := withConfig(t, 2)
			former := s.set().Status.UpdateRevision
			s.configure("2")
			tc.before(s)
			s.happen("lost", "web-1")
			if err := s.passes(6); err != nil || s.reads() != "1 1" || s.set().Status.UpdateRevision != former {
				t.Errorf("the pods read %s at %s: %v", s.reads(), s.set().Status.UpdateRevision, err)
			}
			s.blocked(t, tc.message, status.InProgressStatus)
			tc.after(s)
			if err := s.passes(10); err != nil || s.reads() != "2 2" {
				t.Errorf("the pods read %s: %v", s.reads(), err)
			}
		})
	}
}

// TestRevisionInputsLost: where a user deletes a copy, it is created again while the ConfigMap has its content. Otherwise no pod
// is updated, and the message names the copy.
func TestRevisionInputsLost(t *testing.T) {
	s := withConfig(t, 2)
	lose := func() {
		var copies corev1.ConfigMapList
		if err := s.server.List(s.ctx, &copies, client.HasLabels{api.InputCopyLabelKey}); err != nil {
			t.Fatal(err)
		}
		for i := range copies.Items {
			if err := s.server.Delete(s.ctx, &copies.Items[i]); err != nil {
				t.Fatal(err)
			}
		}
	}
	lose()
	if err := s.passes(2); err != nil || s.reads() != "1 1" {
		t.Errorf("the pods read %s: %v", s.reads(), err)
	}
	s.change(func(spec *api.StatefulSetSpec) { spec.Paused = true })
	s.configure("2")
	if err := s.passes(2); err != nil {
		t.Fatal(err)
	}
	if err := s.server.Delete(s.ctx, config("")); err != nil {
		t.Fatal(err)
	}
	lose()
	s.change(func(spec *api.StatefulSetSpec) { spec.Paused = false })
	if err := s.passes(3); err != nil || len(s.pods()) != 2 {
		t.Errorf("%d pods: %v", len(s.pods()), err)
	}
	s.blocked(t, "ConfigMap app does not exist", status.InProgressStatus)
}

// TestRevisionInputsShared: two sets that read one ConfigMap share a copy, which stays while one of them needs it.
func TestRevisionInputsShared(t *testing.T) {
	s := withConfig(t, 1)
	other := s.set()
	other.ObjectMeta = metav1.ObjectMeta{Namespace: "shop", Name: "db", UID: "uid-of-db", Generation: 1}
	other.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}
	other.Spec.Template.Labels = map[string]string{"app": "db"}
	other.Status = api.StatefulSetStatus{}
	if err := s.server.Create(s.ctx, other); err != nil {
		t.Fatal(err)
	}
	web := s.key
	s.key = client.ObjectKeyFromObject(other)
	if err := s.passes(4); err != nil || s.reads() != "1" || s.collectCopies() != 1 {
		t.Fatalf("the pods read %s: %v", s.reads(), err)
	}
	var copies corev1.ConfigMapList
	if err := s.server.List(s.ctx, &copies, client.HasLabels{api.InputCopyLabelKey}); err != nil || len(copies.Items[0].OwnerReferences) != 2 {
		t.Fatalf("%+v, %v", copies.Items, err)
	}
	if err := s.server.DeleteAllOf(s.ctx, &appsv1.ControllerRevision{}, client.InNamespace("shop"), client.MatchingLabels{"app": "db"}); err != nil {
		t.Fatal(err)
	}
	s.key = web
	if s.collectCopies() != 1 || s.reads() != "1" {
		t.Errorf("the pods read %s", s.reads())
	}
}

// TestRevisionInputsWorld: after any changes of the template, the ConfigMap and the strategy, with lost pods and refused writes,
// every pod reads a content that its revision has recorded, and in the end that of the ConfigMap. No copy is lost that a pod reads.
func TestRevisionInputsWorld(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := newStage(t, 2)
		s.t = rt
		s.configure("1")
		s.change(func(spec *api.StatefulSetSpec) {
			readsConfig(spec)
			spec.RevisionHistoryLimit = new(rapid.Int32Range(0, 2).Draw(rt, "limit"))
			if rapid.Bool().Draw(rt, "parallel") {
				spec.PodManagementPolicy = appsv1.ParallelPodManagement
			}
		})
		check := func() {
			s.collectCopies()
			for name, pod := range s.pods() {
				if from := pod.Spec.Containers[0].EnvFrom[0].ConfigMapRef.Name; from == "app" {
					rt.Fatalf("%s reads the ConfigMap itself", name)
				}
			}
			if strings.Contains(s.reads(), "-") {
				rt.Fatalf("a copy is lost: the pods read %s; %+v", s.reads(), s.set().Status)
			}
		}
		for range rapid.IntRange(1, 8).Draw(rt, "steps") {
			s.anyStepOfInputs(rt)
			_ = s.passes(1) // a refused write is an error
			check()
		}
		s.refuse = nil
		s.configure("9")
		s.change(func(spec *api.StatefulSetSpec) { spec.UpdateStrategy.RollingUpdate.Partition = nil })
		err := s.passes(15)
		check()
		if err != nil || s.reads() != "9 9" || s.condition(api.ConditionReady).Status != metav1.ConditionTrue {
			rt.Fatalf("the pods read %s: %v; %+v", s.reads(), err, s.set().Status)
		}
	})
}

// anyStepOfInputs changes the template, the ConfigMap, the strategy, the pods or the controller.
func (s *stage) anyStepOfInputs(rt *rapid.T) {
	switch rapid.SampledFrom([]string{"value", "image", "partition", "lost", "delete", "refuse", "restart", "pass", "pass"}).Draw(rt, "step") {
	case "value":
		s.configure(strconv.Itoa(rapid.IntRange(1, 3).Draw(rt, "value")))
	case "image":
		s.image(fmt.Sprint("a:", rapid.IntRange(1, 2).Draw(rt, "image")))
	case "partition":
		s.change(func(spec *api.StatefulSetSpec) {
			spec.UpdateStrategy.RollingUpdate.Partition = new(rapid.Int32Range(0, 2).Draw(rt, "partition"))
		})
	case "lost":
		if s.pods()["web-1"] != nil {
			s.happen("lost", "web-1")
		}
	case "delete":
		_ = s.server.Delete(s.ctx, config("")) // it may not exist
	case "refuse":
		refuses := rapid.Bool().Draw(rt, "refuses")
		s.refuse = func(verb string, o client.Object) error {
			if _, is := o.(*corev1.ConfigMap); is && refuses && verb != "get" {
				return errQuota
			}
			return nil
		}
	case "restart":
		s.r.memory = map[client.ObjectKey]memory{}
	case "pass":
		_ = s.passes(rapid.IntRange(1, 3).Draw(rt, "passes"))
	}
}
