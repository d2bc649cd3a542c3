package migration

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

var update = flag.Bool("update", false, "write the golden step logs anew")

// TestSimulate compares whole dry runs with their golden step logs: the reviewable
// specification of what is written, in which order.
func TestSimulate(t *testing.T) {
	one := []string{"data"}
	tests := map[string]scenario{
		"clusters":       {replicas: 3, templates: one, budget: maxUnavailable(1)},
		"namespaces":     {replicas: 2, templates: one, budget: maxUnavailable(1), spec: Spec{SameCluster: true}},
		"same-namespace": {replicas: 2, budget: maxUnavailable(1), spec: Spec{SameNamespace: true}},
		"lowest-first":   {replicas: 2, start: 1, templates: one, budget: maxUnavailable(1), spec: Spec{Order: api.LowestFirst}},
		"part":           {replicas: 4, budget: maxUnavailable(2), spec: Spec{Count: 1}},
		"bare":           {replicas: 2},
		"two-claims":     {replicas: 2, templates: []string{"data", "wal"}, budget: maxUnavailable(2)},
		"delete-source":  {replicas: 1, templates: one, budget: maxUnavailable(1), spec: Spec{DeleteSource: true}},
		"exports":        {replicas: 2, service: true, prepared: true, spec: Spec{DeleteSource: true, Export: true}},
		"budget-of-two":  {replicas: 5, budget: maxUnavailable(2), spec: Spec{Count: 3}},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) { golden(t, name, steps(Simulate(c.build()))) })
	}
}

// TestSimulateMidway begins where another process has left off, and where a migration
// was rolled back before and is to run again.
func TestSimulateMidway(t *testing.T) {
	c := scenario{replicas: 2, templates: []string{"data"}, budget: maxUnavailable(1)}
	y := newPlay(t, c)
	y.until(ScaleUp, 1)
	golden(t, "taken-over", steps(Simulate(y.snapshot())))
	y.setMode(api.ModeRollback)
	y.end()
	y.setMode(api.ModeRun)
	golden(t, "run-again", steps(Simulate(y.snapshot())))
}

// TestSimulateRollback turns round with an ordinal on its way, and with all moved.
func TestSimulateRollback(t *testing.T) {
	for name, after := range map[string]Verb{"rollback-in-mid-handoff": ScaleDown, "rollback-of-a-started-ordinal": ScaleUp} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(scenario{replicas: 2, templates: []string{"data"}, budget: maxUnavailable(1)}.build())
			for {
				decision := Plan(w.state)
				if decision.Record != nil {
					w.state.Record, w.state.Engaged = *decision.Record, true
					continue
				}
				if decision.Effect != nil {
					if err := w.apply(*decision.Effect); err != nil {
						t.Fatal(err)
					}
				}
				w.settle()
				if decision.Effect != nil && decision.Effect.Verb == after {
					break
				}
			}
			w.state.Spec.Mode = api.ModeRollback
			golden(t, name, steps(Simulate(w.snapshot())))
		})
	}
}

// halfSimulated is a world in which the plan has just come to a write, for the n-th time, and has made it.
func halfSimulated(t *testing.T, c scenario, verb Verb, n int) *world {
	t.Helper()
	w := newWorld(c.build())
	for range enough {
		decision := Plan(w.state)
		if decision.Record != nil {
			w.state.Record, w.state.Engaged = *decision.Record, true
		}
		if decision.Effect == nil {
			continue
		}
		if err := w.apply(*decision.Effect); err != nil {
			t.Fatal(err)
		}
		w.settle()
		if decision.Effect.Verb == verb {
			if n--; n == 0 {
				return w
			}
		}
	}
	t.Fatalf("%s never comes", verb)
	return nil
}

// TestSimulateEnds: a dry run ends as the migration would in a world in which nothing fails. What comes
// up by itself counts as available from the beginning, and what takes time is waited for.
func TestSimulateEnds(t *testing.T) {
	starting := scenario{replicas: 3}.build()
	starting.Source.Pods[0].Ready, starting.Source.Pods[1].Ready = false, false
	patient := scenario{replicas: 2, spec: Spec{MinReady: time.Minute}}.build()
	moved := halfSimulated(t, scenario{replicas: 2}, ScaleUp, 2).snapshot()
	moved.Spec.Mode = api.ModeRollback
	twice := scenario{replicas: 1, templates: []string{"data", "data"}}.build()
	twice.Volumes[1].Source.Volume.UID = "another"
	elsewhere := halfSimulated(t, scenario{replicas: 2, templates: []string{"data"}}, ScaleDown, 1).snapshot()
	elsewhere.Volumes[1].Source.Volume.Attachments = []volumes.Attachment{{Name: "other", Node: "other"}}
	for name, tc := range map[string]struct {
		s             Snapshot
		outcome, held string
		fewest        int32
	}{
		"two replicas come up":                {starting, api.ReasonMoved, "", 2},
		"each is Ready for a minute":          {patient, api.ReasonMoved, "", 1},
		"all go back":                         {moved, api.ReasonRolledBack, "", 1},
		"what is seen cannot be":              {twice, "", errConflict.Error(), 1},
		"a volume that is not ever let go of": {elsewhere, "", "the plan does not end", 1},
	} {
		result := Simulate(tc.s)
		if result.Outcome != tc.outcome || result.Fewest != tc.fewest {
			t.Errorf("%s: it ends with %q, fewest available %d", name, result.Outcome, result.Fewest)
		}
		if held := result.Held; (held == nil) != (tc.held == "") || held != nil && (!strings.Contains(held.Message, tc.held) || !held.Stalled) {
			t.Errorf("%s: held by %+v", name, held)
		}
	}
}

// TestSimulateClaims: a dry run claims the migration as another process would, whoever is engaged in it.
func TestSimulateClaims(t *testing.T) {
	s := halfSimulated(t, scenario{replicas: 2}, ScaleDown, 1).snapshot()
	result := Simulate(s)
	if len(result.Steps) == 0 || result.Steps[0].Effect.Verb != WriteFence || !s.Engaged {
		t.Errorf("it begins with %+v", result.Steps)
	}
}

// steps are the lines of a dry run: both slices, how many of their replicas may be
// evicted, and how many are available after the write.
func steps(s Simulation) string {
	var text strings.Builder
	share := func(f Forecast) string {
		if f.MaxUnavailable == nil {
			return "-"
		}
		return strconv.Itoa(int(*f.MaxUnavailable))
	}
	for i, step := range s.Steps {
		fmt.Fprintf(&text, "%2d  %-6s %-6s  %s/%s  %d  %s\n", i+1,
			span(step.Source.Start, step.Source.Replicas), span(step.Destination.Start, step.Destination.Replicas),
			share(step.Source), share(step.Destination), step.Available, step.Description)
	}
	fmt.Fprintf(&text, "%s, fewest available %d\n", s.Outcome, s.Fewest)
	if s.Held != nil {
		fmt.Fprintf(&text, "held: %+v\n", *s.Held)
	}
	return text.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestSimulateAThousand: a dry run of a thousand ordinals is not quadratic in what it
// looks at; it took seconds when every step looked at every claim.
func TestSimulateAThousand(t *testing.T) {
	begin := computed(t)
	result := Simulate(scenario{replicas: 1000, templates: []string{"data"}, budget: maxUnavailable(1)}.build())
	if result.Outcome != api.ReasonMoved || result.Fewest != 999 {
		t.Errorf("ended with %s, fewest available %d, %+v", result.Outcome, result.Fewest, result.Held)
	}
	if took := computed(t) - begin; took > time.Minute {
		t.Errorf("it took %s of a processor", took)
	}
}

// computed is how long this process has computed: other than the time that has passed,
// it does not depend on what else runs on the machine.
func computed(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano())
}
