package plan

import "testing"

// TestKubectl: a command names the cluster that it is for: by the context, or in words where none is known.
func TestKubectl(t *testing.T) {
	for _, tc := range []struct{ cluster, flags, want string }{
		{"east", "--context east", "kubectl --context east"},
		{"east (https://a)", "--kubeconfig /a --context east", "kubectl --kubeconfig /a --context east"},
		{"local", "", "in cluster local: kubectl"},
		{"", "", "kubectl"},
	} {
		if got := (Side{Cluster: tc.cluster, Flags: tc.flags}).Kubectl(); got != tc.want {
			t.Errorf("cluster %q, flags %q: %q, want %q", tc.cluster, tc.flags, got, tc.want)
		}
	}
}
