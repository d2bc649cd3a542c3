package move

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/commandtest"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/movetest"
	"github.com/sliceshift/sliceshift/internal/records"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// TestV3EveryCommand: for a run that no process drives, each command says since when, which ordinal is down and how to continue. It ends
// with 3, also if the mode that it writes is the one of the last heartbeat.
func TestV3EveryCommand(t *testing.T) {
	m := movetest.InFlight()
	m.Spec.Mode = api.ModeRun
	m.Annotations = map[string]string{records.DestinationNameAnnotationKey: "west"}
	m.Status.Baseline.DestinationCluster = "cluster-west"
	m.Status.Heartbeat = &api.Heartbeat{Time: metav1.NewTime(commandtest.Noon.Add(-time.Minute)), Mode: api.ModeRun}
	for _, args := range []string{"status web", "status web -o json", "status web -o yaml", "report web", "report web -o json", "pause web", "resume web", "rollback web"} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			east := serveRecord(t, m.DeepCopy())
			c := newConsole(append(strings.Fields(args), "--kubeconfig", east.Kubeconfig(t))...)
			code := c.PassTime(t, c.Begin(t), time.Second)
			said := c.Stderr.String()
			for _, want := range []string{"nobody has driven this since 11:59:00 UTC; ordinal 2 is down; to go on: migrate run web -n shop", "--to-context west"} {
				if code != command.ExitStalled || !strings.Contains(said, want) {
					t.Errorf("exit code %d, %q does not say %q", code, said, want)
				}
			}
		})
	}
}
