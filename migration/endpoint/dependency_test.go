package endpoint

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/sliceshift/sliceshift/migration/dependencies"
)

// serving returns the client of an API server that serves a kind in some versions.
func serving(kind dependencies.Kind, versions ...string) client.Client {
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, version := range versions {
		mapper.Add(kind.GroupKind().WithVersion(version), meta.RESTScopeNamespace)
	}
	return fake.NewClientBuilder().WithRESTMapper(mapper).Build()
}

// TestCommonVersion: an object that is read on one side can be written on the other, whichever cluster is newer.
func TestCommonVersion(t *testing.T) {
	kind, _ := dependencies.KindOf(dependencies.ResourceClaimTemplate)
	for name, tc := range map[string]struct {
		here, there []string
		want        string
	}{
		"the same":                       {[]string{"v1"}, []string{"v1"}, "v1"},
		"the best of several":            {[]string{"v1beta1", "v1"}, []string{"v1beta1", "v1"}, "v1"},
		"the destination is older":       {[]string{"v1", "v1beta1"}, []string{"v1beta1"}, "v1beta1"},
		"the destination is newer":       {[]string{"v1beta2", "v1beta1"}, []string{"v1", "v1beta2"}, "v1beta2"},
		"it serves the old one no more":  {[]string{"v1beta1"}, []string{"v1"}, ""},
		"it does not know the kind":      {[]string{"v1"}, nil, ""},
		"a version that nobody has read": {[]string{"v2"}, []string{"v2"}, ""},
	} {
		pair := &Pair{Source: Endpoint{Live: serving(kind, tc.here...)}, Destination: Endpoint{Live: serving(kind, tc.there...)}}
		if got, err := pair.CommonVersion(kind); got != tc.want || err != nil {
			t.Errorf("%s: %q, %v, want %q", name, got, err, tc.want)
		}
	}
}
