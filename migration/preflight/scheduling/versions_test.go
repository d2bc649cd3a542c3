package scheduling

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint/endpointtest"
)

// TestSkew: an older destination is reported, and so is a kubelet outside its API server's version skew.
func TestSkew(t *testing.T) {
	for name, tc := range map[string]struct {
		source, destination, kubelet string
		says                         []string
	}{
		"the same":             {"v1.34.1", "v1.34.7", "v1.34.0", nil},
		"newer":                {"v1.30.1", "v1.34.0", "v1.34.0", nil},
		"older":                {"v1.34.0", "v1.33.9-eks-1a2b", "v1.33.1", []string{"cluster west runs Kubernetes 1.33, and cluster east, where the pods run now, 1.34"}},
		"three kubelets back":  {"v1.34.0", "v1.34.0", "v1.31.0+k3s1", nil},
		"four kubelets back":   {"v1.34.0", "v1.34.0", "v1.30.14", []string{"version 1.30, and its API server of 1.34"}},
		"a kubelet ahead":      {"v1.34.0", "v1.34.0", "v1.35.0", []string{"version 1.35"}},
		"both":                 {"v1.34.0", "v1.33.0", "v1.34.0", []string{"1.33", "kubelet of node a"}},
		"no version":           {"v1.34.0", "", "v1.1.0", nil},
		"a source without one": {"", "v1.34.0", "v1.34.0", nil},
		"a kubelet of words":   {"v1.34.0", "v1.34.0", "fake", nil},
	} {
		t.Run(name, func(t *testing.T) {
			node := nodeOf("a", "", func(n *corev1.Node) { n.Status.NodeInfo.KubeletVersion = tc.kubelet })
			off := nodeOf("b", "", func(n *corev1.Node) { n.Status.NodeInfo.KubeletVersion, n.Spec.Unschedulable = "v1.2.0", true })
			found := Skew(endpointtest.Pair(nil, nil), tc.source, tc.destination, []corev1.Node{off, node})
			if len(found) != len(tc.says) {
				t.Fatalf("found %+v", found)
			}
			for i, f := range found {
				if f.Reason != api.ReasonVersionSkew || !f.Warning || f.Remedy == "" || !strings.Contains(f.Message, tc.says[i]) {
					t.Errorf("found %+v, want %q", f, tc.says[i])
				}
			}
		})
	}
}
