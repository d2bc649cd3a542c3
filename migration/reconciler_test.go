package migration

import (
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/sliceshift/sliceshift/migration/pass"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// TestEnded: a Migration at its end is not driven any more, nor held; its clusters may be
// gone. One that was changed since is looked at, and one that is to run anew is driven.
func TestEnded(t *testing.T) {
	begun := func(m *api.Migration) { m.Status.Baseline = &api.Baseline{} }
	kept := func(m *api.Migration) { m.Finalizers = []string{api.Finalizer} }
	deleted := func(m *api.Migration) { m.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }
	completed := func(reason string) func(*api.Migration) {
		return func(m *api.Migration) {
			m.Status.Conditions = []metav1.Condition{{Type: api.ConditionCompleted, Status: metav1.ConditionTrue, Reason: reason, ObservedGeneration: 1}}
		}
	}
	mode := func(mode api.Mode) func(*api.Migration) { return func(m *api.Migration) { m.Spec.Mode = mode } }
	changed := func(m *api.Migration) { m.Generation++ }
	for name, tc := range map[string]struct {
		are  []func(*api.Migration)
		want bool
	}{
		"new":                               {nil, false},
		"under way":                         {[]func(*api.Migration){begun, kept}, false},
		"moved":                             {[]func(*api.Migration){begun, kept, completed(api.ReasonMoved)}, true},
		"moved, and changed":                {[]func(*api.Migration){begun, completed(api.ReasonMoved), changed}, false},
		"rolled back":                       {[]func(*api.Migration){begun, completed(api.ReasonRolledBack), mode(api.ModeRollback)}, true},
		"rolled back, and paused":           {[]func(*api.Migration){begun, completed(api.ReasonRolledBack), mode(api.ModePause)}, true},
		"rolled back, to run anew":          {[]func(*api.Migration){begun, completed(api.ReasonRolledBack), mode(api.ModeRun)}, false},
		"deleted before it began":           {[]func(*api.Migration){deleted}, true},
		"deleted in mid-move":               {[]func(*api.Migration){begun, kept, deleted}, false},
		"deleted after the end":             {[]func(*api.Migration){begun, kept, completed(api.ReasonMoved), deleted}, true},
		"deleted, with another's finalizer": {[]func(*api.Migration){begun, deleted}, true},
	} {
		t.Run(name, func(t *testing.T) {
			m := &api.Migration{ObjectMeta: metav1.ObjectMeta{Generation: 1}}
			for _, is := range tc.are {
				is(m)
			}
			if got := ended(m); got != tc.want {
				t.Errorf("ended: %t, want %t", got, tc.want)
			}
		})
	}
}

// TestAgain: a Migration that was changed meanwhile is read anew without a word; every other error is told.
func TestAgain(t *testing.T) {
	later := ctrl.Result{RequeueAfter: time.Minute}
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "migrations"}, "web", errors.New("changed"))
	other := errors.New("no answer")
	for name, tc := range map[string]struct {
		err      error
		want     ctrl.Result
		wantsErr bool
	}{
		"well":     {nil, later, false},
		"changed":  {conflict, ctrl.Result{RequeueAfter: pass.RequeueUnobserved}, false},
		"an error": {other, later, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := again(later, tc.err); got != tc.want || (err != nil) != tc.wantsErr {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}
