package move

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/apitest"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/commandtest"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/movetest"
	"github.com/sliceshift/sliceshift/internal/records"
)

// TestV3EveryCommand: for a run that no process drives, each command prints since when, which ordinal is down and how to
// continue. It exits with 3, even if the mode that it writes is the mode of the last heartbeat.
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
			for _, want := range []string{"no process has driven this since 11:59:00 UTC; ordinal 2 is down; to go on: migrate run web -n shop", "--to-context west"} {
				if code != command.ExitStalled || !strings.Contains(said, want) {
					t.Errorf("exit code %d, %q does not say %q", code, said, want)
				}
			}
		})
	}
}

// TestV3NoManager: if no manager reacts to a pause, the command exits with 3 and prints where to look.
func TestV3NoManager(t *testing.T) {
	t.Parallel()
	m := movetest.InMode(api.ModeRun)
	m.Generation, m.Status.ObservedGeneration = 2, 1
	served := map[schema.GroupVersion]map[string]string{
		corev1.SchemeGroupVersion: {"configmaps": "ConfigMap", "namespaces": "Namespace"}, api.GroupVersion: {"migrations": "Migration"},
	}
	east := apitest.Serve(t, served, m, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: "cluster-1"}})
	c := newConsole("pause", "web", "--kubeconfig", east.Kubeconfig(t))
	code := c.Begin(t)
	c.AwaitWaiting(t)
	c.Clock.Step(managerNoticeFor)
	if got, said := <-code, c.Stderr.String(); got != command.ExitStalled || !strings.Contains(said, "no process has taken notice within 20s") ||
		!strings.Contains(said, "logs -n sliceshift-system deployment/sliceshift-manager") {
		t.Errorf("exit code %d, %q", got, said)
	}
}
