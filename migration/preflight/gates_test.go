package preflight

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters/clustertest"
	"github.com/sliceshift/sliceshift/migration/endpoint/endpointtest"
	"github.com/sliceshift/sliceshift/migration/health"
)

// TestHealthGates: gates that cannot be evaluated refuse a migration, and those that only warn are warnings. Gates
// that send requests to pods need the rights for that.
func TestHealthGates(t *testing.T) {
	http, grpc := api.HealthGate{Name: "http", HTTP: &api.HTTPGate{}}, api.HealthGate{Name: "grpc", GRPC: &api.GRPCGate{}}
	token := &api.GateSecretReference{Name: "token"}
	secret := api.HealthGate{Name: "secret", HTTP: &api.HTTPGate{BearerTokenSecretRef: token, Headers: []api.GateHeader{{Name: "X-Key", SecretRef: token}}}}
	wrong, dry := api.HealthGate{Name: "wrong"}, api.HealthGate{Name: "dry", DryRun: true, HTTP: &api.HTTPGate{}}
	for name, tc := range map[string]struct {
		gates []api.HealthGate
		asked string
		want  string
	}{
		"none": {nil, "", ""},
		"http": {[]api.HealthGate{http}, "get pods/proxy", "PermissionMissing StatefulSet shop/web in cluster west"},
		"grpc": {[]api.HealthGate{grpc, http}, "create pods/portforward, get pods/proxy", "PermissionMissing StatefulSet shop/web in cluster west"},
		"a Secret": {
			[]api.HealthGate{secret},
			"create pods/portforward, get secrets/ token",
			"PermissionMissing StatefulSet shop/web in cluster west; PermissionMissing StatefulSet shop/web in cluster west",
		},
		"it is wrong":    {[]api.HealthGate{wrong}, "", "GateInvalid gate wrong"},
		"and only warns": {[]api.HealthGate{dry}, "", "GateInvalid gate dry, a warning"},
	} {
		var mu sync.Mutex
		var asked []string
		grants := func(allowed bool) client.WithWatch {
			return clustertest.Hooked(clustertest.Hooks{Create: func(_ context.Context, _ client.WithWatch, object client.Object, _ ...client.CreateOption) error {
				review, one := object.(*authorizationv1.SelfSubjectAccessReview)
				if !one {
					return nil
				}
				mu.Lock()
				defer mu.Unlock()
				of := review.Spec.ResourceAttributes
				asked = append(asked, strings.TrimSpace(of.Verb+" "+of.Resource+"/"+of.Subresource+" "+of.Name))
				review.Status.Allowed = allowed
				return nil
			}})
		}
		e := &Inspector{Pair: endpointtest.Pair(grants(true), grants(false)), Gate: func(gate api.HealthGate) *health.Answer {
			if gate.Name == "wrong" || gate.DryRun {
				return &health.Answer{Verdict: health.Invalid, Reason: api.ReasonGateInvalid, Message: "it does not compile"}
			}
			return nil
		}}
		findings, err := e.healthGates(t.Context(), &api.Migration{Spec: api.MigrationSpec{Gates: tc.gates}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range findings {
			text := f.Reason + " " + f.Object
			if f.Warning {
				text += ", a warning"
			}
			got = append(got, text)
			if f.Reason == api.ReasonPermissionMissing && !strings.Contains(f.Remedy, "sliceshift-mover-gates") && !strings.HasSuffix(f.Remedy, "-n shop --verb=get --resource=secrets --resource-name=token") {
				t.Errorf("%s: the remedy is %q", name, f.Remedy)
			}
		}
		slices.Sort(asked)
		if text := strings.Join(got, "; "); text != tc.want {
			t.Errorf("%s: found %q, want %q", name, text, tc.want)
		}
		if text := strings.Join(slices.Compact(asked), ", "); text != tc.asked {
			t.Errorf("%s: asked for %q, want %q", name, text, tc.asked)
		}
	}
	e := &Inspector{Pair: endpointtest.Pair(clustertest.Hooked(clustertest.Failing(errors.New("no route to host"), "create")), nil), Gate: func(api.HealthGate) *health.Answer { return nil }}
	if _, err := e.healthGates(t.Context(), &api.Migration{Spec: api.MigrationSpec{Gates: []api.HealthGate{http}}}, nil); err == nil || !strings.Contains(err.Error(), "cluster east") {
		t.Errorf("who did not answer has granted something: %v", err)
	}
}
