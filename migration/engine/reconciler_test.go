package engine

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/planner"
)

// TestEnded: a Migration that has ended is neither driven nor held, and its clusters may have been deleted. One
// that was changed since is checked, and one that has to run again is driven.
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
	byItself := func(m *api.Migration) { m.Status.AutomaticRollback = &api.AutomaticRollback{By: "gate db"} }
	for name, tc := range map[string]struct {
		are  []func(*api.Migration)
		want bool
	}{
		"new":                                 {nil, false},
		"under way":                           {[]func(*api.Migration){begun, kept}, false},
		"moved":                               {[]func(*api.Migration){begun, kept, completed(api.ReasonMoved)}, true},
		"moved, and changed":                  {[]func(*api.Migration){begun, completed(api.ReasonMoved), changed}, false},
		"rolled back":                         {[]func(*api.Migration){begun, completed(api.ReasonRolledBack), mode(api.ModeRollback)}, true},
		"rolled back, and paused":             {[]func(*api.Migration){begun, completed(api.ReasonRolledBack), mode(api.ModePause)}, true},
		"rolled back, to run anew":            {[]func(*api.Migration){begun, completed(api.ReasonRolledBack), mode(api.ModeRun)}, false},
		"rolled back by itself, written back": {[]func(*api.Migration){begun, completed(api.ReasonRolledBack), mode(api.ModeRun), byItself}, true},
		"deleted before it began":             {[]func(*api.Migration){deleted}, true},
		"deleted in mid-move":                 {[]func(*api.Migration){begun, kept, deleted}, false},
		"deleted after the end":               {[]func(*api.Migration){begun, kept, completed(api.ReasonMoved), deleted}, true},
		"deleted, with another's finalizer":   {[]func(*api.Migration){begun, deleted}, true},
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

// TestConnectedWhileDeleted: a Migration that is deleted with its namespace starts its ordinal over its open
// connections, although its Secret was deleted at once. One that is not being deleted, or whose Secret has
// another kubeconfig, is reconnected.
func TestConnectedWhileDeleted(t *testing.T) {
	deleted := func(m *api.Migration) { m.DeletionTimestamp, m.Finalizers = new(metav1.Now()), []string{api.Finalizer} }
	gone := func(*corev1.Secret) bool { return false }
	other := func(s *corev1.Secret) bool {
		s.Data["value"] = []byte(strings.ReplaceAll(westKubeconfig, "west.invalid", "other.invalid"))
		return true
	}
	unfit := func(s *corev1.Secret) bool { s.Data["value"] = []byte("what?"); return true }
	same := func(*corev1.Secret) bool { return true }
	for name, tc := range map[string]struct {
		is     func(*api.Migration)
		secret func(*corev1.Secret) bool
		want   bool
		says   string
	}{
		"deleted, its Secret as it was":      {deleted, same, false, ""},
		"deleted, its Secret gone":           {deleted, gone, false, "remove the finalizer"},
		"deleted, its Secret another":        {deleted, other, true, ""},
		"deleted, its Secret cannot be used": {deleted, unfit, true, ""},
		"under way, its Secret as it was":    {hasBegun, same, false, ""},
		"under way, its Secret gone":         {hasBegun, gone, true, "in cluster local: kubectl create secret"},
		"under way, its Secret another":      {hasBegun, other, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d, m := newDesk(t), west("a", 1, hasBegun, tc.is)
			from, to, err := d.Connector.keys(t.Context(), m)
			if err != nil {
				t.Fatal(err)
			}
			secret := &corev1.Secret{}
			if err := d.Client.Get(t.Context(), named("west"), secret); err != nil {
				t.Fatal(err)
			}
			write := d.Client.Update
			if !tc.secret(secret) {
				write = func(ctx context.Context, o client.Object, _ ...client.UpdateOption) error {
					return d.Client.Delete(ctx, o)
				}
			}
			if err := write(t.Context(), secret); err != nil {
				t.Fatal(err)
			}
			connected := &driven{uid: m.UID, source: link{key: from}, destination: link{key: to}, checked: time.Now(), generation: m.Generation - 1}
			if got := d.outdated(t.Context(), m, connected); got != tc.want {
				t.Errorf("connected anew: %t", got)
			}
			if got := d.cannotReturn(t.Context(), m); got != (tc.want == false && tc.says != "") {
				t.Errorf("it cannot return: %t", got)
			}
			_, _, err = d.Connector.keys(t.Context(), m)
			if refused, is := errors.AsType[*refusal](err); tc.says != "" && (!is || !strings.Contains(refused.hold.Remedy, tc.says)) {
				t.Errorf("it says %v", err)
			}
		})
	}
}

// TestAgain: a conflict is retried without an error; every other error is returned.
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
		"changed":  {conflict, ctrl.Result{RequeueAfter: planner.RequeueUnobserved}, false},
		"an error": {other, later, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := again(later, tc.err); got != tc.want || (err != nil) != tc.wantsErr {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}
