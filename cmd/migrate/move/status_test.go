package move

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/commandtest"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/movetest"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/status"
)

// TestStatusRedrawn: a watched status overwrites itself and stays at the end.
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
