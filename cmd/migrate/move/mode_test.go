package move

import (
	"context"
	"testing"

	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/commandtest"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/movetest"
	"github.com/sliceshift/sliceshift/internal/records"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// TestSteering runs the verbs that read and steer a migration against the record of
// a run in a cluster without the resource definition.
func TestSteering(t *testing.T) {
	elsewhere := movetest.InFlight()
	elsewhere.Annotations = map[string]string{records.DestinationAnnotationKey: "cluster-west"}
	for name, tc := range map[string]struct {
		args     []string
		record   *api.Migration
		want     int
		wantOut  string
		wantErr  string
		wantMode api.Mode
	}{
		"pause":                   {[]string{"pause", "web"}, movetest.InMode(api.ModeRun), 0, "migration shop/web paused\n", "", api.ModePause},
		"pause with its kind":     {[]string{"pause", "migration/web"}, movetest.InMode(api.ModeRun), 0, "migration shop/web paused\n", "", api.ModePause},
		"pause twice":             {[]string{"pause", "web"}, movetest.InMode(api.ModePause), 0, "migration shop/web is paused already\n", "", ""},
		"resume":                  {[]string{"resume", "web"}, movetest.InMode(api.ModePause), 0, "migration shop/web resumed\n", "", api.ModeRun},
		"resume twice":            {[]string{"resume", "web"}, movetest.InMode(""), 0, "migration shop/web is running already\n", "", ""},
		"roll back":               {[]string{"rollback", "web"}, movetest.InMode(api.ModeRun), 0, "migration shop/web is being rolled back\n", "", api.ModeRollback},
		"roll back twice":         {[]string{"rollback", "web"}, movetest.InMode(api.ModeRollback), 0, "migration shop/web is being rolled back already\n", "", ""},
		"roll back and wait":      {[]string{"rollback", "web", "--wait", "--timeout", "300ms"}, movetest.InMode(api.ModeRun), 4, "migration shop/web is being rolled back\n", "not completed after 300ms", api.ModeRollback},
		"wait for what is back":   {[]string{"rollback", "web", "--wait"}, movetest.RolledBack(), 0, "is completed (RolledBack)", "", ""},
		"roll back what is over":  {[]string{"rollback", "web"}, movetest.Completed(), 1, "", "shop/web is completed", ""},
		"pause what is over":      {[]string{"pause", "web"}, movetest.Completed(), 0, "is completed (Moved): nothing is to do\n", "", ""},
		"roll back what is back":  {[]string{"rollback", "web"}, movetest.RolledBack(), 0, "is completed (RolledBack): nothing is to do\n", "", ""},
		"begin anew":              {[]string{"resume", "web"}, movetest.RolledBack(), 0, "migration shop/web resumed\n", "", api.ModeRun},
		"no such migration":       {[]string{"pause", "other"}, movetest.InMode(api.ModeRun), 1, "", "no migration shop/other in cluster east", ""},
		"status":                  {[]string{"status", "web"}, movetest.InFlight(), 0, "ConfigMap shop/sliceshift-web in cluster east", "", ""},
		"status, stalled":         {[]string{"status", "web"}, movetest.Stalled(), 3, "to mend it: kubectl describe pod", "shop/web is stalled: PodNotReady", ""},
		"status, JSON":            {[]string{"status", "web", "-o", "json"}, movetest.InFlight(), 0, "\"kind\": \"Migration\"", "", ""},
		"status, YAML":            {[]string{"status", "web", "-o", "yaml"}, movetest.InFlight(), 0, "  moved: 2\n", "", ""},
		"status of nothing":       {[]string{"status", "other"}, movetest.InFlight(), 1, "", "kubectl get configmaps -A -l migration.sliceshift.io/record", ""},
		"gates of nothing":        {[]string{"gates", "other"}, movetest.InFlight(), 1, "", "no migration shop/other", ""},
		"gates without the way":   {[]string{"gates", "web"}, elsewhere, 2, "", "give --to-context or --to-kubeconfig", ""},
		"retry a hook":            {[]string{"hooks", "retry", "web"}, hookIs(api.HookFailed), 0, "migration shop/web: hook leave for ordinal 1 is run again\n", "", api.ModeRun},
		"skip a hook":             {[]string{"hooks", "skip", "web"}, hookIs(api.HookPending), 0, "migration shop/web: hook leave for ordinal 1 is skipped\n", "", api.ModeRun},
		"retry what runs":         {[]string{"hooks", "retry", "web"}, hookIs(api.HookRunning), 3, "", "is Running: what has not failed is not run again", ""},
		"skip what is over":       {[]string{"hooks", "skip", "web"}, hookIs(api.HookSucceeded), 3, "", "waits for no hook", ""},
		"skip none":               {[]string{"hooks", "skip", "web"}, movetest.InMode(api.ModeRun), 3, "", "waits for no hook", ""},
		"watch what is over":      {[]string{"status", "web", "-w"}, movetest.Completed(), 0, "12:00:00  4/4 moved  completed: Moved\n", "", ""},
		"create where it is not":  {[]string{"create", "web", "--to-name", "x"}, movetest.InFlight(), 1, "", "install the manager there first", ""},
		"run to somewhere else":   {[]string{"run", "web", "--to-namespace", "store"}, movetest.InFlight(), 3, "", "destination: recorded shop/web, asked for store/web", ""},
		"plan to somewhere else":  {[]string{"plan", "web", "--to-name", "web2"}, movetest.InFlight(), 3, "", "destination: recorded shop/web, asked for shop/web2", ""},
		"run with another order":  {[]string{"run", "web", "--to-name", "web", "--order", "lowest-first"}, movetest.InFlight(), 3, "", "order: recorded HighestFirst, asked for LowestFirst", ""},
		"a cluster does not help": {[]string{"status", "web", "--context", "west"}, movetest.InFlight(), 1, "", "cluster west cannot be read", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.record.Spec.Ordinals.Order == "" {
				tc.record.Spec.Ordinals.Order = api.HighestFirst
			}
			east := serveRecord(t, tc.record)
			c := newConsole(append(tc.args, "--kubeconfig", east.Kubeconfig(t), "--request-timeout", "5s")...)
			c.Expect(t, tc.want, tc.wantOut, tc.wantErr)
			if wrote := len(east.Wrote()); wrote != map[bool]int{true: 1}[tc.wantMode != ""] {
				t.Errorf("%d writes", wrote)
			}
			if mode := storedRecord(t, east).Spec.Mode; tc.wantMode != "" && mode != tc.wantMode {
				t.Errorf("mode %q, want %q", mode, tc.wantMode)
			}
		})
	}
}

// TestWatchIsLeft: a signal ends a watch, and nothing needs to be said.
func TestWatchIsLeft(t *testing.T) {
	east := serveRecord(t, movetest.InFlight())
	c, shown := newConsole("status", "web", "-w", "--kubeconfig", east.Kubeconfig(t)), &commandtest.Terminal{}
	c.Out = shown
	ctx, leave := context.WithCancel(t.Context())
	code := make(chan int)
	go func() { code <- c.Execute(ctx) }()
	shown.Await(t, "1/4 moved")
	leave()
	if got := <-code; got != command.ExitFailure || c.Stderr.Len() > 0 {
		t.Errorf("exit code %d, stderr %q", got, c.Stderr)
	}
}

// hookIs is a migration with a hook in a state, before another one that is over.
func hookIs(state api.HookState) *api.Migration {
	m := movetest.InMode(api.ModeRun)
	m.Spec.Hooks = []api.Hook{{Name: "begin", Point: api.HookBeforeMigration, OnFailure: api.HookFailureContinue}, {Name: "leave", Point: api.HookBeforeOrdinal}}
	m.Status.Hooks = []api.HookRun{
		{Name: "begin", Point: api.HookBeforeMigration, State: api.HookFailed, Job: "begin-1"},
		{Name: "leave", Point: api.HookBeforeOrdinal, Ordinal: new(int32(1)), State: state, Job: "leave-1"},
	}
	return m
}
