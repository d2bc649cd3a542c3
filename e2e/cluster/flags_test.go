package cluster

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/version"
)

// TestY13IdleControllers: each version of Kubernetes disables only controllers that it knows. The attach controller runs if
// it is needed.
func TestY13IdleControllers(t *testing.T) {
	for release, row := range map[string]struct{ has, lacks []string }{
		"v1.34.4": {[]string{"service-lb-controller", "ttl-controller", attachController}, []string{"podgroup-protection-controller"}},
		"v1.35.4": {[]string{"node-route-controller", "storage-version-migrator-controller"}, []string{"podgroup-protection-controller", "resourcepoolstatusrequest-controller"}},
		"v1.36.3": {[]string{"service-lb-controller", "podgroup-protection-controller"}, nil},
		"v1.37.2": {[]string{"podgroup-protection-controller"}, []string{"service-lb-controller", "node-route-controller", "cloud-node-lifecycle-controller"}},
	} {
		got := strings.Split(disabled(version.MustParseSemantic(release), false), ",-")
		for _, name := range row.has {
			if !strings.Contains(strings.Join(got, " ")+" ", " "+name+" ") {
				t.Errorf("%s does not disable %s", release, name)
			}
		}
		for _, name := range row.lacks {
			if strings.Contains(strings.Join(got, " "), name) {
				t.Errorf("%s disables %s", release, name)
			}
		}
		if strings.Contains(disabled(version.MustParseSemantic(release), true), attachController) {
			t.Errorf("%s disables %s although it is needed", release, attachController)
		}
	}
}
