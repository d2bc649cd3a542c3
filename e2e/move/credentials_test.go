package move

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/fixture"
)

// TestCredentialsAreKept: the API server accepts a reference to a gate's credentials, and refuses credentials
// in the gate itself.
func TestCredentialsAreKept(t *testing.T) {
	n := startTenancy(t, "credentials")
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "credentials-"}}
	ctx := t.Context()
	if err := n.client.Create(ctx, namespace); err != nil {
		t.Fatal(err)
	}
	token := &api.GateSecretReference{Name: "token"}
	headers := func(all ...api.GateHeader) api.HTTPGate { return api.HTTPGate{Headers: all} }
	for name, tc := range map[string]struct {
		gate api.HTTPGate
		kept bool
	}{
		"a token":                        {api.HTTPGate{BearerTokenSecretRef: token}, true},
		"a header":                       {headers(api.GateHeader{Name: "X-Api-Key", SecretRef: token}), true},
		"the whole header":               {headers(api.GateHeader{Name: "Authorization", SecretRef: token}), true},
		"a header as it is":              {headers(api.GateHeader{Name: "X-Shop", Value: "mine"}), true},
		"the header in the open":         {headers(api.GateHeader{Name: "authorization", Value: "Bearer abc"}), false},
		"a value and a Secret":           {headers(api.GateHeader{Name: "X-Api-Key", Value: "a", SecretRef: token}), false},
		"a token and the header":         {api.HTTPGate{BearerTokenSecretRef: token, Headers: headers(api.GateHeader{Name: "Authorization", SecretRef: token}).Headers}, false},
		"what is not the name of it":     {api.HTTPGate{BearerTokenSecretRef: &api.GateSecretReference{Name: "../token"}}, false},
		"a token and an ordinary header": {api.HTTPGate{BearerTokenSecretRef: token, Headers: headers(api.GateHeader{Name: "X-Shop", Value: "mine"}).Headers}, true},
	} {
		tc.gate.Port = 8080
		m := fixture.NewMigration(namespace.Name, "web")
		m.Spec.Destination.Namespace = "elsewhere"
		m.Spec.Gates = []api.HealthGate{{Name: "ready", At: []api.GatePoint{api.GateAfterStart}, HTTP: &tc.gate}}
		err := n.client.Create(ctx, m, client.DryRunAll)
		if (err == nil) != tc.kept {
			t.Errorf("%s: %v", name, err)
		}
	}
}
