package engine

import (
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/waitertest"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// waited is a Migration in one state, with the verdict of tools that wait for it.
type waited struct {
	migration *api.Migration
	state     api.State
	kstatus   status.Status
	argo      string
}

// inState renders a decision about a Migration of generation 2.
func inState(mode api.Mode, handoff bool, decision plan.Decision) *api.Migration {
	m := &api.Migration{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Generation: 2}}
	m.Spec.Source.Name, m.Spec.Mode = "web", mode
	m.Status.Baseline, m.Status.Total = &api.Baseline{Replicas: 5}, 5
	if handoff {
		m.Status.Handoff = &api.Handoff{Ordinal: 4, Step: api.StepCarryVolumes}
	}
	render(m, plan.Snapshot{Spec: plan.Spec{Mode: mode}}, decision)
	return m
}

// everyState returns a Migration in each state.
func everyState() map[string]waited {
	stall := plan.Stalled(api.ReasonForeignScale, "somebody has scaled it", "stop that")
	wait := func(reason string) plan.Decision {
		return plan.Decision{Hold: &plan.Hold{Reason: reason, Message: "waiting for it"}}
	}
	created := &api.Migration{ObjectMeta: metav1.ObjectMeta{Generation: 1}, Status: api.MigrationStatus{ObservedGeneration: -1}} // the default of the definition
	refused := &api.Migration{ObjectMeta: metav1.ObjectMeta{Generation: 1}}
	render(refused, plan.Snapshot{}, *stall)
	changed := inState(api.ModeRun, false, plan.Decision{Done: api.ReasonRolledBack})
	changed.Generation = 3
	deleted := inState(api.ModeRun, true, plan.Decision{})
	deleted.DeletionTimestamp = &metav1.Time{Time: metav1.Now().Time}
	removing := inState(api.ModeRun, false, plan.Decision{})
	applyRecord(removing, plan.Record{Baseline: removing.Status.Baseline, Completed: api.ReasonMoved})
	render(removing, plan.Snapshot{}, plan.Decision{})
	returning := inState(api.ModeRun, false, plan.Decision{Done: api.ReasonMoved})
	returning.Spec.Mode = api.ModeRollback
	applyRecord(returning, plan.Record{Baseline: returning.Status.Baseline})
	render(returning, plan.Snapshot{Spec: plan.Spec{Mode: api.ModeRollback}}, plan.Decision{})
	cleaned := inState(api.ModeRun, false, plan.Decision{Done: api.ReasonMoved})
	cleaned.DeletionTimestamp = deleted.DeletionTimestamp
	unreadable := inState(api.ModeRun, false, *plan.Stalled(api.ReasonFieldUnreadable, "spec.x cannot be read", "write it"))
	return map[string]waited{
		"created":               {created, "", status.InProgressStatus, "Progressing"},
		"waiting in line":       {inState(api.ModeRun, false, wait(api.ReasonQueued)), "Moving", status.InProgressStatus, "Progressing"},
		"outside of its window": {inState(api.ModeRun, false, wait(api.ReasonOutsideWindow)), "Waiting", status.InProgressStatus, "Progressing"},
		"moving":                {inState(api.ModeRun, true, plan.Decision{}), "Moving", status.InProgressStatus, "Progressing"},
		"between two":           {inState(api.ModeRun, false, plan.Decision{}), "Moving", status.InProgressStatus, "Progressing"},
		"pausing":               {inState(api.ModePause, true, plan.Decision{}), "Pausing", status.InProgressStatus, "Progressing"},
		"paused":                {inState(api.ModePause, false, wait(api.ReasonPaused)), "Paused", status.InProgressStatus, "Suspended"},
		"stalled":               {inState(api.ModeRun, true, *stall), "Stalled", status.FailedStatus, "Degraded"},
		"refused":               {refused, "Refused", status.FailedStatus, "Degraded"},
		"invalid":               {unreadable, "Stalled", status.FailedStatus, "Degraded"},
		"paused and stalled":    {inState(api.ModePause, false, *stall), "Stalled", status.FailedStatus, "Degraded"},
		"removing its marks":    {removing, "Moving", status.InProgressStatus, "Progressing"},
		"going back after all":  {returning, "RollingBack", status.InProgressStatus, "Progressing"},
		"a hook runs":           {inState(api.ModeRun, true, wait(api.ReasonHookRunning)), "Moving", status.InProgressStatus, "Progressing"},
		"going back":            {inState(api.ModeRollback, true, plan.Decision{}), "RollingBack", status.InProgressStatus, "Progressing"},
		"recovering":            {inState(api.ModeRecover, true, plan.Decision{}), "Recovering", status.InProgressStatus, "Progressing"},
		"moved":                 {inState(api.ModeRun, false, plan.Decision{Done: api.ReasonMoved}), "Moved", status.CurrentStatus, "Healthy"},
		"rolled back":           {inState(api.ModeRollback, false, plan.Decision{Done: api.ReasonRolledBack}), "RolledBack", status.InProgressStatus, "Degraded"},
		"recovered":             {inState(api.ModeRecover, false, plan.Decision{Done: api.ReasonRecovered}), "Recovered", status.InProgressStatus, "Degraded"},
		"released":              {inState(api.ModeRun, false, plan.Decision{Done: api.ReasonReleased}), "Released", status.InProgressStatus, "Degraded"},
		"changed since":         {changed, "RolledBack", status.InProgressStatus, "Progressing"},
		"being deleted":         {deleted, "Moving", status.TerminatingStatus, "Progressing"},
		"moved, being deleted":  {cleaned, "Moved", status.TerminatingStatus, "Progressing"},
	}
}

// migrationScript is the health script of Argo CD.
const migrationScript = "../../config/argocd/migration-health.lua"

// asObject returns a Migration as tools read it.
func asObject(t waitertest.Failer, m *api.Migration) map[string]any {
	t.Helper()
	return waitertest.Content(t, api.GroupVersion.WithKind("Migration"), m)
}

// TestY14Waiters: for kstatus, which Flux and Helm use, and for Argo CD, a Migration is done only once every
// requested ordinal is at the destination. In any other state no later action begins, such as removing the old
// cluster.
func TestY14Waiters(t *testing.T) {
	script := waitertest.Script(t, migrationScript)
	for name, tc := range everyState() {
		t.Run(name, func(t *testing.T) {
			object := asObject(t, tc.migration)
			if judged := waitertest.Kstatus(t, object); judged != tc.kstatus {
				t.Errorf("kstatus: %s, want %s", judged, tc.kstatus)
			}
			if health, message := waitertest.ArgoHealth(t, script, object); health != tc.argo || message == "" {
				t.Errorf("Argo CD: %s (%s), want %s", health, message, tc.argo)
			}
			if got := tc.migration.Status.State; got != tc.state {
				t.Errorf("state %q, want %q", got, tc.state)
			}
			if tc.state != "" && (tc.migration.Status.Now == "" || tc.migration.Status.Progress != "0/5" && tc.state != "Refused") {
				t.Errorf("now %q, progress %q", tc.migration.Status.Now, tc.migration.Status.Progress)
			}
		})
	}
}

// TestY14NothingBeginsEarly: whatever a Migration has decided before, kstatus and Argo CD take it for done only when it has
// completed by moving, and for failed when it is stalled, or, for Argo CD, when it has ended otherwise.
func TestY14NothingBeginsEarly(t *testing.T) {
	script := waitertest.Script(t, migrationScript)
	ends := []string{api.ReasonMoved, api.ReasonRolledBack, api.ReasonRecovered, api.ReasonReleased}
	rapid.Check(t, func(t *rapid.T) {
		mode := func() api.Mode {
			return rapid.SampledFrom([]api.Mode{"", api.ModeRun, api.ModePause, api.ModeRollback, api.ModeRecover}).Draw(t, "mode")
		}
		decision := func() (d plan.Decision) {
			switch rapid.SampledFrom([]string{"acts", "waits", "stalled", "done"}).Draw(t, "decision") {
			case "waits":
				reasons := []string{api.ReasonQueued, api.ReasonPaused, api.ReasonOutsideWindow, api.ReasonPodNotReady, api.ReasonHookRunning}
				d.Hold = &plan.Hold{Reason: rapid.SampledFrom(reasons).Draw(t, "reason"), Message: "waiting for it"}
			case "stalled":
				d = *plan.Stalled(api.ReasonForeignScale, "another writer has scaled it", "stop that")
			case "done":
				d.Done = rapid.SampledFrom(ends).Draw(t, "end")
			}
			return d
		}
		m := inState(mode(), rapid.Bool().Draw(t, "handoff"), decision())
		m.Generation++
		m.Spec.Mode = mode()
		last := decision()
		record := plan.Record{Baseline: m.Status.Baseline, Handoff: m.Status.Handoff, Completed: last.Done}
		if last.Done != "" {
			record.Handoff = nil
		}
		applyRecord(m, record)
		render(m, plan.Snapshot{Spec: plan.Spec{Mode: m.Spec.Mode}}, last)
		judged, object := status.InProgressStatus, asObject(t, m)
		health := "Progressing"
		switch stalled := last.Hold != nil && last.Hold.Stalled; {
		case last.Done == api.ReasonMoved:
			judged, health = status.CurrentStatus, "Healthy"
		case last.Done != "":
			health = "Degraded"
		case stalled:
			judged, health = status.FailedStatus, "Degraded"
		case m.Spec.Mode == api.ModePause && m.Status.Handoff == nil:
			health = "Suspended"
		}
		if got := waitertest.Kstatus(t, object); got != judged {
			t.Fatalf("kstatus: %s, want %s: %+v", got, judged, m.Status.Conditions)
		}
		if got, _ := waitertest.ArgoHealth(t, script, object); got != health {
			t.Fatalf("Argo CD: %s, want %s: %+v", got, health, m.Status.Conditions)
		}
	})
}
