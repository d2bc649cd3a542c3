package decide

import (
	"fmt"
	"strings"
	"testing"
	"time"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// onNode puts a pod on node-1, not Ready for some time.
func onNode(ago time.Duration, change func(*Pod)) func(*Pod) {
	return func(p *Pod) {
		p.Node, p.UnreadySince = "node-1", noon.Add(-ago)
		if change != nil {
			change(p)
		}
	}
}

// TestY12NoBlameForANode: a roll-out fails because of a pod only if the pod's node has answered. Until then the roll-out has
// not failed, and the node is asked.
func TestY12NoBlameForANode(t *testing.T) {
	asked := func(ago time.Duration) func(*Pod) { return func(p *Pod) { p.Asked = noon.Add(-ago) } }
	overdue := since(time.Hour, Progress{Late: true, Updated: 1})
	failed := since(time.Hour, Progress{Late: true, Failed: true, Updated: 1})
	for name, tc := range map[string]struct {
		in     Input
		failed bool
		asks   string
		wait   time.Duration
	}{
		"it was never asked":           {slice(2, "a b-", overdue).with(1, onNode(time.Hour, nil)), false, "node-1", askAgain},
		"it was asked, and is silent":  {slice(2, "a b-", overdue).with(1, onNode(time.Hour, asked(askAgain))), false, "node-1", askAgain},
		"it was asked a moment ago":    {slice(2, "a b-", overdue).with(1, onNode(time.Hour, asked(time.Second))), false, "", askAgain - time.Second},
		"it answers":                   {slice(2, "a b-", overdue).with(1, onNode(time.Hour, func(p *Pod) { p.Answers, p.Asked = true, noon })), true, "", 30 * time.Minute},
		"it has no node":               {slice(2, "a b?", overdue), true, "", 0},
		"it has ended":                 {slice(2, "a b!", overdue).with(1, onNode(time.Hour, nil)), true, "", 0},
		"it is Ready, not available":   {slice(2, "a b", overdue, minReady(3600)).with(1, onNode(time.Hour, func(p *Pod) { p.ReadySince = noon })), false, "", time.Hour},
		"the roll-out has failed":      {slice(2, "a b-", failed).with(1, onNode(time.Hour, asked(time.Second))), true, "", 30*time.Minute - time.Second},
		"the creation is late":         {slice(2, "a .", overdue), true, "", 0},
		"another roll-out has failed":  {slice(2, "a b-", since(time.Hour, Progress{Late: true, Failed: true}), func(in *Input) { in.Progress.Revision = "x" }).with(1, onNode(time.Second, nil)), false, "", 59 * time.Second},
		"the deadline is not over yet": {slice(2, "a b-", since(time.Minute, Progress{Late: true, Updated: 1})).with(1, onNode(time.Second, nil)), false, "", 59 * time.Second},
	} {
		d := Decide(tc.in)
		if d.Progress.Failed != tc.failed || strings.Join(d.AskNodes, " ") != tc.asks || d.Wait != tc.wait {
			t.Errorf("%s: failed %t, asks %v, wait %s", name, d.Progress.Failed, d.AskNodes, d.Wait)
		}
		if !tc.failed && (d.FailedRevision != "" || d.Progress.Message != "") {
			t.Errorf("%s: %q, %q", name, d.FailedRevision, d.Progress.Message)
		}
	}
}

// TestY12AskNodes: the nodes of pods that are not Ready are asked, less often the longer that lasts, and no others.
func TestY12AskNodes(t *testing.T) {
	lost := func(asked time.Duration) func(*Pod) {
		return func(p *Pod) { p.LostSince, p.Asked = noon.Add(-time.Hour), noon.Add(-asked) }
	}
	asked := func(ago time.Duration) func(*Pod) { return func(p *Pod) { p.Asked = noon.Add(-ago) } }
	for name, tc := range map[string]struct {
		word   string
		change func(*Pod)
		asks   string
		wait   time.Duration
	}{
		"Ready":                         {"b", onNode(time.Hour, nil), "", 0},
		"not Ready for a moment":        {"b-", onNode(10*time.Second, nil), "", 50 * time.Second},
		"not Ready for long":            {"b-", onNode(suspectAfter, nil), "node-1", askAgain},
		"Pending for long":              {"b?", onNode(time.Hour, nil), "node-1", askAgain},
		"asked already":                 {"b-", onNode(time.Minute, asked(time.Second)), "", 59 * time.Second},
		"asked some time ago":           {"b-", onNode(2*time.Hour, asked(time.Minute)), "", 59 * time.Minute},
		"asked long ago":                {"b-", onNode(2*time.Hour, asked(time.Hour)), "node-1", askAgain},
		"its node is lost":              {"b-", onNode(2*time.Hour, lost(59*time.Second)), "", time.Second},
		"its node is lost, asked again": {"b-", onNode(2*time.Hour, lost(time.Minute)), "node-1", askAgain},
		"its status shows a lost node":  {"b-", onNode(2*time.Hour, func(p *Pod) { p.LostSince = noon }), "", 0},
		"it is Terminating":             {"b-t", onNode(time.Hour, nil), "", 0},
		"it has no node":                {"b?", nil, "", 0},
		"it has ended, and comes again": {"b!", onNode(time.Hour, nil), "", 0},
	} {
		d := Decide(slice(2, "b "+tc.word, settledAt("b")).with(1, func(p *Pod) {
			if tc.change != nil {
				tc.change(p)
			}
		}))
		if got := strings.Join(d.AskNodes, " "); got != tc.asks || d.Wait != tc.wait {
			t.Errorf("%s: asks %q, wait %s", name, got, d.Wait)
		}
	}
}

// TestY12FewNodes: a pass asks each node once, and no more nodes than it may.
func TestY12FewNodes(t *testing.T) {
	in := slice(20, strings.Repeat("b- ", 20), settledAt("b"), parallel, by(api.OnDelete))
	for i := range in.Pods {
		in.Pods[i].Node, in.Pods[i].UnreadySince = fmt.Sprintf("node-%d", i/2), noon.Add(-time.Hour)
	}
	d := Decide(in)
	if got, want := strings.Join(d.AskNodes, " "), "node-0 node-1 node-2 node-3 node-4 node-5 node-6 node-7"; got != want {
		t.Errorf("asks %q, want %q", got, want)
	}
}
