package field

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sliceshift/sliceshift/cmd/migrate/move/preview"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/progress"
	"github.com/sliceshift/sliceshift/e2e/child"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/migration/preflight"
)

// TestShapes: StatefulSets as charts render them move to the destination and back. Nothing harmless refuses
// them, dangers are reported before the move, and the writes are exactly those of the plan.
func TestShapes(t *testing.T) {
	turns := make(chan struct{}, 2)
	for _, each := range situations(t, "shapes") {
		t.Run(each.Name, func(t *testing.T) {
			t.Parallel()
			turns <- struct{}{}
			defer func() { <-turns }()
			v := each.deploy(t)
			others := volumesThere(v)
			var report preflight.Report
			each.judge(t, report, run(v, each.command(v, "preflight"), &report))
			each.moves(v, []string{"--kubeconfig", v.From.Kubeconfig(), "--to-kubeconfig", v.To.Kubeconfig()})
			v.ExpectMoved()
			each.moves(v, []string{"--kubeconfig", v.To.Kubeconfig(), "--to-kubeconfig", v.From.Kubeconfig()})
			v.ExpectSlice(v.There(), 0, 0)
			v.ExpectSlice(v.Here(), 0, v.App.Replicas)
			v.ExpectBudget(v.Here())
			v.Audit()
			for name, version := range volumesThere(v) {
				if was, found := others[name]; found && was != version {
					t.Errorf("volume %s of another disk was written", name)
				}
				delete(others, name)
			}
			if len(others) > 0 {
				t.Errorf("volumes of other disks were deleted: %v", others)
			}
		})
	}
}

// volumesThere returns the resourceVersions, by name, of the volumes at the destination that the situation or a
// move has created.
func volumesThere(v *harness.Move) map[string]string {
	v.T.Helper()
	all, err := v.Destination.CoreV1().PersistentVolumes().List(v.Ctx, metav1.ListOptions{})
	v.Must(err)
	versions := map[string]string{}
	for _, volume := range all.Items {
		if strings.HasPrefix(volume.Name, v.App.Namespace+"-") {
			versions[volume.Name] = volume.ResourceVersion
		}
	}
	return versions
}

// moves plans and runs a move, and checks that the run makes exactly the planned writes.
func (s situation) moves(v *harness.Move, way []string) {
	v.T.Helper()
	args := append(s.flags(v), way...)
	var planned preview.Plan
	run(v, append([]string{"plan"}, args...), &planned)
	if planned.Stalled != nil || planned.Refused {
		v.T.Fatalf("%s\n%+v\n%+v", planned.Answer, planned.Findings, planned.Stalled)
	}
	var want, got []string
	for _, step := range planned.Steps {
		want = append(want, fmt.Sprintf("%s %s %s: %s", step.Side, step.Verb, step.Object, step.Action))
	}
	cmd := exec.CommandContext(v.Ctx, harness.Program(v.T, "migrate"), append(append([]string{"run"}, args...), "-o", "json", "--exit-on-stall")...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	v.Must(child.Start(cmd))
	if err := cmd.Wait(); err != nil {
		v.T.Fatalf("run: %v\n%s%s", err, out.String(), errs.String())
	}
	lines := bufio.NewScanner(&out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e progress.Event
		v.Must(json.Unmarshal(lines.Bytes(), &e))
		if e.Kind == progress.Written {
			got = append(got, fmt.Sprintf("%s %s %s: %s", e.Side, e.Verb, e.Object, e.Message))
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		v.T.Errorf("the run differs from its plan: -plan +run\n%s", diff)
	}
	v.T.Logf("%s\n%d writes", planned.Answer, len(got))
}

// flags returns the flags of a move, except those for the clusters.
func (s situation) flags(v *harness.Move) []string {
	args := []string{v.App.Name, "-n", v.App.Namespace, "--to-namespace", v.ToNamespace, "--to-name", v.ToName, "--create-namespace"}
	if len(v.App.Claims) > 0 && len(s.Disk) == 0 && !strings.Contains(fmt.Sprint(s.Args), "--volume") {
		args = append(args, "--shared", strings.Join(v.App.Claims, ","))
	}
	for _, arg := range s.Args {
		args = append(args, strings.ReplaceAll(arg, "$NS", v.App.Namespace))
	}
	return args
}
