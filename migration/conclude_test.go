package migration

import (
	"context"
	"errors"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/migration/plan"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// TestRefusedAgainAndAgain: an object that has changed is judged again at once, and without
// a word; what is refused again and again has a reason, and is tried further (G9).
func TestRefusedAgainAndAgain(t *testing.T) {
	namespaces := corev1.Resource("namespaces")
	sets := appsv1.Resource("statefulsets")
	for name, tc := range map[string]struct {
		answer error
		reason string
		says   string
	}{
		"its namespace is gone":   {apierrors.NewNotFound(namespaces, "shop"), api.ReasonNamespaceMissing, `namespaces "shop" not found`},
		"the object is gone":      {apierrors.NewNotFound(sets, "web"), api.ReasonWriteRefused, `"web" not found`},
		"somebody writes all day": {apierrors.NewConflict(sets, "web", errors.New("modified")), api.ReasonWriteRefused, "modified"},
		"it exists and is unseen": {apierrors.NewAlreadyExists(sets, "web"), api.ReasonWriteRefused, "already exists"},
	} {
		t.Run(name, func(t *testing.T) {
			refuses := true
			live := fake.NewClientBuilder().WithScheme(clusters.NewScheme()).WithInterceptorFuncs(interceptor.Funcs{
				Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
					if refuses {
						return tc.answer
					}
					return nil
				},
			}).Build()
			e := &Engine{clock: clock.RealClock{}, source: place{side: plan.SourceSide, cluster: "east", namespace: "shop", set: "web", live: live}}
			try := func() (plan.Decision, Outcome) {
				outcome := Outcome{}
				decision := plan.Decision{Effect: &plan.Effect{Verb: plan.ScaleDown, Side: plan.SourceSide, Name: "web"}}
				return e.effect(t.Context(), &api.Migration{}, plan.Snapshot{}, decision, &outcome), outcome
			}
			for range refusedOften - 1 {
				if decision, outcome := try(); decision.Hold != nil || outcome.Wrote || outcome.Again == 0 {
					t.Fatalf("an ordinary conflict: %+v, again after %s", decision.Hold, outcome.Again)
				}
			}
			for range 2 {
				decision, _ := try()
				hold := decision.Hold
				if hold == nil || !hold.Stalled || hold.Reason != tc.reason || !strings.Contains(hold.Message, tc.says) || !strings.Contains(hold.Message, "cluster east") || hold.Remedy == "" {
					t.Fatalf("got %+v, want %s that says %q", hold, tc.reason, tc.says)
				}
				if after := again(decision); after != againRefused {
					t.Errorf("it is tried again after %s", after)
				}
			}
			refuses = false
			if decision, outcome := try(); decision.Hold != nil || !outcome.Wrote {
				t.Errorf("it does not go on: %+v", decision)
			}
			refuses = true
			if decision, _ := try(); decision.Hold != nil {
				t.Errorf("the first one after that is no ordinary conflict: %+v", decision.Hold)
			}
		})
	}
	if refusedAs(&apierrors.StatusError{}) != api.ReasonWriteRefused {
		t.Error("an answer without details")
	}
}

// TestLacksRight: to bind a role helps only where a right is missing.
func TestLacksRight(t *testing.T) {
	sets, claims := appsv1.Resource("statefulsets"), corev1.Resource("persistentvolumeclaims")
	for text, want := range map[string]bool{
		`User "system:serviceaccount:shop:mover" cannot patch resource "statefulsets" in API group "apps" in the namespace "shop"`: true,
		`ValidatingAdmissionPolicy 'frozen' with binding 'frozen' denied request: no changes on Fridays`:                           false,
	} {
		if got := lacksRight(apierrors.NewForbidden(sets, "web", errors.New(text))); got != want {
			t.Errorf("%s: got %t", text, got)
		}
	}
	if lacksRight(apierrors.NewForbidden(claims, "data-web-0", errors.New("exceeded quota: small, requested: 1, used: 2, limited: 2"))) {
		t.Error("a quota is no right")
	}
	if lacksRight(apierrors.NewConflict(sets, "web", errors.New(`User "x" cannot`))) {
		t.Error("a conflict is no right")
	}
}
