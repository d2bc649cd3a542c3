package move

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/apitest"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/commandtest"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/movetest"
)

// serveEvacuation serves Evacuation shop/all, of which web has moved and db stalls or has moved, too.
func serveEvacuation(t *testing.T, mode api.EvacuationMode, state string) *apitest.Server {
	t.Helper()
	e := &api.Evacuation{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "all", UID: "evacuation"}}
	e.Spec = api.EvacuationSpec{Mode: mode, Migrations: []api.EvacuatedMigration{{Name: "web", Planned: &api.PlannedMove{EndSeconds: 60, Ordinals: 4}}, {Name: "db"}}}
	e.Status = api.EvacuationStatus{State: state, Progress: "1/2", StartTime: new(metav1.NewTime(time.Date(2026, 1, 1, 11, 0, 0, 0, time.UTC))), Migrations: []api.EvacuatedStatus{
		{Name: "web", State: api.EvacuatedMoved}, {Name: "db", State: api.EvacuatedStalled, Message: "BudgetZero: none may be down"},
	}}
	web := movetest.Completed()
	web.ResourceVersion = ""
	served := servedToMove(api.GroupVersion)
	served[api.GroupVersion]["evacuations"] = "Evacuation"
	return apitest.Serve(t, served, e, web, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: "cluster-east"}})
}

// TestEvacuationVerbs: the verbs read and steer all Migrations of an Evacuation.
func TestEvacuationVerbs(t *testing.T) {
	for name, tc := range map[string]struct {
		mode             api.EvacuationMode
		state            string
		args             []string
		code             int
		wantOut, wantErr string
		wantMode         api.EvacuationMode
	}{
		"pause":                    {api.EvacuationRun, api.EvacuationRunning, []string{"pause", "evacuation/all"}, 0, "evacuation shop/all paused\n", "", api.EvacuationPause},
		"pause twice":              {api.EvacuationPause, api.EvacuationPaused, []string{"pause", "evacuation/all"}, 0, "evacuation shop/all is paused already\n", "", api.EvacuationPause},
		"resume":                   {api.EvacuationPause, api.EvacuationPaused, []string{"resume", "evacuation/all"}, 0, "evacuation shop/all resumed\n", "", api.EvacuationRun},
		"resume without a mode":    {"", api.EvacuationRunning, []string{"resume", "evacuation/all"}, 0, "evacuation shop/all is running already\n", "", ""},
		"roll back":                {api.EvacuationRun, api.EvacuationRunning, []string{"rollback", "evacuation/all"}, 0, "1 of its 2 Migrations completed before", "", api.EvacuationRollback},
		"the way back":             {api.EvacuationRun, api.EvacuationRunning, []string{"rollback", "evacuation/all"}, 0, "  migrate plan web -n shop ", "", api.EvacuationRollback},
		"roll back twice":          {api.EvacuationRollback, api.EvacuationRolledBack, []string{"rollback", "evacuation/all"}, 0, "evacuation shop/all is rolled back already\n", "", api.EvacuationRollback},
		"roll back what has moved": {api.EvacuationRun, api.EvacuationCompleted, []string{"rollback", "evacuation/all"}, 1, "  migrate plan web -n shop ", "evacuation shop/all is completed, so none of its Migrations is rolled back", api.EvacuationRun},
		"pause what has moved":     {api.EvacuationRun, api.EvacuationCompleted, []string{"pause", "evacuation/all"}, 0, "evacuation shop/all is completed: there is nothing to do\n", "", api.EvacuationRun},
		"roll back, and wait":      {api.EvacuationRun, api.EvacuationRunning, []string{"rollback", "evacuation/all", "--wait"}, 2, "", "status evacuation/all -w", api.EvacuationRun},
		"no such Evacuation":       {api.EvacuationRun, api.EvacuationRunning, []string{"pause", "evacuation/other"}, 1, "", "no Evacuation shop/other in cluster east", api.EvacuationRun},
		"its state":                {api.EvacuationRun, api.EvacuationRunning, []string{"status", "evacuation/all"}, 0, "Stalled db: BudgetZero: none may be down", "", api.EvacuationRun},
		"its state, for programs":  {api.EvacuationRun, api.EvacuationRunning, []string{"status", "evacuation/all", "-o", "json"}, 0, `"plannedSeconds": 60`, "", api.EvacuationRun},
		"its state, stalled":       {api.EvacuationRun, api.EvacuationStalled, []string{"status", "evacuation/all"}, 3, "shop/web", "Evacuation shop/all is stalled", api.EvacuationRun},
		"the state of no such":     {api.EvacuationRun, api.EvacuationRunning, []string{"status", "evacuation/other"}, 1, "", "no Evacuation shop/other in cluster east", api.EvacuationRun},
		"the report of no such":    {api.EvacuationRun, api.EvacuationRunning, []string{"report", "evacuation/other"}, 1, "", "no Evacuation shop/other in cluster east; to list those that there are", api.EvacuationRun},
		"no name":                  {api.EvacuationRun, api.EvacuationRunning, []string{"status", "evacuation/"}, 2, "", `no Evacuation can be called ""`, api.EvacuationRun},
		"a name with a slash":      {api.EvacuationRun, api.EvacuationRunning, []string{"pause", "evacuation/all/x"}, 2, "", `no Evacuation can be called "all/x"`, api.EvacuationRun},
		"a name in capitals":       {api.EvacuationRun, api.EvacuationRunning, []string{"report", "evacuation/All"}, 2, "", `no Evacuation can be called "All"`, api.EvacuationRun},
		"watched to its end":       {api.EvacuationRollback, api.EvacuationRolledBack, []string{"status", "evacuation/all", "-w"}, 0, "RolledBack: 1/2 StatefulSets, 4/4 ordinals\n", "", api.EvacuationRollback},
		"watched for some time":    {api.EvacuationRun, api.EvacuationRunning, []string{"status", "evacuation/all", "-w", "--timeout", "2s"}, 4, "Running: 1/2 StatefulSets", "not completed after 2s", api.EvacuationRun},
		"a picture of one":         {api.EvacuationRun, api.EvacuationRunning, []string{"report", "web", "-o", "svg"}, 2, "", "-o svg is for evacuation/NAME", api.EvacuationRun},
	} {
		t.Run(name, func(t *testing.T) {
			east := serveEvacuation(t, tc.mode, tc.state)
			c := newConsole(append(tc.args, "-n", "shop", "--kubeconfig", east.Kubeconfig(t), "--context", "east")...)
			c.Expect(t, tc.code, tc.wantOut, tc.wantErr)
			e := &api.Evacuation{}
			if err := east.Store.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "all"}, e); err != nil || e.Spec.Mode != tc.wantMode {
				t.Errorf("mode %q, %v", e.Spec.Mode, err)
			}
		})
	}
}

// TestOrderWithoutManager: an order that no manager has observed is not reported as done, not even when it is given twice. One
// that the manager observes ends well.
func TestOrderWithoutManager(t *testing.T) {
	for name, tc := range map[string]struct {
		mode    api.EvacuationMode
		verb    string
		acts    bool
		wantOut string
	}{
		"pause":               {api.EvacuationRun, "pause", false, "evacuation shop/all paused\n"},
		"pause twice":         {api.EvacuationPause, "pause", false, "evacuation shop/all is paused already\n"},
		"roll back":           {api.EvacuationRun, "rollback", false, "1 of its 2 Migrations completed before"},
		"a manager acts late": {api.EvacuationRun, "pause", true, "evacuation shop/all paused\n"},
	} {
		t.Run(name, func(t *testing.T) {
			east := serveEvacuation(t, tc.mode, api.EvacuationRunning)
			e := &api.Evacuation{}
			set := func(generation, observed int64) {
				t.Helper()
				if err := east.Store.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "all"}, e); err != nil {
					t.Fatal(err)
				}
				e.Generation, e.Status.ObservedGeneration = generation, observed
				if err := east.Store.Update(t.Context(), e); err != nil {
					t.Fatal(err)
				}
			}
			set(2, 1)
			reads := 0
			east.Before = func(r *http.Request) error {
				if r.PathValue("resource") == "evacuations" && r.Method == http.MethodGet {
					if reads++; reads == 3 && tc.acts {
						set(2, 2)
					}
				}
				return nil
			}
			c := newConsole(tc.verb, "evacuation/all", "-n", "shop", "--kubeconfig", east.Kubeconfig(t), "--context", "east")
			code := c.PassTime(t, c.Begin(t), lookEvery)
			if stalls := code == command.ExitStalled; stalls == tc.acts || tc.acts && code != 0 || !strings.Contains(c.Stdout.String(), tc.wantOut) {
				t.Errorf("exit code %d: %s", code, c.Stdout)
			}
			const want = "evacuation shop/all: no process has taken notice within 20s, and nothing is done before one does; if none drives it, see why its manager does not act: kubectl "
			if text := c.Stderr.String(); strings.Contains(text, want) == tc.acts {
				t.Errorf("%s", text)
			}
		})
	}
}

// TestWatchOfADeletedOne: a watch prints once why an Evacuation cannot be read, and ends when it is deleted.
func TestWatchOfADeletedOne(t *testing.T) {
	east := serveEvacuation(t, api.EvacuationRun, api.EvacuationRunning)
	reads := 0
	east.Before = func(r *http.Request) error {
		if r.PathValue("resource") != "evacuations" {
			return nil
		}
		switch reads++; reads {
		case 1:
			return nil
		case 2, 3:
			return apierrors.NewForbidden(schema.GroupResource{}, "all", errors.New("the test"))
		default:
			return apierrors.NewNotFound(schema.GroupResource{}, "all")
		}
	}
	c := newConsole("status", "evacuation/all", "-w", "-n", "shop", "--kubeconfig", east.Kubeconfig(t), "--context", "east")
	const look = 2 * time.Second
	if code := c.PassTime(t, c.Begin(t), look); code != command.ExitFailure || !strings.Contains(c.Stdout.String(), "Running: 1/2 StatefulSets") {
		t.Errorf("exit code %d: %s", code, c.Stdout)
	}
	text := c.Stderr.String()
	if strings.Count(text, "the test") != 1 || !strings.Contains(text, "no Evacuation shop/all any more: it was deleted, and its Migrations keep their modes") {
		t.Errorf("the complaint is printed %d times:\n%s", strings.Count(text, "the test"), text)
	}
}

// TestPauseOfAHeldOne: a Migration that its Evacuation holds in mode Pause is no longer held once a user pauses it.
func TestPauseOfAHeldOne(t *testing.T) {
	m := movetest.InMode(api.ModePause)
	m.Annotations = map[string]string{api.EvacuationHeldAnnotationKey: "all", "mine": "x"}
	m.ResourceVersion = ""
	east := apitest.Serve(t, servedToMove(api.GroupVersion), m)
	c := newConsole("pause", "web", "-n", "shop", "--kubeconfig", east.Kubeconfig(t), "--context", "east")
	c.Begin(t) // it waits for a manager to notice the pause
	commandtest.Await(t, func() bool {
		err := east.Store.Get(t.Context(), client.ObjectKeyFromObject(m), m)
		return err == nil && len(m.Annotations) == 1 && m.Annotations["mine"] == "x"
	}, func() string { return fmt.Sprintf("annotations %v", m.Annotations) })
	if m.Spec.Mode != api.ModePause {
		t.Errorf("mode %q", m.Spec.Mode)
	}
}
