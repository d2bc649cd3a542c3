package cluster

import (
	"context"
	"strings"
	"testing"
)

// testCheck breaks one role after the other, and expects Check to report each.
func testCheck(t *testing.T, c *Cluster) {
	check := func() error { return c.Check(bounded(t)) }
	says := func(err error, parts ...string) {
		t.Helper()
		for _, part := range parts {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("check says %v, want it to say %q", err, part)
			}
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(check())
	must(c.Kill(Kwok))
	says(check(), "cluster s", "kwok", "StartRole")
	must(c.StartRole(bounded(t), Kwok))
	must(check())
	must(c.Freeze(Scheduler))
	says(check(), "cluster s", "kube-scheduler", "Thaw")
	must(c.Thaw(Scheduler))
	must(check())
	must(c.process(Kwok).Freeze()) // the cluster is not aware of this
	short, cancel := context.WithTimeout(t.Context(), probeTimeout)
	defer cancel()
	says(c.Check(short), "cluster s", "pod", "not Ready")
	must(c.process(Kwok).Thaw())
	must(check())
}
