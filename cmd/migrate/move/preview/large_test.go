package preview

import (
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/movetest"
	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
)

// Limits for the plan of a large application.
const (
	largeOrdinals  = 5000
	largeProcessor = 5 * time.Second
	largeMemory    = 64 << 20
)

// envLarge makes the test binary run as a child process of this test, which plans or stays idle.
const (
	envLarge  = "PREVIEW_LARGE"
	largePlan = "plan"
	largeIdle = "idle"
)

// TestPlanLarge: 5,000 ordinals with claims are planned and printed within 5 s of CPU time and 64 MiB more memory than
// an idle process of the same program. The measurement covers the snapshot, the plan and the table, but not the reads of
// the clusters.
func TestPlanLarge(t *testing.T) {
	switch os.Getenv(envLarge) {
	case largePlan:
		planLarge(t)
	case largeIdle:
	default:
		_, idle := measureLarge(t, largeIdle)
		took, peak := measureLarge(t, largePlan)
		t.Logf("%s of a processor, peak %d MiB, %d of them without a plan", took, peak>>20, idle>>20)
		if took > largeProcessor || peak-idle > largeMemory {
			t.Errorf("it took %s of a processor and %d MiB", took, (peak-idle)>>20)
		}
	}
}

func planLarge(t *testing.T) {
	d := NewPlan(fresh(), Beginning, movetest.Application{Replicas: largeOrdinals, Templates: []string{"data"}}.Snapshot())
	if d.Summary.Ordinals != largeOrdinals || d.Summary.Volumes != largeOrdinals || d.Outcome != api.ReasonMoved {
		t.Fatalf("it comes to %+v, %s", d.Summary, d.Outcome)
	}
	if err := (Printer{io.Discard, terminal.Painter{}, true}).Print(d); err != nil {
		t.Fatal(err)
	}
}

// measureLarge returns the CPU time and the peak memory of a child process.
func measureLarge(t *testing.T, what string) (time.Duration, int64) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	run := exec.CommandContext(t.Context(), program, "-test.run=^TestPlanLarge$", "-test.count=1")
	run.Env = append(os.Environ(), envLarge+"="+what)
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	usage, ok := run.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		t.Fatal("this system does not say what a process has taken")
	}
	return run.ProcessState.UserTime(), usage.Maxrss << 10
}
