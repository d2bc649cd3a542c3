package move

import (
	"strings"
	"testing"

	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/movetest"
)

// TestV9StatusFits: on a terminal no line of the status page exceeds the width, and no word is lost.
func TestV9StatusFits(t *testing.T) {
	kubeconfig := serveRecord(t, movetest.Stalled()).Kubeconfig(t)
	for _, width := range []int{60, 80, 120} {
		c := newConsole("status", "web", "--color", "never", "--kubeconfig", kubeconfig)
		shown := c.OnTerminal(width)
		if code := c.Run(t); code != command.ExitStalled {
			t.Fatalf("exit code %d: %s", code, c.Stderr)
		}
		for line := range strings.SplitSeq(shown.Shown(), "\n") {
			if len([]rune(line)) >= width {
				t.Errorf("%d columns: %q", width, line)
			}
		}
		words := strings.Join(strings.Fields(shown.Shown()), " ")
		for _, want := range []string{"ordinal 2 has been at AwaitReadiness for longer than 10s", "kubectl describe pod -n shop web-2", "waiting until pod shop/web-2 in cluster west is Ready"} {
			if !strings.Contains(words, want) {
				t.Errorf("%d columns: %q is not in:\n%s", width, want, shown.Shown())
			}
		}
	}
}
