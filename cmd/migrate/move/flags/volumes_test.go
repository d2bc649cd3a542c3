package flags

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// TestVolumeFlag: what a person knows of the application stands behind the method.
func TestVolumeFlag(t *testing.T) {
	for text, want := range map[string]api.VolumeSpec{
		"data=rebind":                 {ClaimTemplate: "data", Method: api.MethodRebind},
		"data=empty":                  {ClaimTemplate: "data", Method: api.MethodEmpty},
		"data=empty,fills-from-peers": {ClaimTemplate: "data", Method: api.MethodEmpty, Empty: api.EmptySpec{FillsFromPeers: true}},
		"data=empty,fills-from-peers,ready-when-filled,returns-to-kept": {
			ClaimTemplate: "data", Method: api.MethodEmpty, Empty: api.EmptySpec{FillsFromPeers: true, ReadyWhenFilled: true, ReturnsToKept: true},
		},
		"data=copy,image=registry:5000/m:v1": {ClaimTemplate: "data", Method: api.MethodCopy, Copy: api.CopySpec{Image: "registry:5000/m:v1"}},
		"data=copy,image=m,size=5Gi,service=load-balancer,address=gate:8722,bandwidth=50Mi,run-as=7:8": {
			ClaimTemplate: "data", Method: api.MethodCopy, Copy: api.CopySpec{
				Image: "m", Size: new(resource.MustParse("5Gi")), ServiceType: corev1.ServiceTypeLoadBalancer, Address: "gate:8722",
				Bandwidth: new(resource.MustParse("50Mi")), RunAsUser: new(int64(7)), RunAsGroup: new(int64(8)),
			},
		},
	} {
		got, err := parseSpec("--volume", text)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]api.VolumeSpec{want}, got.Volumes); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
	for text, want := range map[string]string{
		"data": "TEMPLATE=METHOD", "=empty": "TEMPLATE=METHOD", "data=copy-it": "rebind, empty or copy",
		"data=copy,image": "none of what", "data=copy,size=-1": "none of what", "data=copy,service=mesh": "none of what", "data=copy,run-as=me": "none of what",
		"data=copy,run-as=1:": "none of what", "data=copy,fills-from-peers": "none of what",
		"data=empty,sure": "fills-from-peers", "data=rebind,fills-from-peers": "none of what can be said", "data=empty,": "none of",
	} {
		if _, err := parseSpec("--volume", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
