package docs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sliceshift/sliceshift/config"
)

// TestReferenceRights: reference-rights.md lists every rule of every role, and the subjects that have it. With -update
// it writes the page.
func TestReferenceRights(t *testing.T) {
	objects, err := config.ManagerObjects()
	if err != nil {
		t.Fatal(err)
	}
	bound := boundRoles(t, objects)
	var roles []role
	for _, object := range objects {
		if kind := object.GetKind(); kind == "ClusterRole" || kind == "Role" {
			roles = append(roles, roleOf(t, object, bound))
		}
	}
	slices.SortStableFunc(roles, func(a, b role) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.name, b.name))
	})
	var page strings.Builder
	page.WriteString(referenceRightsIntro)
	for _, r := range roles {
		r.write(&page)
	}
	expectPage(t, "reference-rights.md", page.String())
}

const referenceRightsIntro = `# Rights

Every rule of every role that ` + "`kubectl migrate install`" + ` creates. Which identity needs which role, and what each is worth to somebody who
should not have it, is told in [security](security.md). The page is generated from [config/rbac](../config/rbac) (` + "`make generate`" + `);
` + "`TestRights`" + ` compares the rules with what real API servers are asked, in both directions.
`

// role is a role, and the subjects that the installation binds to it.
type role struct {
	name, kind string
	bound      []string
	labels     map[string]string
	rules      []rbacv1.PolicyRule
}

// rank orders the roles: first those that the user binds and has to judge (of movers, then of people), then those that
// the installation binds.
func (r role) rank() int {
	switch {
	case strings.HasPrefix(r.name, "sliceshift-mover"):
		return 0
	case len(r.bound) == 0:
		return 1
	}
	return 2
}

func roleOf(t *testing.T, object *unstructured.Unstructured, bound map[string][]string) role {
	t.Helper()
	var read rbacv1.ClusterRole // a Role has the same rules
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &read); err != nil {
		t.Fatal(err)
	}
	return role{name: read.Name, kind: object.GetKind(), bound: bound[read.Name], labels: read.Labels, rules: read.Rules}
}

// boundRoles returns the subjects that the installation binds to each role.
func boundRoles(t *testing.T, objects []*unstructured.Unstructured) map[string][]string {
	t.Helper()
	bound := map[string][]string{}
	for _, object := range objects {
		if kind := object.GetKind(); kind != "ClusterRoleBinding" && kind != "RoleBinding" {
			continue
		}
		var binding rbacv1.ClusterRoleBinding // a RoleBinding has the same subjects
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &binding); err != nil {
			t.Fatal(err)
		}
		for _, subject := range binding.Subjects {
			bound[binding.RoleRef.Name] = append(bound[binding.RoleRef.Name], subject.Kind+" `"+subject.Name+"`")
		}
	}
	return bound
}

func (r role) write(page *strings.Builder) {
	fmt.Fprintf(page, "\n## %s\n\n%s. %s\n\n| API group | resources | names | verbs |\n|---|---|---|---|\n", r.name, r.kind, r.whose())
	for _, rule := range r.rules {
		what := rule.Resources
		if len(what) == 0 {
			what = rule.NonResourceURLs
		}
		groups := strings.Join(rule.APIGroups, ", ")
		if groups == "" && len(rule.NonResourceURLs) == 0 {
			groups = "core"
		}
		fmt.Fprintf(page, "| %s | %s | %s | %s |\n", strings.TrimPrefix(groups, ", "), strings.Join(what, ", "), strings.Join(rule.ResourceNames, ", "), strings.Join(rule.Verbs, ", "))
	}
}

// whose describes the subjects that have the role.
func (r role) whose() string {
	if len(r.bound) > 0 {
		return "Bound by the installation to " + strings.Join(r.bound, ", ") + "."
	}
	var aggregated []string
	for _, to := range []string{"view", "edit", "admin"} {
		if r.labels["rbac.authorization.k8s.io/aggregate-to-"+to] == "true" {
			aggregated = append(aggregated, "`"+to+"`")
		}
	}
	if len(aggregated) > 0 {
		return "Part of the cluster's own " + strings.Join(aggregated, ", ") + "."
	}
	return "Bound by you, where it is needed."
}
