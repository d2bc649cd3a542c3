package main

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sliceshift/sliceshift/e2e/kind/policy"
)

// TestPackets: a packet leaves a rehearsal unless its receiver is a pod of the rehearsal, or the cluster's DNS. Each rehearsal
// is judged once.
func TestPackets(t *testing.T) {
	pods := map[string]policy.Pod{
		"10.0.0.1": {Namespace: "rehearsal-db-1", Name: control},
		"10.0.0.2": {Namespace: "rehearsal-db-1", Name: "db-0"},
		"10.0.0.3": {Namespace: "rehearsal-db-1", Name: "db-1"},
		"10.0.0.4": {Namespace: "kube-system", Name: "coredns", Labels: map[string]string{"k8s-app": "kube-dns"}},
		"10.0.0.5": {Namespace: "shop", Name: "web-0"},
		"10.0.0.6": {Namespace: "rehearsal-db-2", Name: "db-0"},
	}
	c := census{dns: "10.96.0.10", judged: map[string]bool{}, at: func(a netip.Addr) (policy.Pod, bool) {
		pod, known := pods[a.String()]
		return pod, known
	}}
	flow := func(from, to string, n int64) policy.Flow {
		return policy.Flow{From: netip.MustParseAddr(from), To: netip.MustParseAddr(to), Packets: n}
	}
	flows := policy.Flows{
		Tried: []policy.Flow{
			flow("10.0.0.1", "10.96.0.1", 7), flow("10.0.0.2", "10.96.0.10", 4), flow("10.0.0.2", "10.0.0.3", 8), flow("10.0.0.3", "10.9.0.1", 16), flow("10.0.0.5", "10.9.0.1", 1),
		},
		Passed: []policy.Flow{
			flow("10.0.0.1", "192.0.2.1", 7), flow("10.0.0.2", "10.0.0.4", 4), flow("10.0.0.2", "10.0.0.3", 8), flow("10.0.0.3", "10.0.0.5", 2), flow("10.0.0.5", "10.9.0.1", 1),
		},
	}
	got, err := c.judge(flows)
	want := packets{control: 7, inside: 8, dns: 4, left: 2, tried: 16, to: map[string]int64{"sent to 10.9.0.1": 16, "left to pod shop/web-0": 2}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(packets{})); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	flows.Passed = append(flows.Passed, flow("10.0.0.6", "10.9.0.1", 3))
	if got, err := c.judge(flows); err != nil || got.left != 3 || got.control != 0 {
		t.Errorf("the next rehearsal: %+v, %v", got, err)
	}
	flows.Passed = append(flows.Passed, flow("10.0.0.7", "10.9.0.1", 1))
	if _, err := c.judge(flows); err == nil {
		t.Error("a packet of an unknown pod is ignored")
	}
}
