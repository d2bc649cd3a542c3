package move

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sliceshift/sliceshift/config"
	"github.com/sliceshift/sliceshift/e2e/harness"
)

// besideVariable sets how long other moves run alongside a tenant that does its worst.
const besideVariable = "SLICESHIFT_HOSTILE"

// besideAtLeast is that duration in make test.
const besideAtLeast = 15 * time.Second

// keptSpeed is the fraction of their speed that other moves must keep.
const keptSpeed = 0.8

// manyMoves is the number of moves from which medians are compared. With fewer moves the fastest ones are
// compared, because a single slow move may only reflect the load of another test.
const manyMoves = 20

// TestHostileMemory: tenants do their worst (S3, S4, K0, K2, K3, K4). The manager stays within the memory limit
// of the manifest, and other moves keep at least keptSpeed of their speed.
func TestHostileMemory(t *testing.T) {
	period := besideAtLeast
	if given := os.Getenv(besideVariable); given != "" {
		var err error
		if period, err = time.ParseDuration(given); err != nil {
			t.Fatal(err)
		}
	}
	n := startTenancy(t, "memory")
	n.neighbour(t, 3, time.Minute) // the first move waits for much else
	alone := n.neighbours(t, 3, period/4)
	quiet := n.manager.Peak()
	worst := n.worst(t)
	beside := n.neighbours(t, 3, period)
	worst.end(t)
	peak, allowed := n.manager.Peak(), shippedMemory(t)
	text := fmt.Sprintf("Beside %d Migrations of %d namespaces whose clusters answer without end, not at all, or in an hour, that hold what does not decode, or that ask for the disks of others, for %s: a move of 3 ordinals took "+
		"%.2f s (median of %d; the fastest %.2f s), and %.2f s without them (median of %d; the fastest %.2f s). The manager's peak was %d MiB, "+
		"%d MiB before; the manifest allows %d MiB.", worst.migrations, worst.namespaces, period, median(beside), len(beside), beside[0], median(alone), len(alone), alone[0], peak>>20, quiet>>20, allowed>>20)
	t.Log(text)
	speed := alone[0] / beside[0]
	if len(beside) >= manyMoves {
		speed = median(alone) / median(beside)
	}
	if speed < keptSpeed {
		t.Errorf("S4: others have kept %.2f of their speed, want %.2f", speed, keptSpeed)
	}
	if peak > allowed {
		t.Errorf("S3: the manager's peak was %d MiB, and the manifest allows %d MiB", peak>>20, allowed>>20)
	}
	harness.WriteFigures(t, "hostile", text)
}

// neighbours moves applications for the period, at least atLeast times, and returns the sorted durations in
// seconds.
func (n *tenancy) neighbours(t *testing.T, atLeast int, period time.Duration) []float64 {
	t.Helper()
	var took []float64
	for began := time.Now(); len(took) < atLeast || time.Since(began) < period; {
		took = append(took, n.neighbour(t, 3, time.Minute).Seconds())
	}
	slices.Sort(took)
	return took
}

func median(sorted []float64) float64 { return sorted[len(sorted)/2] }

// shippedContainer returns the manager's container in the shipped manifests.
func shippedContainer(t *testing.T) corev1.Container {
	t.Helper()
	objects, err := config.ManagerObjects()
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range objects {
		if object.GetKind() != "Deployment" {
			continue
		}
		deployment := &appsv1.Deployment{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, deployment); err != nil {
			t.Fatal(err)
		}
		return deployment.Spec.Template.Spec.Containers[0]
	}
	t.Fatal("no Deployment is shipped")
	return corev1.Container{}
}

// shippedMemory returns the manager's memory limit in the manifest.
func shippedMemory(t *testing.T) int64 {
	t.Helper()
	limits := shippedContainer(t).Resources.Limits
	return limits.Memory().Value()
}
