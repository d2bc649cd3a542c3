package flags

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
		"data": "TEMPLATE=METHOD", "=empty": "TEMPLATE=METHOD", "data=copy-it": "rebind or empty",
		"data=empty,sure": "fills-from-peers", "data=rebind,fills-from-peers": "none of what can be said", "data=empty,": "none of",
	} {
		if _, err := parseSpec("--volume", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
