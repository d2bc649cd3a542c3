package move

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/apitest"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/commandtest"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/movetest"
	"github.com/sliceshift/sliceshift/internal/records"
)

// TestSteering: the verbs that read and steer a migration work on the record of a run in a cluster without the resource
// definition.
func TestSteering(t *testing.T) {
	const notice = "The process that runs it takes notice. If none does: migrate run web -n shop --kubeconfig "
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
		"pause":                                  {[]string{"pause", "web"}, movetest.InMode(api.ModeRun), 0, "migration shop/web paused\n", notice, api.ModePause},
		"pause with its kind":                    {[]string{"pause", "migration/web"}, movetest.InMode(api.ModeRun), 0, "migration shop/web paused\n", notice, api.ModePause},
		"pause twice":                            {[]string{"pause", "web"}, movetest.InMode(api.ModePause), 0, "migration shop/web is paused already\n", notice, ""},
		"resume":                                 {[]string{"resume", "web"}, movetest.InMode(api.ModePause), 0, "migration shop/web resumed\n", notice, api.ModeRun},
		"resume twice":                           {[]string{"resume", "web"}, movetest.InMode(""), 0, "migration shop/web is running already\n", notice, ""},
		"roll back and wait":                     {[]string{"rollback", "web", "--wait", "--timeout", "2s"}, movetest.InMode(api.ModeRun), 4, "migration shop/web is being rolled back\n", "not completed after 2s", api.ModeRollback},
		"wait for what is back":                  {[]string{"rollback", "web", "--wait"}, movetest.RolledBack(), 0, "is completed (RolledBack)", "", ""},
		"roll back what is over":                 {[]string{"rollback", "web"}, movetest.Completed(), 1, "", "move it the other way: migrate plan web -n shop --kubeconfig ", ""},
		"resume what was turned back by itself":  {[]string{"resume", "web"}, byItself(movetest.InMode(api.ModeRollback)), 0, "migration shop/web resumed\n", notice, api.ModeRun},
		"resume what stands between":             {[]string{"resume", "web"}, byItself(movetest.InMode(api.ModeRun)), 1, "", "pause it first: migrate pause web -n shop", ""},
		"let what is back by itself begin again": {[]string{"pause", "web"}, byItself(movetest.RolledBack()), 0, "migration shop/web paused\n", notice, api.ModePause},
		"status, turned back by itself":          {[]string{"status", "web"}, byItself(movetest.InMode(api.ModeRollback)), 0, "Turned back  automatically, 2026-01-02T03:04:05Z: gate db has failed\n", "", ""},
		"pause what is over":                     {[]string{"pause", "web"}, movetest.Completed(), 0, "is completed (Moved): there is nothing to do\n", "", ""},
		"roll back what is back":                 {[]string{"rollback", "web"}, movetest.RolledBack(), 0, "is completed (RolledBack): there is nothing to do\n", "", ""},
		"no such migration":                      {[]string{"pause", "other"}, movetest.InMode(api.ModeRun), 1, "", "no migration shop/other in cluster east", ""},
		"status":                                 {[]string{"status", "web"}, movetest.InFlight(), 0, "ConfigMap shop/sliceshift-web in cluster east", "", ""},
		"status, stalled":                        {[]string{"status", "web"}, movetest.Stalled(), 3, "what to do: kubectl describe pod", "shop/web is stalled: PodNotReady", ""},
		"status, JSON":                           {[]string{"status", "web", "-o", "json"}, movetest.InFlight(), 0, "\"kind\": \"Migration\"", "", ""},
		"status, YAML":                           {[]string{"status", "web", "-o", "yaml"}, movetest.InFlight(), 0, "  moved: 1\n", "", ""},
		"status of nothing":                      {[]string{"status", "other"}, movetest.InFlight(), 1, "", " --context east get configmaps -A -l migration.sliceshift.io/record", ""},
		"gates of nothing":                       {[]string{"gates", "other"}, movetest.InFlight(), 1, "", "no migration shop/other", ""},
		"gates without the way":                  {[]string{"gates", "web"}, elsewhere, 2, "", "give --to-context or --to-kubeconfig", ""},
		"retry a hook":                           {[]string{"hooks", "retry", "web"}, hookIs(api.HookFailed), 0, "migration shop/web: hook leave for ordinal 1 is run again\n", "", api.ModeRun},
		"skip a hook":                            {[]string{"hooks", "skip", "web"}, hookIs(api.HookPending), 0, "migration shop/web: hook leave for ordinal 1 is skipped\n", "", api.ModeRun},
		"retry what runs":                        {[]string{"hooks", "retry", "web"}, hookIs(api.HookRunning), 3, "", "is Running: only a failed hook is run again", ""},
		"skip what is over":                      {[]string{"hooks", "skip", "web"}, hookIs(api.HookSucceeded), 3, "", "waits for no hook", ""},
		"skip none":                              {[]string{"hooks", "skip", "web"}, movetest.InMode(api.ModeRun), 3, "", "waits for no hook", ""},
		"watch what is over":                     {[]string{"status", "web", "-w"}, movetest.Completed(), 0, "12:00:00  4/4 moved  moved: every ordinal that was asked for runs at the destination\n", "", ""},
		"watch what never appears":               {[]string{"status", "other", "-w", "--timeout", "2s"}, movetest.InFlight(), 4, "", "no migration shop/other in cluster east yet; waiting until it appears", ""},
		"a timeout without a watch":              {[]string{"status", "web", "--timeout", "1s"}, movetest.InFlight(), 2, "", "--timeout is for -w", ""},
		"create where it is not":                 {[]string{"create", "web", "--to-name", "x"}, movetest.InFlight(), 1, "", "install the manager there first", ""},
		"run to somewhere else":                  {[]string{"run", "web", "--to-namespace", "store"}, movetest.InFlight(), 3, "", "destination: recorded shop/web, asked for store/web", ""},
		"plan to somewhere else":                 {[]string{"plan", "web", "--to-name", "web2"}, movetest.InFlight(), 3, "", "destination: recorded shop/web, asked for shop/web2", ""},
		"run with another order":                 {[]string{"run", "web", "--to-name", "web", "--order", "lowest-first"}, movetest.InFlight(), 3, "", "order: recorded HighestFirst, asked for LowestFirst", ""},
		"a cluster does not help":                {[]string{"status", "web", "--context", "west"}, movetest.InFlight(), 1, "", "cluster west cannot be read", ""},
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

// byItself marks a migration as rolled back automatically.
func byItself(m *api.Migration) *api.Migration {
	m.Status.AutomaticRollback = &api.AutomaticRollback{
		Reason: api.ReasonGateFailed, By: "gate db", Message: "gate db has failed", Time: metav1.NewMicroTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)),
	}
	return m
}

// TestResumeAfterAnAutomaticRollback: resume requires that the manager has seen a pause, because a manager continues
// only then.
func TestResumeAfterAnAutomaticRollback(t *testing.T) {
	for name, tc := range map[string]struct {
		m    *api.Migration
		want string
	}{
		"never turned back":  {movetest.InMode(api.ModeRollback), ""},
		"to go on":           {byItself(movetest.InMode(api.ModeRollback)), "at 2026-01-02T03:04:05Z gate db had failed"},
		"a pause, not seen":  {byItself(movetest.InMode(api.ModePause)), "has not seen the pause yet"},
		"run, written again": {byItself(movetest.InMode(api.ModeRun)), "pause it first: migrate pause web -n shop"},
	} {
		c := command.NewCommon(newConsole().Environment)
		o := &named{Common: c, name: "web"}
		err := o.afterAutomaticRollback(&storedMigration{Migration: tc.m, connection: movetest.Offline(t, "east")})
		if (err != nil) != (tc.want != "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

// oneStore holds a migration, and records the modes that are written.
type oneStore struct {
	records.Store
	m       *api.Migration
	written []api.Mode
}

func (s *oneStore) Load(context.Context) (*api.Migration, error) { return s.m, nil }

func (s *oneStore) Change(_ context.Context, change records.Change) error {
	s.written = append(s.written, change.Mode)
	return nil
}

// TestOrdersRefuse: a typed command writes a mode under the same conditions as the command of that name, based on the
// stored state.
func TestOrdersRefuse(t *testing.T) {
	c := command.NewCommon(newConsole().Environment)
	store := &oneStore{m: byItself(movetest.InMode(api.ModeRollback))}
	o := &named{Common: c, name: "web"}
	k := &storedMigration{Migration: movetest.InMode(api.ModePause), store: store, connection: movetest.Offline(t, "east")}
	if err := o.steer(t.Context(), k, api.ModeRun); err == nil || !strings.Contains(err.Error(), "pause it first") || len(store.written) != 0 {
		t.Errorf("resumed: %v, written %v", err, store.written)
	}
	if err := o.steer(t.Context(), k, api.ModePause); err != nil || !slices.Equal(store.written, []api.Mode{api.ModePause}) {
		t.Errorf("paused: %v, written %v", err, store.written)
	}
}

// TestOtherWay: the command for the reverse move starts at the destination of the completed move.
func TestOtherWay(t *testing.T) {
	between := movetest.Completed()
	between.Annotations = map[string]string{records.DestinationNameAnnotationKey: "the west"}
	between.Spec.Destination = api.DestinationReference{Namespace: "store", Name: "web2"}
	between.Status.Baseline.DestinationCluster = "cluster-west"
	within := movetest.Completed()
	within.Spec.Destination.Namespace = "store"
	copied := movetest.Completed()
	copied.Spec.Destination.APIVersion, copied.Status.Baseline.DestinationCluster = "apps.sliceshift.io/v1alpha1", "cluster-west"
	copied.Spec.Volumes = []api.VolumeSpec{{ClaimTemplate: "data", Method: api.MethodCopy, Copy: api.CopySpec{Image: "m", Transport: api.TransportRelay}}}
	const back = "migrate plan web -n shop --context CONTEXT --to-context east"
	for want, m := range map[string]*api.Migration{
		"migrate plan web2 -n store --context 'the west' --to-context east --to-namespace shop --to-name web":                   between,
		"migrate plan web -n store --to-namespace shop":                                                                         within,
		back + " --api-version apps.sliceshift.io/v1alpha1 --to-api-version apps/v1 --volume data=copy,image=m,transport=relay": copied,
	} {
		c := command.NewCommon(newConsole().Environment)
		o := &modeOptions{named: named{Common: c, name: "web"}}
		if got := o.otherWay(&storedMigration{Migration: m, connection: movetest.Offline(t, "east")}); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestNoRecord: a ConfigMap with the name of the record but without one is not reported as an unreachable cluster.
func TestNoRecord(t *testing.T) {
	served := map[schema.GroupVersion]map[string]string{corev1.SchemeGroupVersion: {"configmaps": "ConfigMap", "namespaces": "Namespace"}}
	for name, data := range map[string]map[string]string{
		"it has no key migration.yaml": {"other": "1"},
		"yaml":                         {"migration.yaml": "foo: ["},
	} {
		east := apitest.Serve(t, served, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "sliceshift-web"}, Data: data},
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: "cluster-1"}})
		for _, args := range [][]string{{"status", "web"}, {"pause", "web"}, {"plan", "web", "--to-name", "x"}, {"run", "web", "--to-name", "x"}} {
			c := newConsole(append(args, "--kubeconfig", east.Kubeconfig(t))...)
			code, said := c.Run(t), c.Stderr
			if code != command.ExitStalled || !strings.Contains(said.String(), "is not believed: ") || !strings.Contains(said.String(), name) || !strings.Contains(said.String(), " --context east delete configmap -n shop sliceshift-web") {
				t.Errorf("%s ends with %d: %s", args[0], code, said)
			}
		}
	}
}

// TestNobodyDrives: if no process drives the run, rollback fails within a few seconds with the command that starts one.
// If a process reacts, it prints nothing more.
func TestNobodyDrives(t *testing.T) {
	for name, tc := range map[string]struct {
		verb   string
		record *api.Migration
		driven bool
		want   string
	}{
		"roll back":                {"rollback", movetest.InMode(api.ModeRun), false, "migration shop/web is being rolled back\n"},
		"roll back twice":          {"rollback", movetest.InMode(api.ModeRollback), false, "migration shop/web is being rolled back already\n"},
		"begin anew":               {"resume", back(movetest.RolledBack()), false, "migration shop/web resumed\n"},
		"roll back what is driven": {"rollback", movetest.InMode(api.ModeRun), true, "migration shop/web is being rolled back\n"},
		"resume what is driven":    {"resume", back(movetest.InMode(api.ModeRollback)), true, "migration shop/web resumed\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.record.Annotations = map[string]string{records.DestinationNameAnnotationKey: "the west"}
			tc.record.Spec.Destination.Namespace, tc.record.Status.Baseline.DestinationCluster = "store", "cluster-west"
			east := serveRecord(t, tc.record)
			kubeconfig := east.Kubeconfig(t)
			c := newConsole(tc.verb, "web", "--kubeconfig", kubeconfig, "--context", "east")
			code := c.Begin(t)
			c.AwaitWaiting(t)
			want, said := command.ExitDone, ""
			if tc.driven {
				turn(t, east)
			} else {
				c.Clock.Step(noticeFor)
				want, said = command.ExitStalled, "error: migration shop/web: no process has taken notice within 5s, and nothing is done before one does; "+
					"if none drives it, to go on: migrate run web -n shop --kubeconfig "+kubeconfig+" --context east --to-context 'the west' --to-namespace store\n"
			}
			if got := <-code; got != want || c.Stdout.String() != tc.want || c.Stderr.String() != said {
				t.Errorf("exit code %d, said %q and %q, want %q", got, c.Stdout, c.Stderr, said)
			}
		})
	}
}

// back sets the direction of a migration to Back.
func back(m *api.Migration) *api.Migration {
	m.Status.Fence.Direction = api.Back
	return m
}

// turn acts like the driver of a run that sees another mode.
func turn(t *testing.T, east *apitest.Server) {
	t.Helper()
	m := storedRecord(t, east)
	m.Status.Fence.Epoch++
	if m.Status.Fence.Direction = api.Back; m.Spec.Mode == api.ModeRun {
		m.Status.Fence.Direction = api.Forward
	}
	if err := (records.ConfigMap{Client: east.Store, Namespace: "shop", Name: "web"}).Save(t.Context(), m); err != nil {
		t.Fatal(err)
	}
}

// TestRefusedToLook: if the user may not read a migration, the error names the role to bind.
func TestRefusedToLook(t *testing.T) {
	east := serveRecord(t, movetest.InFlight())
	east.Before = func(*http.Request) error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "sliceshift-web", errors.New("no"))
	}
	for _, verb := range []string{"status", "pause", "report"} {
		newConsole(verb, "web", "--kubeconfig", east.Kubeconfig(t)).Expect(t, command.ExitFailure, "", "the ClusterRole view lets you see it, and edit lets you steer it")
	}
}

// TestWatchIsLeft: a signal ends a watch without a message.
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

// hookIs returns a migration with a hook run in the given state, after one that is over.
func hookIs(state api.HookState) *api.Migration {
	m := movetest.InMode(api.ModeRun)
	m.Spec.Hooks = []api.Hook{{Name: "begin", Point: api.HookBeforeMigration, OnFailure: api.HookFailureContinue}, {Name: "leave", Point: api.HookBeforeOrdinal}}
	m.Status.Hooks = []api.HookRun{
		{Name: "begin", Point: api.HookBeforeMigration, State: api.HookFailed, Job: "begin-1"},
		{Name: "leave", Point: api.HookBeforeOrdinal, Ordinal: new(int32(1)), State: state, Job: "leave-1"},
	}
	return m
}
