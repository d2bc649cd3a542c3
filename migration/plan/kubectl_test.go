package plan

import "testing"

// TestKubectl: a command names its cluster: by the context, or in words if none is known.
func TestKubectl(t *testing.T) {
	for _, tc := range []struct{ cluster, flags, want string }{
		{"east", "--context east", "kubectl --context east get pods"},
		{"east (https://a)", "--kubeconfig /a --context east", "kubectl --kubeconfig /a --context east get pods"},
		{"local", "", "in cluster local: kubectl get pods"},
		{"", "", "kubectl get pods"},
	} {
		if got := (Side{Cluster: tc.cluster, Flags: tc.flags}).Kubectl().Do("get", "pods"); got != tc.want {
			t.Errorf("cluster %q, flags %q: %q, want %q", tc.cluster, tc.flags, got, tc.want)
		}
	}
}

// TestMigrate: a plugin's flags follow its name.
func TestMigrate(t *testing.T) {
	for want, tc := range map[string]struct{ cluster, flags string }{
		"kubectl migrate rollback web --context east":    {"east", "--context east"},
		"in cluster local: kubectl migrate rollback web": {"local", ""},
		"kubectl migrate rollback web":                   {"", ""},
	} {
		if got := Kubectl(tc.cluster, tc.flags).Migrate("rollback", "web"); got != want {
			t.Errorf("%+v: %q, want %q", tc, got, want)
		}
	}
}

// TestRolloutStatus: each kind has the command that shows its rollout, in its cluster.
func TestRolloutStatus(t *testing.T) {
	for resource, want := range map[string]string{
		"":            "kubectl --context east rollout status -n shop sts/web",
		SliceResource: "kubectl migrate rollout status -n shop web --context east",
		"other":       "kubectl --context east get other -n shop web --watch",
	} {
		side := Side{Cluster: "east", Flags: "--context east", Namespace: "shop", Set: Set{Name: "web", Resource: resource}}
		if got := side.RolloutStatus(); got != want {
			t.Errorf("%s: %q, want %q", resource, got, want)
		}
	}
}
