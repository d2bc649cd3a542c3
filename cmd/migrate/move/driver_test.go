package move

import (
	"errors"
	"strings"
	"testing"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/commandtest"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/drain"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/movetest"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/progress"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/migration/engine"
	"github.com/sliceshift/sliceshift/migration/plan"
)

func newDriver(t *testing.T, m *api.Migration) (*driver, *commandtest.Console) {
	t.Helper()
	c := newConsole("run", "web", "--to-context", "west")
	common := command.NewCommon(c.Environment)
	between := &task{source: movetest.Offline(t, "east"), destination: movetest.Offline(t, "west"), store: records.ConfigMap{Namespace: "shop", Name: "web"}}
	return &driver{
		Common: common, task: between, tracker: progress.NewTracker(commandtest.Noon, m), display: progress.NewDisplay(common, progress.Format{}, progress.Steering{}), writes: &drain.Writes{}, mode: api.ModeRun,
	}, c
}

// TestReport: which results of a pass end a run, and with which exit code.
func TestReport(t *testing.T) {
	stalled := func(reason string) plan.Decision {
		return plan.Decision{Hold: &plan.Hold{Reason: reason, Message: "it is so", Remedy: "mend it", Stalled: true}}
	}
	for name, tc := range map[string]struct {
		decision    plan.Decision
		exitOnStall bool
		unbegun     bool
		asked       api.Mode
		turn        *api.AutomaticRollback
		done        bool
		want        int
		wantErr     string
	}{
		"a write":                      {want: 0},
		"a wait":                       {decision: plan.Decision{Hold: &plan.Hold{Reason: api.ReasonPodNotReady}}, exitOnStall: true},
		"a stall is waited for":        {decision: stalled(api.ReasonPodNotReady)},
		"a stall ends it":              {decision: stalled(api.ReasonPodNotReady), exitOnStall: true, want: 3, wantErr: "stalled: PodNotReady"},
		"refused after the preflight":  {decision: stalled(api.ReasonSourceNotHealthy), unbegun: true, want: 3, wantErr: "nothing has been changed"},
		"unreachable before the start": {decision: stalled(api.ReasonClusterUnreachable), unbegun: true},
		"superseded":                   {decision: stalled(api.ReasonSuperseded), want: 1, wantErr: "migrate status web"},
		"moved":                        {decision: plan.Decision{Done: api.ReasonMoved}, done: true},
		"turned round meanwhile":       {decision: plan.Decision{Done: api.ReasonRolledBack}, done: true, want: 1, wantErr: "Rollback meanwhile"},
		"turned back by itself": {
			decision: plan.Decision{Done: api.ReasonRolledBack}, turn: &api.AutomaticRollback{By: "gate db", Message: "it has failed"}, done: true,
			want: 1, wantErr: "rolled back, as onFailure of gate db says: it has failed",
		},
		"rolled back as asked": {decision: plan.Decision{Done: api.ReasonRolledBack}, done: true, asked: api.ModeRollback},
		"too late to roll back": {
			decision: plan.Decision{Done: api.ReasonMoved, Hold: &plan.Hold{Reason: api.ReasonAlreadyCompleted, Message: "too late", Remedy: "go the other way"}},
			done:     true, want: 1, wantErr: "too late; go the other way",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := movetest.Moving(1, 2)
			if tc.unbegun {
				m.Status.Baseline = nil
			}
			d, _ := newDriver(t, m)
			d.exitOnStall = tc.exitOnStall
			if tc.asked != "" {
				d.mode = tc.asked
			}
			err := d.report(m, engine.Outcome{Snapshot: plan.Snapshot{Record: plan.Record{AutomaticRollback: tc.turn}}, Decision: tc.decision, Done: tc.done, Saved: true})
			if got := command.ExitCode(err); got != tc.want {
				t.Errorf("exit code %d, want %d (%v)", got, tc.want, err)
			}
			if tc.wantErr != "" && !strings.Contains(err.Error(), tc.wantErr) {
				t.Errorf("error %q, want %q", err, tc.wantErr)
			}
		})
	}
}

// TestWayBackIsTold: a completed run prints how to move back, with the flags for both clusters and for the methods. A
// run that has rolled back does not.
func TestWayBackIsTold(t *testing.T) {
	m := movetest.Completed()
	m.Status.Baseline.SourceCluster, m.Status.Baseline.DestinationCluster = "cluster-east", "cluster-west"
	m.Spec.Volumes = []api.VolumeSpec{{ClaimTemplate: "data", Method: api.MethodCopy, Copy: api.CopySpec{Image: "m", ServiceType: "LoadBalancer"}}}
	for done, want := range map[string]string{
		api.ReasonMoved: "to take it back, move it the other way: migrate plan web -n shop --kubeconfig w --context west --to-kubeconfig e --to-context east " +
			"--volume data=copy,image=m,service=load-balancer\n",
		api.ReasonRolledBack: "",
	} {
		d, c := newDriver(t, m)
		d.task.source.ReachedBy("--kubeconfig e --context east")
		d.task.destination = movetest.Offline(t, "west").ReachedBy("--kubeconfig w --context west")
		_ = d.report(m, engine.Outcome{Decision: plan.Decision{Done: done}, Done: true, Saved: true})
		if got := c.Stdout.String(); !strings.Contains(got, want) || want == "" && strings.Contains(got, "to take it back") {
			t.Errorf("%s: no %q in:\n%s", done, want, got)
		}
	}
}

// TestUnsaved: while the record cannot be written, the engine reports nothing, so the run reports it.
func TestUnsaved(t *testing.T) {
	m := movetest.Moving(1, 2)
	d, c := newDriver(t, m)
	outcome := engine.Outcome{}
	unsaved := func(err error) {
		t.Helper()
		if err := d.unsaved(m, outcome, err); err != nil {
			t.Errorf("the run ends: %v", err)
		}
	}
	unsaved(drain.ErrStopping)
	if c.Stdout.Len() > 0 {
		t.Errorf("it was told to end, and says: %s", c.Stdout)
	}
	unsaved(errors.New("connection refused"))
	unsaved(errors.New("connection reset"))
	want := "    0.0s       STALLED (ClusterUnreachable) cluster east: the record cannot be written: connection refused\n" +
		"               what to do: check the cluster and the kubeconfig; no side is changed until the record is written\n"
	if got := c.Stdout.String(); got != want {
		t.Errorf("told %q, want %q", got, want)
	}
	c.Stdout.Reset()
	outcome.Decision.Hold = &plan.Hold{Stalled: true, Reason: api.ReasonClusterUnreachable, Message: "cluster west cannot be read: gone", Remedy: "start it"}
	unsaved(errors.New("connection reset"))
	if got := c.Stdout.String(); !strings.Contains(got, "cluster west cannot be read: gone\n") || !strings.Contains(got, "what to do: start it") {
		t.Errorf("told %q", got)
	}
	d.exitOnStall = true
	if err := d.unsaved(m, outcome, errors.New("connection reset")); command.ExitCode(err) != command.ExitStalled {
		t.Errorf("--exit-on-stall: %v", err)
	}
}

// TestEndedEarly: a run that is stopped prints how to continue.
func TestEndedEarly(t *testing.T) {
	for name, tc := range map[string]struct {
		err      error
		want     int
		wantHint bool
	}{
		"done":        {nil, 0, false},
		"interrupted": {command.ErrInterrupted, 1, true},
		"timeout":     {command.TimeoutError(1), 4, true},
		"stalled":     {command.Refusedf("stalled: PodNotReady"), 3, true},
		"an error":    {errors.New("the record is gone"), 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			d, c := newDriver(t, movetest.Moving(1, 2))
			err := d.finish(tc.err)
			if got := command.ExitCode(err); got != tc.want {
				t.Errorf("exit code %d, want %d", got, tc.want)
			}
			hint := err != nil && strings.Contains(err.Error(), "to go on: migrate run web --to-context west")
			if hint != tc.wantHint || strings.Contains(c.Stdout.String(), "stopped: 1 of 2 ordinals are moved") != tc.wantHint {
				t.Errorf("error %v, output %q", err, c.Stdout)
			}
		})
	}
}
