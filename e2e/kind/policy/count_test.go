package policy

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// listed is a list of nftables 1.0.6, without the fields that are not read.
const listed = `{"nftables": [{"metainfo": {"version": "1.0.6"}}, {"table": {"family": "ip", "name": "counted"}},
{"set": {"family": "ip", "name": "tried", "table": "counted", "type": ["ipv4_addr", "ipv4_addr"], "size": 65535,
 "elem": [{"elem": {"val": {"concat": ["10.245.1.5", "10.97.0.1"]}, "counter": {"packets": 4, "bytes": 336}}}], "stmt": [{"counter": null}]}},
{"set": {"family": "ip", "name": "passed", "table": "counted", "type": ["ipv4_addr", "ipv4_addr"], "size": 65535, "stmt": [{"counter": null}]}},
{"chain": {"family": "ip", "table": "counted", "name": "out", "hook": "postrouting", "prio": 90}}]}`

// TestFlows: the counters of nftables are read. A set that is missing is an error, not a count of 0.
func TestFlows(t *testing.T) {
	got, err := flows([]byte(listed))
	want := Flows{Tried: []Flow{{netip.MustParseAddr("10.245.1.5"), netip.MustParseAddr("10.97.0.1"), 4}}}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	for name, text := range map[string]string{"no set": `{"nftables": []}`, "no JSON": "table ip counted"} {
		if _, err := flows([]byte(text)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
