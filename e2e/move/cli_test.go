package move

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/child"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/migration/report"
)

// cli returns a command for this move.
func (v *move) cli(verb string, more ...string) *exec.Cmd {
	v.T.Helper()
	args := append([]string{verb, v.App.Name, "-n", v.App.Namespace, "--kubeconfig", v.From.Kubeconfig()}, more...)
	if verb == "run" || verb == "plan" || verb == "preflight" {
		args = append(args, "--to-kubeconfig", v.To.Kubeconfig(), "--create-namespace")
		for _, template := range v.App.Claims {
			args = append(args, "--shared", template)
		}
	}
	return exec.CommandContext(v.Ctx, harness.Program(v.T, "migrate"), args...)
}

// exits runs a command and checks its exit code.
func (v *move) exits(cmd *exec.Cmd, want int) string {
	v.T.Helper()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	v.Must(child.Start(cmd))
	err := cmd.Wait()
	if code := codeOf(err); code != want {
		v.T.Fatalf("%s ended with %d (%v), want %d:\n%s", strings.Join(cmd.Args[1:], " "), code, err, want, out.String())
	}
	return out.String()
}

func codeOf(err error) int {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	if err != nil {
		return -2
	}
	return 0
}

// TestRunInterrupted interrupts the command, kills it, and runs it again. Each run continues where the last one
// ended.
func TestRunInterrupted(t *testing.T) {
	t.Parallel()
	harness.Program(t, "migrate") // the time to build it is not the move's
	v := newMove(t, harness.Usual(5), harness.AcrossClusters)
	log := filepath.Join(t.TempDir(), "web.log")
	for _, stop := range []struct {
		below  int32
		signal syscall.Signal
	}{{5, syscall.SIGINT}, {3, syscall.SIGKILL}} {
		cmd := v.cli("run", "--log", log)
		v.Must(child.Start(cmd))
		v.awaitFewer(stop.below)
		v.Must(cmd.Process.Signal(stop.signal))
		if err := cmd.Wait(); err == nil {
			t.Error("an interrupted run ended with 0")
		}
	}
	if out := v.exits(v.cli("run", "--log", log), 0); !strings.Contains(out, "continuing where it was") {
		t.Errorf("it does not say that it goes on:\n%s", out)
	}
	v.ExpectMovedCleanly()
	v.exits(v.cli("plan", "--exit-code"), 0)
	v.expectReport(log)
	if out := v.exits(v.cli("status", "-o", "json"), 0); !strings.Contains(out, api.ReasonMoved) {
		t.Errorf("the status does not say that it moved:\n%s", out)
	}
}

// expectReport checks the report of a move of five ordinals by three runs.
func (v *move) expectReport(log string) {
	v.T.Helper()
	var r report.Report
	v.Must(json.Unmarshal([]byte(v.exits(v.cli("report", "--log", log, "-o", "json"), 0)), &r))
	arrived := map[int32]bool{}
	for _, h := range r.Handoffs {
		if h.End == nil || !h.End.After(h.Start) || h.FewestAvailable == nil || *h.FewestAvailable < r.Replicas-r.Budget || h.By == "" {
			v.T.Errorf("of a handoff it tells %+v", h)
		}
		arrived[h.Ordinal] = true
	}
	if r.Outcome != api.ReasonMoved || len(arrived) != 5 || len(r.Drivers) < 3 || len(r.Entries) == 0 {
		v.T.Errorf("outcome %s, %d ordinals, %d drivers, %d entries", r.Outcome, len(arrived), len(r.Drivers), len(r.Entries))
	}
	if page := v.exits(v.cli("report", "-o", "html"), 0); !strings.Contains(page, "</svg>") {
		v.T.Errorf("there is no timeline:\n%s", page)
	}
}

// awaitFewer waits until the source owns fewer ordinals.
func (v *move) awaitFewer(than int32) {
	v.T.Helper()
	v.Eventually("the source gives ordinals", func(ctx context.Context) (bool, error) {
		set, err := v.Source.AppsV1().StatefulSets(v.App.Namespace).Get(ctx, v.App.Name, metav1.GetOptions{})
		return err == nil && *set.Spec.Replicas < than, err
	})
}

// TestRunRefused: a run is refused before the first write, so not even a record exists.
func TestRunRefused(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(2), harness.AcrossClusters)
	v.exits(v.cli("plan", "--exit-code"), 1)
	v.breakPod("web-1")
	before := v.fingerprint()
	for _, verb := range []string{"plan", "run"} {
		if out := v.exits(v.cli(verb), 3); !strings.Contains(out, "web-1") {
			t.Errorf("%s does not name the pod:\n%s", verb, out)
		}
	}
	v.expectUnchanged(before)
	records, err := v.Source.CoreV1().ConfigMaps(v.App.Namespace).List(v.Ctx, metav1.ListOptions{LabelSelector: "migration.sliceshift.io/record"})
	v.Must(err)
	if len(records.Items) > 0 {
		t.Error("a refused run left a record")
	}
	v.exits(v.cli("run", "--no-such-flag"), 2)
	v.exits(v.cli("status"), 1)
}
