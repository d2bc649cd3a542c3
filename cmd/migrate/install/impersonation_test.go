package install

import (
	"context"
	"errors"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/sliceshift/sliceshift/cmd/migrate/command"
)

// TestInstallConstrains: impersonation is constrained only if the API server supports it. Otherwise the manager could
// impersonate no account.
func TestInstallConstrains(t *testing.T) {
	down := errors.New("no route to host")
	for name, tc := range map[string]struct {
		asked, version string
		err            error
		want           bool
		exit           int
	}{
		"known":                        {automatic, "v1.36.0", nil, true, command.ExitDone},
		"of a provider":                {automatic, "v1.37.2-eks-1a2b", nil, true, command.ExitDone},
		"not known":                    {automatic, "v1.35.9", nil, false, command.ExitDone},
		"no version":                   {automatic, "main", nil, false, command.ExitDone},
		"asked for":                    {constrained, "v1.36.1", nil, true, command.ExitDone},
		"asked for, and not known":     {constrained, "v1.35.9", nil, false, command.ExitStalled},
		"the old rule":                 {legacy, "v1.36.0", nil, false, command.ExitDone},
		"the old rule, without answer": {legacy, "", down, false, command.ExitDone},
		"no answer":                    {automatic, "", down, false, command.ExitFailure},
	} {
		t.Run(name, func(t *testing.T) {
			at := newInstallation(t, interceptor.Funcs{})
			at.version = func(context.Context) (string, error) { return tc.version, tc.err }
			o := installOf(t, "")
			o.impersonation = command.NewChoice(tc.asked)
			got, err := o.constrains(t.Context(), at.target)
			if got != tc.want || (err != nil) != (tc.exit != command.ExitDone) || err != nil && command.ExitCode(err) != tc.exit {
				t.Errorf("constrains: %t, %v", got, err)
			}
		})
	}
}

// TestInstallBounds: constrained impersonation replaces one rule of the manager's role and adds further roles.
func TestInstallBounds(t *testing.T) {
	verbs := func(objects []*unstructured.Unstructured) string {
		var all []string
		for _, object := range objects {
			if object.GetKind() != "ClusterRole" || object.GetName() != "sliceshift-manager" {
				continue
			}
			role := &rbacv1.ClusterRole{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, role); err != nil {
				t.Fatal(err)
			}
			for _, rule := range role.Rules {
				all = append(all, rule.Verbs...)
			}
		}
		return strings.Join(all, " ") + " "
	}
	for _, bounded := range []bool{false, true} {
		p, err := embedded("movers", bounded)
		if err != nil {
			t.Fatal(err)
		}
		said := verbs(p.manager)
		if strings.Contains(said, "impersonate ") == bounded || strings.Contains(said, "impersonate:serviceaccount ") != bounded {
			t.Errorf("bounded %t: the manager may %s", bounded, said)
		}
		var names []string
		for _, object := range p.bounds {
			names = append(names, object.GetKind()+" "+object.GetName())
		}
		if got := strings.Join(names, ", "); got != "ClusterRole sliceshift-impersonated, ClusterRole sliceshift-impersonated-dependencies, ClusterRoleBinding sliceshift-impersonated" {
			t.Errorf("besides: %s", got)
		}
		subjects, _, _ := unstructured.NestedSlice(p.bounds[len(p.bounds)-1].Object, "subjects")
		if subjects[0].(map[string]any)["namespace"] != "movers" {
			t.Errorf("bound to %v", subjects)
		}
	}
}
