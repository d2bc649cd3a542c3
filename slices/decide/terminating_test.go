package decide

import (
	"strings"
	"testing"
	"time"
)

// TestY12LostNode: the reason of a pod whose node does not answer names the node, since when, and the taint that frees it.
func TestY12LostNode(t *testing.T) {
	d := Decide(slice(2, "b b-", settledAt("b")).with(1, func(p *Pod) { p.Node, p.LostSince = "node-1", noon.Add(-time.Hour) }))
	const want = "it is not Ready, because node node-1 is not Ready or does not answer since 2026-01-01T11:00:00Z; repair the node, or power it off, make sure that it is off, and free its pods: kubectl taint nodes node-1 node.kubernetes.io/out-of-service=nodeshutdown:NoExecute"
	if len(d.Held) != 1 || d.Held[0].Reason != HeldNotReady || d.Held[0].Message != want {
		t.Errorf("held %+v", d.Held)
	}
}

// TestY12Terminating: the reason of a Terminating pod names its node, since when it is late, and the taint that frees it.
func TestY12Terminating(t *testing.T) {
	const taint = "kubectl taint nodes node-1 node.kubernetes.io/out-of-service=nodeshutdown:NoExecute"
	gone := func(left time.Duration, finalizers ...string) func(*Pod) {
		return func(p *Pod) { p.Node, p.GoneBy, p.Finalizers = "node-1", noon.Add(left), finalizers }
	}
	for name, tc := range map[string]struct {
		word   string
		change func(*Pod)
		want   []string
		not    string
		wait   time.Duration
	}{
		"within its grace period":           {"bt", gone(time.Minute), []string{"its grace period ends at 2026-01-01T12:01:00Z"}, "taint", 90 * time.Second},
		"shortly after it":                  {"bt", gone(-20 * time.Second), []string{"its grace period ends at 2026-01-01T11:59:40Z"}, "taint", 10 * time.Second},
		"its node does not answer":          {"bt", gone(-time.Hour), []string{"node node-1 has not confirmed since 2026-01-01T11:00:00Z", "make sure that it is off", taint}, "finalizers", 0},
		"its node, and a finalizer":         {"bt", gone(-time.Hour, "x.io/hold"), []string{taint, "finalizers: x.io/hold"}, "", 0},
		"it has ended, and has a finalizer": {"b!t", gone(-time.Hour, "x.io/hold", "y.io/hold"), []string{"finalizers: x.io/hold, y.io/hold"}, "node-1", 0},
		"it never had a node": {"b?t", func(p *Pod) {
			gone(-time.Hour, "x.io/hold")(p)
			p.Node = ""
		}, []string{"finalizers: x.io/hold"}, "taint", 0},
		"its time is not known": {"bt", func(p *Pod) { p.GoneBy = time.Time{} }, []string{"it is Terminating"}, "taint", 0},
	} {
		for where, in := range map[string]Input{
			"owned":       slice(2, "b "+tc.word, settledAt("b")).with(1, tc.change),
			"scaled away": slice(1, "b "+tc.word, settledAt("b")).with(1, tc.change),
		} {
			d := Decide(in)
			if len(d.Held) != 1 || d.Held[0].Reason != HeldTerminating || d.Wait != tc.wait {
				t.Errorf("%s, %s: held %+v, wait %s", name, where, d.Held, d.Wait)
				continue
			}
			for _, part := range tc.want {
				if !strings.Contains(d.Held[0].Message, part) {
					t.Errorf("%s, %s: %q is not in %q", name, where, part, d.Held[0].Message)
				}
			}
			if tc.not != "" && strings.Contains(d.Held[0].Message, tc.not) {
				t.Errorf("%s, %s: %q is in %q", name, where, tc.not, d.Held[0].Message)
			}
		}
	}
}
