package migration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/pdb"
)

// TestChangedInMidMove: what the preflight would have refused is not let past the gate in
// mid-move either. The wait is over when the cause is gone.
func TestChangedInMidMove(t *testing.T) {
	c := scenario{replicas: 3, templates: []string{"data"}, budget: maxUnavailable(1)}
	for name, tc := range map[string]struct {
		change func(s *Snapshot)
		reason string
		says   string
	}{
		"the source's template":             {func(s *Snapshot) { s.Template = TemplateChange{Fields: "spec.template.spec", Hash: "h"} }, api.ReasonDestinationDiffers, "spec.template.spec"},
		"the source's budget covers others": {func(s *Snapshot) { s.Source.Budgets[0].Covers = "job-1" }, api.ReasonBudgetCoversOthers, "job-1"},
		"the destination's budget does":     {func(s *Snapshot) { s.Destination.Budgets[0].Covers = "job-2" }, api.ReasonBudgetCoversOthers, "job-2"},
		"a slice is replaced at once": {func(s *Snapshot) {
			s.Source.Set.RolledOut, s.Source.Set.Rolls.AllAtOnce = false, true
		}, api.ReasonRolloutInProgress, "Recreate"},
		"scale-downs delete claims": {func(s *Snapshot) { s.Source.Set.DeletesClaims = true }, api.ReasonClaimsDeletedOnScale, "whenScaled: Delete"},
	} {
		t.Run(name, func(t *testing.T) {
			y := newPlay(t, c)
			y.until(ScaleDown, 2)
			tc.change(&y.state)
			y.version++
			y.writes(enough)
			hold := y.next().Hold
			if hold == nil || !hold.Stalled || hold.Reason != tc.reason || !strings.Contains(hold.Message, tc.says) || hold.Remedy == "" {
				t.Fatalf("got %+v, want to be stalled by %s and told %q", hold, tc.reason, tc.says)
			}
			y.state.Template = TemplateChange{}
			for _, side := range []*Side{&y.state.Source, &y.state.Destination} {
				side.Budgets[0].Covers, side.Set.DeletesClaims, side.Set.RolledOut = "", false, true
			}
			y.version++
			y.end()
		})
	}
}

// TestTemplateChangedOnTheWayBack: a rollback is asked for when the new template is what
// went wrong.
func TestTemplateChangedOnTheWayBack(t *testing.T) {
	y := newPlay(t, scenario{replicas: 3, budget: maxUnavailable(1)})
	y.until(ScaleDown, 2)
	y.state.Template = TemplateChange{Fields: "spec.template.spec", Hash: "h"}
	y.state.Spec.Mode = api.ModeRollback
	y.version++
	y.until(ScaleDown, 1)
}

// TestBudgetThatCannotBeMade: the source's budget is gone before the destination has one,
// or its name is taken there. It stalls, and says so; an ordinal that is down comes first.
func TestBudgetThatCannotBeMade(t *testing.T) {
	c := scenario{replicas: 3, budget: maxUnavailable(1)}
	for name, tc := range map[string]struct {
		change func(s *Snapshot)
		says   string
	}{
		"gone":            {func(s *Snapshot) { s.Source.Budgets, s.Destination.Budgets = nil, nil }, "does not exist any more"},
		"of another name": {func(s *Snapshot) { s.Source.Budgets[0].Name = "another"; s.Destination.Budgets = nil }, "does not exist any more"},
		"its name is taken": {func(s *Snapshot) {
			s.Destination.Budgets, s.Destination.OtherBudgets = nil, []string{s.Source.Budgets[0].Name}
		}, "needs its name"},
	} {
		t.Run(name, func(t *testing.T) {
			y := newPlay(t, c)
			y.until(ScaleDown, 2)
			tc.change(&y.state)
			s := y.p.through(y.snapshot())
			s.Record = y.state.Record
			if hold := Plan(s).Hold; hold == nil || !hold.Stalled || hold.Reason != api.ReasonForeignBudget || !strings.Contains(hold.Message, tc.says) {
				t.Errorf("got %+v, want to be stalled and told %q", hold, tc.says)
			}
			y = newPlay(t, c)
			y.until(ScaleDown, 1)
			y.pass(lands)
			tc.change(&y.state)
			y.version++
			y.until(ScaleUp, 1)
		})
	}
}

// TestBudgetFollowsTheRollOut: between two handoffs the slice that rolls out has the budget,
// for its controller evicts. A roll-out of the destination once waited for ever.
func TestBudgetFollowsTheRollOut(t *testing.T) {
	for moved := 1; moved < 3; moved++ {
		t.Run(fmt.Sprintf("%d of 3 moved", moved), func(t *testing.T) { budgetFollows(t, moved) })
	}
}

func budgetFollows(t *testing.T, moved int) {
	t.Helper()
	y := newPlay(t, scenario{replicas: 3, budget: maxUnavailable(1)})
	y.until(ScaleDown, moved+1)
	rollOut := func(source, destination bool) {
		y.state.Source.Set.RolledOut, y.state.Destination.Set.RolledOut = !source, !destination
		y.version++
		y.writes(enough)
		if hold := y.next().Hold; hold == nil || hold.Reason != api.ReasonRolloutInProgress {
			t.Fatalf("got %+v, want to wait for the roll-out", hold)
		}
	}
	allows := func(side Side) int32 {
		allowed, err := pdb.Budget(side.Budgets[0].Form, side.Set.Replicas)
		if err != nil {
			t.Fatal(err)
		}
		return allowed
	}
	for _, at := range []struct{ source, destination bool }{{true, true}, {false, true}, {true, false}} {
		rollOut(at.source, at.destination)
		have := pdb.Share{Source: allows(y.state.Source), Destination: allows(y.state.Destination)}
		want := pdb.Share{Source: 1}
		if !at.source {
			want = pdb.Share{Destination: 1}
		}
		if have != want {
			t.Errorf("rolling out at the source: %t, at the destination: %t: the budgets allow %+v, want %+v", at.source, at.destination, have, want)
		}
	}
	y.state.Source.Set.RolledOut, y.state.Destination.Set.RolledOut = true, true
	y.version++
	y.end()
}

// TestTemplateChange: a destination that its cluster rewrote, or that its owner changed,
// is none; one that lacks what the source has got since is.
func TestTemplateChange(t *testing.T) {
	set := func(image string, annotations map[string]string) *appsv1.StatefulSet {
		return &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Annotations: annotations}, Spec: appsv1.StatefulSetSpec{
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: image}}}},
		}}
	}
	copyOf := func(image string) map[string]string {
		return map[string]string{api.TemplateAnnotationKey: templateHash(&set(image, nil).Spec.Template)}
	}
	for name, tc := range map[string]struct {
		source, destination *appsv1.StatefulSet
		want                string
	}{
		"no destination yet":               {set("web:1", nil), nil, ""},
		"the same":                         {set("web:1", nil), set("web:1", nil), ""},
		"rewritten where it was made":      {set("web:1", nil), set("mirror/web:1", copyOf("web:1")), ""},
		"changed at the source":            {set("web:2", nil), set("web:1", copyOf("web:1")), "spec.template.spec.containers[0].image"},
		"changed on both sides":            {set("web:2", nil), set("web:2", copyOf("web:1")), ""},
		"changed, in another form":         {set("web:2", nil), set("mirror/web:2", copyOf("web:2")), ""},
		"not made here, and not the same":  {set("web:2", nil), set("web:1", nil), "spec.template.spec.containers[0].image"},
		"changed at the destination alone": {set("web:1", nil), set("web:2", copyOf("web:1")), ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := templateChange(tc.source, tc.destination); got.Fields != tc.want {
				t.Errorf("got %+v, want %q", got, tc.want)
			}
		})
	}
}

// TestStranger: a budget over pods of neither slice is told, but not for those that have
// run to their end.
func TestStranger(t *testing.T) {
	pod := func(name string, phase corev1.PodPhase) corev1.Pod {
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "web"}}, Status: corev1.PodStatus{Phase: phase}}
	}
	budget := policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: policyv1.PodDisruptionBudgetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, MaxUnavailable: new(intstr.FromInt32(1)),
	}}
	other := *budget.DeepCopy()
	other.Name, other.Spec.Selector.MatchLabels["app"] = "other", "other"
	for name, tc := range map[string]struct {
		pods    []corev1.Pod
		sibling string
		want    string
	}{
		"its own":                {pods: []corev1.Pod{pod("web-0", corev1.PodRunning), pod("web-7", corev1.PodRunning)}},
		"its sibling's":          {pods: []corev1.Pod{pod("web-next-0", corev1.PodRunning)}, sibling: "web-next"},
		"another set's":          {pods: []corev1.Pod{pod("web-next-0", corev1.PodRunning)}, want: "web-next-0"},
		"a Job's that has ended": {pods: []corev1.Pod{pod("seed", corev1.PodSucceeded), pod("broken", corev1.PodFailed)}},
		"a Deployment's":         {pods: []corev1.Pod{pod("web-0", corev1.PodRunning), pod("web-5d9c7b-x2x2x", corev1.PodPending)}, want: "web-5d9c7b-x2x2x"},
	} {
		t.Run(name, func(t *testing.T) {
			f := &found{place: place{set: "web"}, sibling: tc.sibling, pods: tc.pods, budgets: []policyv1.PodDisruptionBudget{budget, other}, labels: map[string]string{"app": "web"}}
			budgets, others := budgetsOf(&api.Migration{}, f)
			if len(budgets) != 1 || budgets[0].Covers != tc.want || len(others) != 1 || others[0] != "other" {
				t.Errorf("got %+v and %v, want one that covers %q", budgets, others, tc.want)
			}
		})
	}
}

// TestDisruptedPodThatCameBack: the disruption controller knows an evicted pod by its name,
// for up to two minutes. The one that has come back under it is not taken for it.
func TestDisruptedPodThatCameBack(t *testing.T) {
	granted := metav1.Unix(100, 0)
	for name, tc := range map[string]struct {
		created, now int64
		marked       bool
		want         int
	}{
		"the one that was meant":                       {created: 50, now: 101, want: 1},
		"the same, after a while":                      {created: 50, now: 200, want: 1},
		"one that came after":                          {created: 101, now: 102, want: 0},
		"one that came after, and is evicted, too":     {created: 101, now: 102, marked: true, want: 1},
		"one of the same second, a moment later":       {created: 100, now: 101, want: 1},
		"one of the same second, after a while":        {created: 100, now: 111, want: 0},
		"one of the same second that is being evicted": {created: 100, now: 111, marked: true, want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-0", CreationTimestamp: metav1.Unix(tc.created, 0)}}
			if tc.marked {
				pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}}
			}
			budget := &policyv1.PodDisruptionBudget{Status: policyv1.PodDisruptionBudgetStatus{DisruptedPods: map[string]metav1.Time{"web-0": granted}}}
			f := &found{pods: []corev1.Pod{pod}, now: time.Unix(tc.now, 0)}
			if got := f.disrupted(budget); len(got) != tc.want {
				t.Errorf("got %v, want %d", got, tc.want)
			}
			f.pods = nil
			if got := f.disrupted(budget); len(got) != 1 {
				t.Errorf("a pod that is gone: %v", got)
			}
		})
	}
}
