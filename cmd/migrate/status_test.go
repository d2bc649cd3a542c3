package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestStatusRedrawn: a watched status overwrites itself and stays at the end.
func TestStatusRedrawn(t *testing.T) {
	c := moveConsole()
	shown := c.onTerminal(60)
	o := &statusOptions{named: named{common: newCommon(c.environment)}}
	r := newRedrawing(o)
	k := &kept{Migration: onItsWay(), connection: offline(t, "east")}
	if err := r.set(k, nil); err != nil {
		t.Fatal(err)
	}
	r.draw()
	for line := range strings.SplitSeq(shown.shown(), "\n") {
		if len([]rune(line)) >= 60 {
			t.Errorf("a line is too long for the terminal: %q", line)
		}
	}
	k.Migration = completedMigration()
	r.draw()
	r.close()
	if diff := cmp.Diff(strings.TrimSpace((&page{now: noon, unicode: true}).show(k.Migration, "east", "")), shown.shown()); diff != "" {
		t.Errorf("what is left (-want +got):\n%s", diff)
	}
}
