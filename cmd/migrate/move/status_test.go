package move

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/commandtest"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/movetest"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/status"
	"github.com/sliceshift/sliceshift/internal/records"
)

// TestStatusRedrawn: a watched status is redrawn in place and remains at the end.
func TestStatusRedrawn(t *testing.T) {
	c := newConsole()
	shown := c.OnTerminal(60)
	o := &statusOptions{named: named{Common: command.NewCommon(c.Environment)}}
	r := newRedrawing(o)
	k := &storedMigration{Migration: movetest.InFlight(), connection: movetest.Offline(t, "east")}
	if err := r.set(k, nil); err != nil {
		t.Fatal(err)
	}
	r.draw()
	for line := range strings.SplitSeq(shown.Shown(), "\n") {
		if len([]rune(line)) >= 60 {
			t.Errorf("a line is too long for the terminal: %q", line)
		}
	}
	k.Migration = movetest.Completed()
	r.draw()
	r.close()
	if diff := cmp.Diff(strings.TrimSpace((&status.Page{Now: commandtest.Noon, Unicode: true}).Show(k.Migration, "east", "")), shown.Shown()); diff != "" {
		t.Errorf("what is left (-want +got):\n%s", diff)
	}
}

// TestWatchAwaitsTheMigration: a watch waits for a migration that does not exist yet, for a limited time, and then shows
// it.
func TestWatchAwaitsTheMigration(t *testing.T) {
	for name, appears := range map[string]bool{"it appears": true, "it does not": false} {
		t.Run(name, func(t *testing.T) {
			east := serveRecord(t, movetest.Completed())
			record := &corev1.ConfigMap{}
			if err := east.Store.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: records.ConfigMap{Name: "web"}.ObjectName()}, record); err != nil {
				t.Fatal(err)
			}
			if err := east.Store.Delete(t.Context(), record); err != nil {
				t.Fatal(err)
			}
			c := newConsole("status", "web", "-w", "--kubeconfig", east.Kubeconfig(t))
			ended := c.Begin(t)
			const waiters = 2 // the time limit and the lookup ticker
			commandtest.Await(t, func() bool { return c.Clock.Waiters() == waiters }, func() string { return "it does not wait: " + c.Stderr.String() })
			want, step, stdout, stderr := command.ExitTimeout, appearsWithin, "", "it has not appeared within 1m0s"
			if appears {
				record.ResourceVersion = ""
				if err := east.Store.Create(t.Context(), record); err != nil {
					t.Fatal(err)
				}
				want, step, stdout, stderr = command.ExitDone, lookEvery, "4/4 moved", "no migration shop/web in cluster east yet; waiting until it appears\n"
			}
			c.Clock.Step(step)
			if code := <-ended; code != want || !strings.Contains(c.Stdout.String(), stdout) || !strings.Contains(c.Stderr.String(), stderr) {
				t.Errorf("exit code %d, want %d\n%s%s", code, want, c.Stdout, c.Stderr)
			}
		})
	}
}
