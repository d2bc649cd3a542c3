package move

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// TestRelay: a run relays exactly the copies without a configured connection between the clusters.
func TestRelay(t *testing.T) {
	of := func(method api.VolumeMethod, asked api.CopySpec) api.VolumeSpec {
		return api.VolumeSpec{ClaimTemplate: "data", Method: method, Copy: asked}
	}
	for name, tc := range map[string]struct {
		volume api.VolumeSpec
		want   api.CopyTransport
	}{
		"nothing is said":    {of(api.MethodCopy, api.CopySpec{}), api.TransportRelay},
		"auto":               {of(api.MethodCopy, api.CopySpec{Transport: api.TransportAuto}), api.TransportRelay},
		"direct":             {of(api.MethodCopy, api.CopySpec{Transport: api.TransportDirect}), api.TransportDirect},
		"a type of Service":  {of(api.MethodCopy, api.CopySpec{ServiceType: corev1.ServiceTypeNodePort}), ""},
		"an address":         {of(api.MethodCopy, api.CopySpec{Address: "gate:8722"}), ""},
		"it is asked for":    {of(api.MethodCopy, api.CopySpec{Transport: api.TransportRelay}), api.TransportRelay},
		"nothing is copied":  {of(api.MethodRebind, api.CopySpec{}), ""},
		"snapshots are made": {of(api.MethodSnapshot, api.CopySpec{}), ""},
	} {
		t.Run(name, func(t *testing.T) {
			all := []api.VolumeSpec{tc.volume}
			var want []string
			if tc.want == api.TransportRelay && tc.volume.Copy.Transport != api.TransportRelay {
				want = []string{"data"}
			}
			if diff := cmp.Diff(want, relay(all)); diff != "" {
				t.Errorf("which it relays (-want +got):\n%s", diff)
			}
			if got := all[0].Copy.Transport; got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
